"""Operations on sessions: start, list, show, interrupt, rename and end them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection
from typing import Annotated, Literal

from pydantic import Field

from rookery.environment import session_environment
from rookery.hook_setup.programs import find_problem
from rookery.model.errors import (
    CommandRefused,
    Forbidden,
    KeysUnsure,
    RuntimeFailed,
    SessionOver,
)
from rookery.model.facts import KeysPressed, SessionId
from rookery.model.keys import check_keys
from rookery.model.lifecycle import Activity
from rookery.model.names import checked
from rookery.model.reasons import first_line
from rookery.model.scopes import Need, Scope
from rookery.model.sessions import Session, Turn
from rookery.operations.access import reach, target
from rookery.operations.children import as_child
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import begin_acting, finish_acting, once
from rookery.operations.links import Link, link, speaker_of
from rookery.operations.table import Nothing, OfSession, Params
from rookery.operations.waiting import until
from rookery.ports.agent import Agent
from rookery.sessions import commands
from rookery.store import backlog, flags, messages, turn_changes, turns
from rookery.store import dialogs as asked_now
from rookery.store import sessions as known
from rookery.store.dialogs import PendingRequest

#: Sessions that may be requested by their ids at once.
MAX_IDS = 1_000

#: Seconds for several keys to interrupt a turn, and how often they are pressed at most.
INTERRUPT_TIMEOUT_S, INTERRUPT_TRIES = 3.0, 3

#: Seconds between two checks of a screen that rests in mid-turn; and for that turn to be ended.
RESTING_S, CORRECTION_TIMEOUT_S = 1.0, 3.0


class StartParams(Params):
    agent: str
    project: str
    name: str = ""
    prompt: str = ""
    model: str = ""
    permission_mode: str = ""
    runtime: str = "tmux"
    command: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    listen: bool = Field(False, description="tell the session that asks when it is done")
    tools: bool = Field(True, description="let it ask things of Rookery itself, by MCP")


class ListParams(Params):
    all: bool = False
    ids: Annotated[tuple[str, ...], Field(max_length=MAX_IDS)] = Field(
        (), description="only these sessions, whenever they ended"
    )


class TurnsParams(OfSession):
    last: Annotated[int, Field(ge=1, le=10_000)] = 200
    after: int = Field(0, ge=0, description="how many turns are known already")
    timeout: Annotated[float, Field(ge=0, le=600)] = 0.0


class ScreenParams(OfSession):
    history: bool = False


class EndParams(OfSession):
    force: bool = Field(False, description="also one that Rookery did not start")


class RenameParams(OfSession):
    name: str


class KeysParams(OfSession):
    keys: Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]


@dataclass(frozen=True, slots=True)
class Sessions:
    sessions: list[Session]
    kept: dict[SessionId, backlog.QueuedWords]  #: of those that have waiting messages
    failures: dict[SessionId, str]  #: the answer of a last turn that failed
    holding: bool = False  #: no message leaves until the hold is released
    rules_problem: str = ""  #: why the rules file, as it is now, is not in force
    #: Of those whose requests have a deadline, or were not answered in time.
    pending: dict[SessionId, PendingRequest] = field(default_factory=dict)
    on_timeout: Literal["terminal", "deny"] = "terminal"  #: what happens at a deadline
    #: Why the daemon cannot write, so that this may be outdated; empty if it can.
    trouble: str = ""
    hooks_problem: str = ""  #: which hook program is damaged, so that rules do not apply


@dataclass(frozen=True, slots=True)
class Turns:
    session: Session
    turns: list[Turn]
    count: int  #: of all turns that ended
    unheard: list[backlog.Unheard]


@dataclass(frozen=True, slots=True)
class ScreenLines:
    lines: list[str]


@dataclass(frozen=True, slots=True)
class Ended:
    ended: list[str]  #: names


async def start(context: Context, caller: Caller, params: StartParams) -> Session:
    """Start an agent; accepted once it is written down."""
    return await begin(context, caller, params)


async def begin(
    context: Context,
    caller: Caller,
    params: StartParams,
    conversation: commands.Conversation | None = None,
) -> Session:
    """Start an agent that continues a conversation or begins a new one."""
    params = _without_agents_environment(caller, params)
    _require_owner_for_shell(caller, params)
    what = params.model_dump(exclude={"listen"})
    own = caller.identity.session
    wanted = commands.StartRequest(**what, parent=own, conversation=conversation)
    set_here = context.settings.agent(params.agent)
    environment = session_environment(
        context.login, params.environment, context.settings.environment
    )
    command = set_here.command or context.commands.get(params.agent, ())
    plan = commands.plan(
        wanted,
        context.agents,
        command=(*command, *set_here.arguments) if command else (),
        path=environment.get("PATH", os.defpath),
        limit=context.settings.limits.tmux_sessions,
    )

    def accept(db: Connection) -> Session:
        child = as_child(db, context, caller, plan)
        session = commands.accept(db, context.journal, child, speaker=speaker_of(caller))
        first = messages.first_for(db, session.id)
        link(db, context, caller, Link(session.id, first, direct=False, listen=params.listen))
        return session

    return await once(context, caller, Session, accept)


def _without_agents_environment(caller: Caller, params: StartParams) -> StartParams:
    """Drop the environment that a command sends when a session runs it.

    The command cannot always detect that an agent runs it: an agent that was started by hand
    has no badge in its environment.
    """
    identity = caller.identity
    is_session = identity.scope is Scope.SESSION and identity.door == "unix"
    return params.model_copy(update={"environment": {}}) if is_session else params


def _require_owner_for_shell(caller: Caller, params: StartParams) -> None:
    """Allow shells and environments only to the owner on this computer's own socket."""
    if caller.identity.scope is not Scope.OWNER or caller.identity.door != "unix":
        if params.agent == "shell":
            raise Forbidden("a shell is for the owner on this computer's own socket.")
        if params.environment:
            raise Forbidden("an environment is for the owner on this computer's own socket.")


