"""Sessions: start, list, read, wait for and end them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import field

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.transport import Client
from rookery.model.errors import Answered


class SessionWorkspaceInfo(DaemonAnswer, frozen=True):
    """The git worktree of a session."""

    path: str = ""
    branch: str = ""
    base: str = ""
    base_commit: str = ""
    repository: str = ""  #: git's folder; empty from an older daemon
    uncommitted: int = 0
    has_submodules: bool = False


class SessionInfo(DaemonAnswer, frozen=True):
    id: str = ""
    name: str = ""
    agent: str = ""
    runtime: str = ""
    status: str = ""
    activity: str | None = None
    reason: str = ""
    since: str = ""
    title: str = ""
    project_path: str = ""
    tmux_session: str | None = None
    tmux_pane: str | None = None
    tmux_server: str | None = None
    parent: str | None = None
    continues: str | None = None
    first_prompt: str = ""
    created_at: str = ""
    ended_at: str | None = None
    ended_by: str = ""
    background: int = 0
    profile: str = ""
    tags: tuple[str, ...] = ()
    hidden: bool = False
    label: str = ""
    native_id: str | None = None
    model: str = ""
    permission_mode: str = ""
    budget: int | None = None  #: micro-dollars
    transcript_path: str = ""
    started_at: str | None = None
    last_activity_at: str = ""
    last_tool: str = ""
    tool_argument: str = ""
    tool_at: str | None = None
    tool_ended_at: str | None = None
    tool_count: int = 0
    denial_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    context_tokens: int = 0
    seen_at: str | None = None
    workspace: SessionWorkspaceInfo | None = None

    @property
    def state(self) -> str:
        return self.activity or self.status

    @property
    def is_ours(self) -> bool:
        """Return whether Rookery started the session."""
        return self.runtime not in {"observed", "headless"}

    @property
    def is_headless(self) -> bool:
        return self.runtime == "headless"

    @property
    def is_driven(self) -> bool:
        """Return whether it is driven through its agent's protocol, without a terminal."""
        return self.runtime not in {"", "tmux", "observed", "headless"}

    @property
    def is_asking(self) -> bool:
        return self.activity in {"permission", "question"}

    @property
    def has_failed_turn(self) -> bool:
        """Return whether the session is idle because its last turn failed."""
        return (self.activity, self.reason) == ("idle", "failed")


class ListedSession(SessionInfo, frozen=True):
    """A session with what it does now."""

    last_turn: int = 0
    last_prompt: str = ""
    last_prompt_at: str | None = None
    last_answer: str = ""
    last_answer_at: str | None = None
    last_outcome: str = ""
    is_unread: bool = False
    asked_tool: str = ""
    asked_argument: str = ""
    asked_folder: str = ""
    branch: str = ""
    is_resumed: bool = False
    cut_off: str = ""
    cost_usd: float | None = None
    estimated_cost: int = 0


class WaitingInfo(DaemonAnswer, frozen=True):
    """The messages that wait for one session."""

    messages: int = 0
    why: str = ""
    obstacle: str | None = None  #: unknown to an older daemon

    @property
    def blocked_by(self) -> str:
        """Return what keeps the messages from being typed."""
        return self.why if self.obstacle is None else self.obstacle


class PendingInfo(DaemonAnswer, frozen=True):
    """The request of a session that has a deadline, or was not answered in time."""

    deadline: str | None = None
    missed: int = 0
    fallback: str = "dialog"


class SessionList(DaemonAnswer, frozen=True):
    sessions: tuple[ListedSession, ...] = ()
    kept: dict[str, WaitingInfo] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    holding: bool = False
    rules_problem: str = ""
    pending: dict[str, PendingInfo] = field(default_factory=dict)
    on_timeout: str = ""
    trouble: str = ""
    hooks_problem: str = ""
    lost: int = 0
    overlaps: dict[str, str] = field(default_factory=dict)
    config_note: str = ""


class EndedInfo(DaemonAnswer, frozen=True):
    ended: tuple[str, ...] = ()


