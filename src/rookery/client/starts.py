"""Start sessions, and continue conversations in new ones."""

from __future__ import annotations

from msgspec import Struct, structs

from rookery.client.decoding import read
from rookery.client.sessions import SessionInfo
from rookery.client.transport import Client

#: Leaves the choice of the runtime to the configuration.
AUTO_RUNTIME = "auto"


class StartOrder(Struct, frozen=True, kw_only=True):
    """A session that is to be started."""

    agent: str
    project: str
    name: str = ""
    runtime: str = AUTO_RUNTIME
    budget_usd: float | None = None
    system_prompt: str = ""
    allowed_tools: list[str] = []
    single_turn: bool = False
    queue: bool = False
    model: str = ""
    permission_mode: str = ""
    prompt: str = ""
    command: list[str] = []
    environment: dict[str, str] = {}
    tools: bool = True
    tags: list[str] = []
    profile: str = ""
    worktree: bool = False
    branch: str = ""
    base: str = ""
    arguments: list[str] = []


class ResumeOrder(Struct, frozen=True, kw_only=True):
    """How to continue a conversation."""

    fork: bool
    prompt: str = ""
    name: str = ""
    agent: str = ""  #: only for a conversation that Rookery does not know
    project: str = ""  #: only for a conversation that Rookery does not know
    environment: dict[str, str] = {}
    runtime: str = ""  #: empty for the runtime that the conversation had before
    budget_usd: float | None = None
    queue: bool = False


#: The keys that an older daemon does not know, and refuses.
_NEWER_KEYS = frozenset(
    {
        *("tags", "profile", "worktree", "branch", "base", "arguments"),
        *("budget_usd", "system_prompt", "allowed_tools", "single_turn", "queue"),
    }
)


def start_session(daemon: Client, order: StartOrder) -> SessionInfo:
    # Newer keys without a value are left out, so that an older daemon accepts the request.
    given = {
        name: value
        for name, value in structs.asdict(order).items()
        if value or name not in _NEWER_KEYS
    }
    if order.runtime == AUTO_RUNTIME:
        del given["runtime"]
    return read(SessionInfo, daemon.post("sessions", **given))


def resume_session(daemon: Client, session: str, order: ResumeOrder) -> SessionInfo:
    """Continue the conversation of a session, or of an agent's own id, in a new session."""
    given = structs.asdict(order)
    for name in ("runtime", "budget_usd", "queue"):
        if not given[name]:
            del given[name]  # an older daemon does not know this key
    return read(SessionInfo, daemon.post("sessions", session, "resume", **given))
