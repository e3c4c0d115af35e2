"""What we know of one session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NewType

from rookery.model.facts import SessionId
from rookery.model.lifecycle import ASKING, Activity, SessionState, Status

#: What an agent calls its session. Unique among the live sessions of that agent.
NativeId = NewType("NativeId", str)

#: A capability, in the environment of what we start: it shows which session a process is.
Badge = NewType("Badge", str)

#: In a pane of our own tmux server.
TMUX = "tmux"
#: In a pane that Rookery did not start: only by force is its process ended.
OBSERVED = "observed"
#: Known by its hooks only: no words can be sent to it.
HEADLESS = "headless"


@dataclass(frozen=True, slots=True)
class RuntimeTraits:
    """What can be done with the sessions of a runtime."""

    is_ours: bool  #: Rookery started the program, so it may end it
    has_terminal: bool
    can_receive: bool  #: words can be delivered


TRAITS: Mapping[str, RuntimeTraits] = {
    TMUX: RuntimeTraits(is_ours=True, has_terminal=True, can_receive=True),
    OBSERVED: RuntimeTraits(is_ours=False, has_terminal=True, can_receive=True),
    HEADLESS: RuntimeTraits(is_ours=False, has_terminal=False, can_receive=False),
}

#: Characters that are kept of a session's first prompt; its turn has all of it.
MAX_FIRST_PROMPT_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One run of one agent, as stored, sent and shown."""

    id: SessionId
    name: str
    agent: str
    runtime: str
    computer: str
    status: Status = Status.STARTING
    activity: Activity | None = None
    reason: str = ""
    since: datetime
    title: str = ""
    label: str = ""
    native_id: NativeId | None = None
    project_path: str = ""
    subdir: str = ""
    tmux_session: str | None = None
    tmux_pane: str | None = None
    owner: str = "person"
    parent: SessionId | None = None
    continues: SessionId | None = None
    origin: str = ""
    last_input_origin: str = ""
    first_prompt: str = ""  #: its beginning; empty until there is one
    model: str = ""
    permission_mode: str = ""
    budget: int | None = None  #: micro-dollars
    transcript_path: str = ""
    created_at: datetime
    started_at: datetime | None = None
    last_activity_at: datetime
    ended_at: datetime | None = None
    ended_by: str = ""
    last_tool: str = ""
    tool_count: int = 0
    denial_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int | None = None  #: micro-dollars; unknown where its agent does not say
    tmux_server: str | None = None  #: whose pane it is in, if not our own server's
    process: str | None = None  #: the agent's: its pid and when that began
    background: int = 0  #: commands that its agent left running when its turn ended

    @property
    def state(self) -> SessionState:
        return SessionState(self.status, self.activity, self.reason)

    @property
    def is_asking(self) -> bool:
        return self.activity in ASKING

    @property
    def is_ours(self) -> bool:
        """Whether Rookery started its program, so that it may end it."""
        return TRAITS[self.runtime].is_ours

    @property
    def has_terminal(self) -> bool:
        return TRAITS[self.runtime].has_terminal

    @property
    def can_receive(self) -> bool:
        """Whether words can be delivered to it."""
        return TRAITS[self.runtime].can_receive


@dataclass(frozen=True, slots=True)
class Turn:
    """From a prompt to the agent's stop."""

    number: int  #: the entry that began it
    prompt: str
    answer: str
    started_at: datetime
    ended_at: datetime | None
    how: str = ""  #: finished, interrupted or failed; empty while it runs
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int | None = None  #: micro-dollars; unknown where nobody says


@dataclass(frozen=True, slots=True)
class Spot:
    """A pane of some tmux server."""

    server: str  #: its socket
    pane: str


@dataclass(frozen=True, slots=True)
class Sender:
    """Who a hook says it comes from, in the agent's own words."""

    agent: str
    native_id: NativeId
    cwd: str
    event: str  #: what it calls what it tells
    transcript_path: str = ""
    model: str = ""  #: which answers from now on, if it tells
    permission_mode: str = ""  #: that it is in now, if it tells

    @property
    def is_new(self) -> bool:
        """Whether it says that it has just started."""
        return self.event == "SessionStart"

    @property
    def has_ended(self) -> bool:
        """Whether it says that its conversation is over."""
        return self.event == "SessionEnd"


def tmux_name(session: SessionId) -> str:
    """Name the tmux session that holds ``session``."""
    return f"rk_{session[:8]}"
