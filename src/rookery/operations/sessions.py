"""Operations on sessions: list, show, rename and end them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection
from typing import Annotated, Literal

from pydantic import Field

from rookery.hook_setup.problems import find_hooks_problem
from rookery.model.actors import RUN
from rookery.model.current_sessions import CurrentSession
from rookery.model.errors import CommandRefused, SessionOver
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity
from rookery.model.names import checked
from rookery.model.reason_texts import first_line
from rookery.model.scopes import Need, Scope
from rookery.model.sessions import Session, Turn
from rookery.operations.access import reach, target
from rookery.operations.config_changes import config_note
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.long_poll import until
from rookery.operations.lost_sessions import count_lost
from rookery.operations.operation import Nothing, OfSession, Params
from rookery.operations.turn_calls import calls_since
from rookery.permissions.project_files import in_thread
from rookery.presentation.states import does, status_word
from rookery.sessions import commands
from rookery.store import (
    backlog,
    current_sessions,
    flags,
    overlaps,
    turns,
)
from rookery.store import dialogs as stored_dialogs
from rookery.store import sessions as stored_sessions
from rookery.store.dialogs import PendingRequest
from rookery.store.tool_calls import ToolCall
from rookery.tracking.git_branches import branches_of

#: Sessions that may be requested by their ids at once.
MAX_IDS = 1_000


class ListParams(Params):
    all: bool = False
    tags: tuple[str, ...] = Field((), description="only sessions with all of these tags")
    ids: Annotated[tuple[str, ...], Field(max_length=MAX_IDS)] = Field(
        (), description="only these sessions, whenever they ended"
    )


class TurnsParams(OfSession):
    last: Annotated[int, Field(ge=1, le=10_000)] = 200
    after: int = Field(0, ge=0, description="how many turns are known already")
    tools: bool = Field(False, description="also list the tool calls of these turns")
    timeout: Annotated[float, Field(ge=0, le=600)] = 0.0


class ScreenParams(OfSession):
    history: bool = False


class EndParams(OfSession):
    force: bool = Field(False, description="also one that Rookery did not start")
    done: bool = Field(False, description="the command that started it has its answer")


class RenameParams(OfSession):
    name: str


@dataclass(frozen=True, slots=True)
class Sessions:
    sessions: list[CurrentSession]
    kept: dict[SessionId, backlog.QueuedWords]  #: for sessions that have waiting messages
    failures: dict[SessionId, str]  #: the answer of a last turn that failed
    holding: bool = False  #: no message leaves until the hold is released
    rules_problem: str = ""  #: why the rules file, as it is now, is not in force
    #: For sessions whose requests have a deadline, or were not answered in time.
    pending: dict[SessionId, PendingRequest] = field(default_factory=dict)
    on_timeout: Literal["terminal", "deny"] = "terminal"  #: what happens at a deadline
    #: Why the daemon cannot write, so that this may be outdated; empty if it can.
    trouble: str = ""
    hooks_problem: str = ""  #: which hook program is damaged, so that rules do not apply
    #: Sessions that ended with the daemon, tmux or the computer, and can be resumed.
    lost: int = 0
    #: For sessions that have changed the same file as another live session.
    overlaps: dict[SessionId, str] = field(default_factory=dict)
    config_note: str = ""  #: what to do about a configuration that the daemon does not use yet


@dataclass(frozen=True, slots=True)
class Turns:
    session: Session
    turns: list[Turn]
    count: int  #: of all turns that ended
    unheard: list[backlog.Unheard]
    tools: list[ToolCall] = field(default_factory=list)  #: if requested; oldest first


@dataclass(frozen=True, slots=True)
class ScreenLines:
    lines: list[str]


@dataclass(frozen=True, slots=True)
class EndedSessions:
    ended: list[str]  #: names


async def list_sessions(context: Context, caller: Caller, params: ListParams) -> Sessions:
    """List the live sessions and those that ended recently."""
    hours = timedelta(hours=context.settings.limits.listed_hours)
    now = context.journal.clock.now()
    recently = now - hours
    since = datetime.fromtimestamp(0, now.tzinfo) if params.all else recently
    rules_file = context.permissions.rules_file
    await rules_file.refresh(context.database, context.journal.clock)
    hooks_problem = find_hooks_problem(context.home)
    branches = await current_branches(context)

    def read(db: Connection) -> Sessions:
        allowed = reach(context, db, caller, Need.READ)
        listed = (
            current_sessions.of_ids(db, params.ids, branches=branches)
            if params.ids
            else current_sessions.listed(
                db, ended_after=since, recently=recently, branches=branches
            )
        )
        visible = _visible(listed, params, allowed)
        queued, pending = backlog.kept_words(db), stored_dialogs.pending(db)
        shared = overlaps.notes(db) if allowed is None else {}
        return Sessions(
            visible,
            {each.id: queued[each.id] for each in visible if each.id in queued},
            {each.id: _failure(db, each.id) for each in visible if has_failed_turn(each)},
            flags.is_holding(db),
            rules_file.problem,
            {each.id: pending[each.id] for each in visible if each.id in pending},
            context.settings.permissions.on_timeout,
            context.database.trouble,
            hooks_problem,
            count_lost(context, db, now) if allowed is None else 0,
            {each.id: shared[each.id] for each in visible if each.id in shared},
            config_note(context) if allowed is None else "",
        )

    return await context.database.read(read)


def _visible(
    listed: Iterable[CurrentSession], params: ListParams, allowed: Container[SessionId] | None
) -> list[CurrentSession]:
    """Return the sessions that the caller may read and wants to see."""
    return [
        each
        for each in listed
        if (allowed is None or each.id in allowed) and _is_shown(each, params)
    ]


def _is_shown(session: Session, params: ListParams) -> bool:
    """Return whether a session is not hidden, or shown nevertheless, and has all tags."""
    is_listed = params.all or params.ids or session.is_asking or not session.hidden
    return bool(is_listed) and {*params.tags} <= {*session.tags}


async def current_branches(context: Context) -> dict[str, str]:
    """Return the Git branches of the project folders of live sessions."""
    folders = await context.database.read(current_sessions.live_folders)
    return await in_thread(partial(branches_of, folders), otherwise={})


def has_failed_turn(session: Session) -> bool:
    """Return whether a session is idle because its last turn failed."""
    return session.activity is Activity.IDLE and session.reason == "failed"


def _failure(db: Connection, session: SessionId) -> str:
    return next((turn.answer for turn in turns.of_session(db, session, last=1)), "")


async def show(context: Context, caller: Caller, params: OfSession) -> Session:
    """Show one session."""
    return await target(context, caller, params.session, Need.READ)


def require_alive(session: Session) -> None:
    """Refuse a session that is over. Raises ``SessionOver``."""
    if session.status.is_over:
        name, how = session.name, status_word(session.status)
        why = f"{how}: {first_line(session.reason)}"
        raise SessionOver(f"{name} ({why}). See it with:  rookery output {name}")


def doing(session: Session) -> str:
    """Return what a session does, as a phrase that follows its name."""
    reason = f" ({first_line(session.reason)})" if session.reason else ""
    return f"{does(session.activity or session.status)}{reason}"


async def show_turns(context: Context, caller: Caller, params: TurnsParams) -> Turns:
    """Show the prompts and answers of a session; or wait for more turns."""
    session = await target(context, caller, params.session, Need.READ)

    if params.timeout:
        await _await_turns(context, caller, session.id, params)

    def read(db: Connection) -> Turns:
        last_turns = turns.of_session(db, session.id, last=params.last)
        return Turns(
            session=stored_sessions.get(db, session.id),
            turns=last_turns,
            count=turns.count_ended(db, session.id),
            unheard=backlog.unheard(db, session.id),
            tools=calls_since(db, session.id, last_turns) if params.tools else [],
        )

    return await context.database.read(read)


async def _await_turns(
    context: Context, caller: Caller, session: SessionId, params: TurnsParams
) -> None:
    """Wait until more turns have ended than the caller knows, or the session has ended."""
    # Counted once, outside the event loop: counting thousands at each entry would block it.
    counted = await context.database.read(partial(turns.count_settled, session=session))

    def has_more(db: Connection) -> bool:
        more = turns.count_ended(db, session, counted) > params.after
        return more or not stored_sessions.is_live(db, session)

    await until(context, caller, has_more, params.timeout, sessions=[session])


async def screen(context: Context, caller: Caller, params: ScreenParams) -> ScreenLines:
    """Show a session's screen."""
    session = await target(context, caller, params.session, Need.READ)
    if session.status.is_over:
        file = context.home.artifacts / f"{session.id}.txt"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return ScreenLines(lines if params.history else lines[-50:])
    if not session.has_terminal:
        raise CommandRefused(
            f"{session.name} has no terminal. See:  rookery output {session.name}"
        )
    return ScreenLines(
        list(await context.runtime.terminal(session.id).read(history=params.history))
    )