async def list_sessions(context: Context, caller: Caller, params: ListParams) -> Sessions:
    """List the sessions that live, and those that ended not long ago."""
    hours = timedelta(hours=context.settings.limits.listed_hours)
    now = context.journal.clock.now()
    since = datetime.fromtimestamp(0, now.tzinfo) if params.all else now - hours
    rules_file = context.permissions.rules_file
    await rules_file.refresh(context.database, context.journal.clock)
    hooks_problem = find_problem(context.home)

    def read(db: Connection) -> Sessions:
        allowed = reach(context, db, caller, Need.READ)
        listed = (
            known.of_ids(db, params.ids) if params.ids else known.listed(db, ended_after=since)
        )
        found = [each for each in listed if allowed is None or each.id in allowed]
        kept, pending = backlog.kept_words(db), asked_now.pending(db)
        return Sessions(
            found,
            {each.id: kept[each.id] for each in found if each.id in kept},
            {each.id: _failure(db, each.id) for each in found if has_failed_turn(each)},
            flags.is_holding(db),
            rules_file.problem,
            {each.id: pending[each.id] for each in found if each.id in pending},
            context.settings.permissions.on_timeout,
            context.database.trouble,
            hooks_problem,
        )

    return await context.database.read(read)


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
        name, why = session.name, f"{session.status}: {first_line(session.reason)}"
        raise SessionOver(f"{name} ({why}). See it with:  rookery output {name}")


def doing(session: Session) -> str:
    """Return what a session does, as a phrase that follows its name."""
    asks = {Activity.PERMISSION: "asks for permission", Activity.QUESTION: "asks a question"}
    state = session.activity or session.status
    does = asks.get(session.activity) if session.activity else None
    reason = f" ({first_line(session.reason)})" if session.reason else ""
    return f"{does or f'is {state}'}{reason}"


