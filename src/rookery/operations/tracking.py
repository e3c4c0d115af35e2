"""Operations that report the state of sessions: with evidence, or in other tools' terms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from sqlite3 import Connection

from rookery.hook_setup.problems import find_hooks_problem
from rookery.model.beliefs import Confidence, confidence
from rookery.model.evidence import Evidence
from rookery.model.lifecycle import as_lifecycle, as_state
from rookery.model.scopes import Need
from rookery.model.sessions import HEADLESS, Session
from rookery.operations.access import reach, target
from rookery.operations.context import Caller, Context
from rookery.operations.lost_terminals import without_terminal
from rookery.operations.missing_hooks import why_missing
from rookery.operations.operation import Nothing, OfSession
from rookery.permissions.project_files import hooks_switched_off, in_thread
from rookery.store import evidence, session_bindings
from rookery.store import sessions as stored_sessions


@dataclass(frozen=True, slots=True)
class Grounds:
    """The state of a session, how sure it is, and which sources report it."""

    session: Session
    confidence: Confidence
    evidence: list[Evidence]
    hooks_off: str = ""  #: the project's file that disables its hooks, and so all rules
    #: Names of the live sessions that continue the same conversation.
    shares_with: list[str] = field(default_factory=list)
    has_terminal: bool = True  #: false if its pane is gone while its program still runs
    hooks_problem: str = ""  #: which hook program is damaged, so that rules do not apply
    #: The warning that its agent's hooks are not installed, so that rules do not apply.
    hooks_missing: str = ""
    #: Why the daemon cannot write or ask the driver host, so that this may be outdated.
    trouble: str = ""


async def why(context: Context, caller: Caller, params: OfSession) -> Grounds:
    """Show a session's state, the evidence for it, and how certain it is."""
    session = await target(context, caller, params.session, Need.READ)
    hooks_off = await in_thread(partial(hooks_switched_off, session), otherwise="")

    def read(db: Connection) -> Grounds:
        now = stored_sessions.get(db, session.id)
        told = evidence.known(db, now)
        sharing = {} if now.status.is_over else session_bindings.sharing_conversation(db, now)
        allowed = reach(context, db, caller, Need.READ)
        shared = [name for id_, name in sharing.items() if allowed is None or id_ in allowed]
        return Grounds(now, confidence(told), list(told.evidence.values()), hooks_off, shared)

    grounds = await context.database.read(read)
    cut_off = {each.id for each in await without_terminal(context)}
    return replace(
        grounds,
        has_terminal=session.id not in cut_off,
        hooks_problem=find_hooks_problem(context.home),
        hooks_missing=await why_missing(context, session) if not _has_hook(grounds) else "",
        trouble=context.database.trouble or _driver_trouble(context, session),
    )


def _driver_trouble(context: Context, session: Session) -> str:
    trouble = context.driver_trouble() if session.is_driven else ""
    return trouble and f"{trouble[0].upper()}{trouble[1:]}"


def _has_hook(grounds: Grounds) -> bool:
    return any(each.source == "hook" for each in grounds.evidence)


@dataclass(frozen=True, slots=True)
class Tracked:
    """A live session, in the terms that other tools use."""

    sessionId: str  # noqa: N815 - named by other tools
    cwd: str
    startedAt: str  # noqa: N815
    state: str
    lastToolName: str | None  # noqa: N815
    lastActivity: int  # noqa: N815 - milliseconds since 1970
    denialCount: int  # noqa: N815
    label: str
    toolCount: int  # noqa: N815
    agent: str
    name: str
    lifecycle: str


@dataclass(frozen=True, slots=True)
class AllTracked:
    sessions: list[Tracked]
    count: int


async def track(context: Context, caller: Caller, params: Nothing) -> AllTracked:
    """List the live sessions in the terms of other tools."""

    def read(db: Connection) -> AllTracked:
        allowed = reach(context, db, caller, Need.READ)
        live = [
            each for each in stored_sessions.live(db) if allowed is None or each.id in allowed
        ]
        return AllTracked([_tracked(each) for each in live], len(live))

    return await context.database.read(read)


def _tracked(session: Session) -> Tracked:
    return Tracked(
        sessionId=session.native_id or session.id,
        cwd=session.project_path,
        startedAt=(session.started_at or session.created_at).isoformat(),
        state=as_state(session.activity),
        lastToolName=session.last_tool or None,
        lastActivity=int(session.last_activity_at.timestamp() * 1000),
        denialCount=session.denial_count,
        label=session.label,
        toolCount=session.tool_count,
        agent=session.agent,
        name=session.name,
        lifecycle=as_lifecycle(session.status, headless=session.runtime == HEADLESS),
    )
