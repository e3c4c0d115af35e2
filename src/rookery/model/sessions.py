"""The session, its turns, and the traits of runtimes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NewType

from rookery.model.facts import SessionId
from rookery.model.lifecycle import ASKING, Activity, SessionState, Status
from rookery.model.workspaces import SessionWorkspace

#: The agent's own id of its session. Unique among the live sessions of that agent.
NativeId = NewType("NativeId", str)

#: A token in the environment of started agents: it proves to which session a process belongs.
Badge = NewType("Badge", str)

#: The runtime of sessions in a pane of Rookery's own tmux server.
TMUX = "tmux"
#: The runtime of sessions in a pane that Rookery did not start; they are ended only by force.
OBSERVED = "observed"
#: The runtime of sessions that are known from hooks only; they cannot receive messages.
HEADLESS = "headless"
#: The runtime of sessions that are driven by the Agent Client Protocol, without a terminal.
ACP = "acp"


@dataclass(frozen=True, slots=True)
class RuntimeTraits:
    """The capabilities of the sessions of a runtime."""

    is_ours: bool  #: Rookery started the program, so it may end it
    has_terminal: bool
    can_receive: bool  #: messages can be delivered
    #: Its own stream reports turns, tools, usage and output; other sources are not believed.
    is_driven: bool = False


_TRAITS: Mapping[str, RuntimeTraits] = {
    TMUX: RuntimeTraits(is_ours=True, has_terminal=True, can_receive=True),
    OBSERVED: RuntimeTraits(is_ours=False, has_terminal=True, can_receive=True),
    HEADLESS: RuntimeTraits(is_ours=False, has_terminal=False, can_receive=False),
}

#: The runtimes of sessions that are not driven. Every other runtime is named after a protocol.
NOT_DRIVEN = tuple(_TRAITS)
_OF_DRIVEN = RuntimeTraits(is_ours=True, has_terminal=False, can_receive=True, is_driven=True)


def traits_of(runtime: str) -> RuntimeTraits:
    return _TRAITS.get(runtime, _OF_DRIVEN)


#: Characters of the first prompt that the session keeps; its turn keeps the whole prompt.
MAX_FIRST_PROMPT_CHARACTERS = 64_000


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
    first_prompt: str = ""  #: truncated; empty until there is one
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
    tool_argument: str = ""  #: what the last tool was called with, such as its command
    tool_at: datetime | None = None  #: when it was called
    tool_ended_at: datetime | None = None  #: none while it runs, or if its end was not reported
    tool_count: int = 0
    denial_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int | None = None  #: micro-dollars; none if neither the agent nor a price gives it
    estimated_cost: int = 0  #: the part of the cost that was computed from configured prices
    context_tokens: int = 0  #: in the context of its conversation; 0 if the agent reports none
    tmux_server: str | None = None  #: the server of its pane, if not Rookery's own
    process: str | None = None  #: the agent's process: its pid and start time
    background: int = 0  #: commands that its agent left running when its turn ended
    profile: str = ""  #: the profile of the configuration that it was started with
    tags: tuple[str, ...] = ()
    hidden: bool = False  #: lists leave it out while it needs no person
    lost: bool = False  #: it ended because the daemon, tmux or the computer did
    seen_at: datetime | None = None  #: a person has seen the answers that were given until then
    workspace: SessionWorkspace | None = None  #: the git worktree that it was given

    @property
    def state(self) -> SessionState:
        return SessionState(self.status, self.activity, self.reason)

    @property
    def is_asking(self) -> bool:
        return self.activity in ASKING

    @property
    def is_over_budget(self) -> bool:
        """Return whether its cost has reached its budget."""
        return self.budget is not None and (self.cost or 0) >= self.budget

    @property
    def is_ours(self) -> bool:
        """Return whether Rookery started its program, and so may end it."""
        return traits_of(self.runtime).is_ours

    @property
    def has_terminal(self) -> bool:
        return traits_of(self.runtime).has_terminal

    @property
    def is_driven(self) -> bool:
        """Return whether it is driven through its agent's protocol."""
        return traits_of(self.runtime).is_driven

    @property
    def is_headless(self) -> bool:
        """Return whether it is known from its agent's hooks only."""
        return self.runtime == HEADLESS

    @property
    def held_as(self) -> str:
        """Return the name under which its runtime finds its program."""
        return self.tmux_session or program_name(self.id)

    @property
    def is_in_user_pane(self) -> bool:
        """Return whether it runs in a pane of a tmux server that is not Rookery's."""
        return self.tmux_server is not None

    @property
    def can_receive(self) -> bool:
        """Return whether messages can be delivered to it."""
        return traits_of(self.runtime).can_receive


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
    cost: int | None = None  #: micro-dollars; none if unknown
    estimated_cost: int = 0  #: the part of it that was computed from configured prices


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a hook call, as the agent reports it."""

    agent: str
    native_id: NativeId
    cwd: str
    event: str  #: the agent's name of the event
    transcript_path: str = ""
    model: str = ""  #: the current model, if reported
    permission_mode: str = ""  #: the current mode, if reported
    is_new: bool = False  #: it reports that it has just started
    has_ended: bool = False  #: it reports that its conversation is over


def program_name(session: SessionId) -> str:
    """Return the name under which a runtime starts and finds the program of ``session``."""
    return f"rk_{session[:8]}"