async def end(context: Context, caller: Caller, params: EndParams) -> Session:
    """End a session; accepted once it is stored. Ending it again does nothing."""
    session = await target(context, caller, params.session, Need.END)
    is_done = params.done and caller.identity.scope is Scope.OWNER
    by = RUN if is_done else caller.name

    def write(db: Connection) -> Session:
        commands.end(db, context.journal, session.id, by=by, force=params.force)
        return stored_sessions.get(db, session.id)

    return await once(context, caller, Session, write)


async def end_all(context: Context, caller: Caller, params: Nothing) -> EndedSessions:
    """End every live session that Rookery started."""

    def write(db: Connection) -> EndedSessions:
        ended = [each for each in stored_sessions.live(db) if each.is_ours]
        for session in ended:
            commands.end(db, context.journal, session.id, by=caller.name)
        return EndedSessions([session.name for session in ended])

    return await once(context, caller, EndedSessions, write)


async def rename(context: Context, caller: Caller, params: RenameParams) -> Session:
    """Rename a session."""
    session = await target(context, caller, params.session, Need.OWN)
    name = checked(params.name)

    def write(db: Connection) -> Session:
        commands.rename(db, context.journal, session.id, name=name)
        return stored_sessions.get(db, session.id)

    return await once(context, caller, Session, write)