async def show_turns(context: Context, caller: Caller, params: TurnsParams) -> Turns:
    """Show what a session was asked and what it answered; or wait for more of it."""
    session = await target(context, caller, params.session, Need.READ)

    if params.timeout:
        await _await_turns(context, caller, session.id, params)

    def read(db: Connection) -> Turns:
        return Turns(
            session=known.get(db, session.id),
            turns=turns.of_session(db, session.id, last=params.last),
            count=turns.count_ended(db, session.id),
            unheard=backlog.unheard(db, session.id),
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
        return more or not known.is_live(db, session)

    await until(context, caller, has_more, params.timeout, sessions=[session])


async def screen(context: Context, caller: Caller, params: ScreenParams) -> ScreenLines:
    """Show what stands on a session's screen."""
    session = await target(context, caller, params.session, Need.READ)
    if session.status.is_over:
        file = context.home.artifacts / f"{session.id}.txt"
        kept = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return ScreenLines(kept if params.history else kept[-50:])
    if not session.has_terminal:
        raise CommandRefused(
            f"{session.name} has no terminal. What it answers:  rookery output {session.name}"
        )
    return ScreenLines(
        list(await context.runtime.terminal(session.id).read(history=params.history))
    )


async def end(context: Context, caller: Caller, params: EndParams) -> Session:
    """End a session; accepted once it is written down. Ending twice does nothing."""
    session = await target(context, caller, params.session, Need.END)

    def write(db: Connection) -> Session:
        commands.end(db, context.journal, session.id, by=caller.name, force=params.force)
        return known.get(db, session.id)

    return await once(context, caller, Session, write)


async def end_all(context: Context, caller: Caller, params: Nothing) -> Ended:
    """End every session that we started and that lives."""

    def write(db: Connection) -> Ended:
        ended = [each for each in known.live(db) if each.is_ours]
        for session in ended:
            commands.end(db, context.journal, session.id, by=caller.name)
        return Ended([session.name for session in ended])

    return await once(context, caller, Ended, write)


async def rename(context: Context, caller: Caller, params: RenameParams) -> Session:
    """Give a session another name."""
    session = await target(context, caller, params.session, Need.OWN)
    name = checked(params.name)

    def write(db: Connection) -> Session:
        commands.rename(db, context.journal, session.id, name=name)
        return known.get(db, session.id)

    return await once(context, caller, Session, write)


async def press(context: Context, caller: Caller, params: KeysParams) -> Session:
    """Press keys, whatever is on the screen: this is how a dialog is answered by hand."""
    session = await target(context, caller, params.session, Need.OWN)
    require_alive(session)
    check_keys(*params.keys)
    if await begin_acting(context, caller, lambda _: None):
        name = session.name
        raise KeysUnsure(f"rookery screen {name}. Then, if need be:  rookery keys {name} KEY")
    await context.runtime.terminal(session.id).press(*params.keys)
    pressed = KeysPressed(session.id, " ".join(params.keys), caller.name)

    def write(db: Connection) -> Session:
        context.journal.append(db, pressed)
        return known.get(db, session.id)

    return await finish_acting(context, caller, Session, write)


async def interrupt(context: Context, caller: Caller, params: OfSession) -> Session:
    """Stop the present turn, as its person would."""
    session = await target(context, caller, params.session, Need.END)
    agent = context.agents[session.agent]
    await _correct_missed_end(context, caller, session)

    def note(db: Connection) -> None:
        _require_interruptible(db, context, known.get(db, session.id))
        # Before the key: open requests end because of it, and the audit says so.
        asked_now.mark_interrupted(db, session.id, caller.name)
        keys = " ".join(agent.input.interrupt)
        context.journal.append(db, KeysPressed(session.id, keys, caller.name))

    begun = await begin_acting(context, caller, note)
    # A daemon that died after the note may or may not have pressed the key.
    if begun is None or await context.database.read(
        lambda db: _still_runs(db, session.id, since=begun)
    ):
        await _interrupt_turn(context, caller, session, agent.input.interrupt)
    return await finish_acting(context, caller, Session, lambda db: known.get(db, session.id))


async def _correct_missed_end(context: Context, caller: Caller, session: Session) -> None:
    """Have a turn's end recorded if no hook reported it and the session's screen rests.

    Otherwise the key would interrupt nothing, and the turn would still seem to run.
    """
    agent = context.agents[session.agent]
    is_young = context.journal.clock.now() - session.since < timedelta(
        seconds=agent.input.quiet
    )
    if session.activity is not Activity.WORKING or agent.screen is None or is_young:
        return
    for pause in (0.0, RESTING_S):
        await context.journal.clock.sleep(pause)
        with suppress(RuntimeFailed):
            if (await context.runtime.terminal(session.id).view()).is_resting:
                continue
        return
    context.runtime.terminal(session.id).report_changes(wanted=True, again=True)
    await until(
        context,
        caller,
        lambda db: known.get(db, session.id).activity is not Activity.WORKING,
        agent.input.quiet + CORRECTION_TIMEOUT_S,
        sessions=[session.id],
    )


def _require_interruptible(db: Connection, context: Context, session: Session) -> None:
    """Refuse a session in which no turn runs. Raises ``SessionOver`` or ``CommandRefused``."""
    require_alive(session)
    agent = context.agents[session.agent]
    # Only the user knows whether something runs in a shell.
    tells = agent.hooks is not None or agent.screen is not None
    if tells and session.activity is Activity.IDLE:
        raise CommandRefused(f"{session.name} is idle; there is nothing to interrupt.")
    if session.activity is Activity.WORKING:
        _require_a_turn(db, session, agent)


def _still_runs(db: Connection, session: SessionId, *, since: datetime) -> bool:
    """Return whether the turn that ran at ``since`` still runs."""
    now = known.get(db, session)
    if now.status.is_over or now.activity in {None, Activity.IDLE}:
        return False
    last = turns.of_session(db, session, last=1)
    return bool(last) and last[0].started_at <= since


def _require_a_turn(db: Connection, session: Session, agent: Agent) -> None:
    """Refuse to interrupt an agent that only waits for its background subagents."""
    is_paused = turn_changes.is_paused(db, session.id)
    if is_paused and not turn_changes.goes_on(db, session.id):
        keys = agent.input.stop_subagents
        how = f" Stop them with:  rookery keys {session.name} {' '.join(keys)}" if keys else ""
        raise CommandRefused(
            f"{session.name} has ended its turn and {session.reason}, which an interrupt"
            f" does not stop.{how}"
        )


async def _interrupt_turn(
    context: Context, caller: Caller, session: Session, keys: Sequence[str]
) -> None:
    """Interrupt a turn. A sequence of keys is pressed again if it had no effect."""

    def has_moved(db: Connection) -> bool:
        now = known.get(db, session.id)
        return now.status.is_over or now.activity is not session.activity

    for _ in range(INTERRUPT_TRIES):
        await context.runtime.interrupt(session.id)
        # A single key is never lost; a busy program may miss some of several keys.
        if len(keys) == 1 or await until(
            context, caller, has_moved, INTERRUPT_TIMEOUT_S, sessions=[session.id]
        ):
            return
