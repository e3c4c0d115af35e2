"""The parameters and results of the methods that tools for Claude Code already use."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from rookery.agents.names import RPC_SESSION_ID
from rookery.model.errors import BadInput
from rookery.operations.operation import Params

#: Lines of output that are returned by default, and at most.
DEFAULT_LINES, MAX_LINES = 50, 100_000


class SessionsArguments(Params):
    status: Literal[
        "all", "starting", "running", "closing", "completed", "failed", "killed"
    ] = Field("all", description="only sessions with this status")


class OneSessionArguments(Params):
    session: str = Field("", description="its id, name or native id, or the beginning of one")
    id: str = Field("", description="the same; give one of the two")

    @property
    def target(self) -> str:
        """Return what names the session. Raises ``BadInput``."""
        if bool(self.session) == bool(self.id):
            raise BadInput("name the session with either `session` or `id`.")
        return self.session or self.id


class OutputArguments(OneSessionArguments):
    lines: Annotated[int, Field(ge=1, le=MAX_LINES)] = Field(
        DEFAULT_LINES, description="only the last lines"
    )
    full: bool = Field(False, description=f"all lines, at most {MAX_LINES:,}")


class StatsArguments(Params):
    pass


class CamelCased(BaseModel):
    """A result whose fields are in camelCase, as the tools that read it expect."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        serialize_by_alias=True,
        frozen=True,
        defer_build=True,
    )


class SessionItem(CamelCased):
    id: str
    name: str
    status: str
    prompt: str
    workdir: str
    model: str | None
    cost_usd: float | None = Field(description="null if it is not known")
    started_at: int = Field(description="milliseconds since 1970")
    completed_at: int | None
    duration_ms: int
    native_id: str | None = Field(
        alias=RPC_SESSION_ID, description="the agent's own id, whatever agent it is"
    )
    foreground: bool
    multi_turn: bool
    display: str


class SessionItems(CamelCased):
    sessions: list[SessionItem]
    count: int


class LaunchedSession(CamelCased):
    id: str
    name: str
    status: str
    workdir: str
    model: str | None


class KilledSession(CamelCased):
    id: str
    name: str
    status: str
    message: str


class SessionOutput(CamelCased):
    id: str
    name: str
    status: str
    cost_usd: float | None
    duration_ms: int
    duration: str
    lines: list[str]
    line_count: int
    result: str | None = Field(description="the answer of the last turn that ended")


class ExpensiveSession(CamelCased):
    id: str | None = Field(description="null if the session was deleted")
    name: str
    cost_usd: float
    prompt: str | None


class SessionStats(CamelCased):
    total_cost_usd: float | None = Field(description="null if no agent has reported a cost")
    cost_per_day: dict[str, float]
    sessions_by_status: dict[str, int]
    total_launched: int
    average_duration_ms: int | None
    most_expensive: ExpensiveSession | None
    display: str