class Reached(DaemonAnswer, frozen=True):
    """The sessions that have reached the awaited state (``there``), and the others."""

    there: tuple[SessionInfo, ...] = ()
    awaited: tuple[SessionInfo, ...] = ()


class ScreenInfo(DaemonAnswer, frozen=True):
    lines: tuple[str, ...] = ()


class ClaimInfo(DaemonAnswer, frozen=True):
    """The last report of one source about a session."""

    source: str = ""
    claim: str = ""
    at: str = ""
    detail: str = ""


class EvidenceInfo(DaemonAnswer, frozen=True):
    session: SessionInfo = SessionInfo()
    confidence: str = ""
    evidence: tuple[ClaimInfo, ...] = ()
    hooks_off: str = ""
    hooks_problem: str = ""
    hooks_missing: str = ""
    trouble: str = ""
    shares_with: tuple[str, ...] = ()
    has_terminal: bool = True


def list_sessions(
    daemon: Client,
    *,
    all: bool = False,  # noqa: A002 - its name
    tags: Iterable[str] = (),
) -> SessionList:
    """List the live sessions and recently ended ones; with ``all`` every session."""
    query: dict[str, Any] = {"all": all} if all else {}
    if tags := tuple(tags):
        query["tags"] = tags
    return read(SessionList, daemon.get("sessions", **query))


def find_sessions(daemon: Client, ids: Iterable[str]) -> tuple[ListedSession, ...]:
    """Return the sessions with these ids, whenever they ended."""
    return read(SessionList, daemon.get("sessions", ids=tuple(ids))).sessions


def show_session(daemon: Client, name: str) -> SessionInfo:
    return read(SessionInfo, daemon.get("sessions", name))


def wait_for_session(
    daemon: Client, session: str, *, until: str, timeout: float, known: tuple[str, ...] = ()
) -> SessionInfo:
    """Wait until a session is up, stops or ends. Raises ``Answered`` if it does not in time.

    A request that has been open since one of the times in ``known`` does not end the wait.
    """
    answer = daemon.get(
        "sessions", session, "wait", until=until, timeout=timeout, **_known(known)
    )
    return read(SessionInfo, answer)


def wait_for_any(
    daemon: Client,
    sessions: tuple[str, ...],
    *,
    until: str,
    timeout: float,
    known: tuple[str, ...] = (),
) -> Reached:
    """Wait until at least one of the sessions is up, stops or ends."""
    goal = {"needed": "any", "until": until, **_known(known)}
    return read(Reached, daemon.get("wait", sessions=sessions, timeout=timeout, **goal))


def _known(known: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return a parameter only if it is needed: older daemons do not accept it."""
    return {"known": known} if known else {}


def show_screen(daemon: Client, session: str, *, history: bool = False) -> ScreenInfo:
    return read(ScreenInfo, daemon.get("sessions", session, "screen", history=history))


def show_evidence(daemon: Client, session: str) -> EvidenceInfo:
    return read(EvidenceInfo, daemon.get("sessions", session, "why"))


def end_session(daemon: Client, session: str, *, force: bool) -> SessionInfo:
    return read(SessionInfo, daemon.post("sessions", session, "end", force=force))


def end_done_session(daemon: Client, session: str) -> SessionInfo:
    """End the session of a ``rookery run`` that is done."""
    try:
        return read(SessionInfo, daemon.post("sessions", session, "end", done=True))
    except Answered:  # an older daemon does not accept ``done``
        return end_session(daemon, session, force=False)


def end_all_sessions(daemon: Client) -> EndedInfo:
    return read(EndedInfo, daemon.post("sessions", "end"))


def rename_session(daemon: Client, session: str, name: str) -> SessionInfo:
    return read(SessionInfo, daemon.post("sessions", session, "name", name=name))


def press_keys(daemon: Client, session: str, keys: Iterable[str]) -> SessionInfo:
    return read(SessionInfo, daemon.post("sessions", session, "keys", keys=list(keys)))


def interrupt_session(daemon: Client, session: str) -> SessionInfo:
    return read(SessionInfo, daemon.post("sessions", session, "interrupt"))
