"""Operations on sessions: start, list, show, interrupt, rename and end them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection
from typing import Annotated, Any, Literal

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
from rookery.operations.children import as_child
from rookery.operations.links import Link, link, speaker_of
from rookery.operations.table import (
    Asked,
    Caller,
    House,
    Nothing,
    OfSession,
    Operation,
    begin_acting,
    finish_acting,
    once,
    reach,
    target,
    until,
)
from rookery.ports.agent import Agent
from rookery.sessions import commands
from rookery.store import backlog, flags, messages, turn_changes, turns
from rookery.store import dialogs as asked_now
from rookery.store import sessions as known
from rookery.store.dialogs import PendingRequest

ONE = "/v1/sessions/{session}"

#: Sessions that may be requested by their ids at once.
MAX_IDS = 1_000

#: Seconds for several keys to interrupt a turn, and how often they are pressed at most.
INTERRUPT_TIMEOUT_S, INTERRUPT_TRIES = 3.0, 3

#: Seconds between two checks of a screen that rests in mid-turn; and for that turn to be ended.
RESTING_S, CORRECTION_TIMEOUT_S = 1.0, 3.0


class StartAsked(Asked):
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


class ListAsked(Asked):
    all: bool = False
    ids: Annotated[tuple[str, ...], Field(max_length=MAX_IDS)] = Field(
        (), description="only these sessions, whenever they ended"
    )


class TurnsAsked(OfSession):
    last: Annotated[int, Field(ge=1, le=10_000)] = 200
    after: int = Field(0, ge=0, description="how many turns are known already")
    timeout: Annotated[float, Field(ge=0, le=600)] = 0.0


class ScreenAsked(OfSession):
    history: bool = False


class EndAsked(OfSession):
    force: bool = Field(False, description="also one that Rookery did not start")


class RenameAsked(OfSession):
    name: str


class KeysAsked(OfSession):
    keys: Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]


@dataclass(frozen=True, slots=True)
class Sessions:
    sessions: list[Session]
    kept: dict[SessionId, backlog.Kept]  #: of those that have waiting messages
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


async def start(house: House, caller: Caller, asked: StartAsked) -> Session:
    """Start an agent; accepted once it is written down."""
    return await begin(house, caller, asked)


async def begin(
    house: House,
    caller: Caller,
    asked: StartAsked,
    conversation: commands.Conversation | None = None,
) -> Session:
    """Start an agent that continues a conversation or begins a new one."""
    asked = _without_agents_environment(caller, asked)
    _require_owner_for_shell(caller, asked)
    what = asked.model_dump(exclude={"listen"})
    own = caller.identity.session
    wanted = commands.Start(**what, parent=own, conversation=conversation)
    set_here = house.settings.agent(asked.agent)
    environment = session_environment(
        house.login, asked.environment, house.settings.environment
    )
    command = set_here.command or house.commands.get(asked.agent, ())
    plan = commands.plan(
        wanted,
        house.agents,
        command=(*command, *set_here.arguments) if command else (),
        path=environment.get("PATH", os.defpath),
        limit=house.settings.limits.tmux_sessions,
    )

    def accept(db: Connection) -> Session:
        child = as_child(db, house, caller, plan)
        session = commands.accept(db, house.journal, child, speaker=speaker_of(caller))
        first = messages.first_for(db, session.id)
        link(db, house, caller, Link(session.id, first, direct=False, listen=asked.listen))
        return session

    return await once(house, caller, Session, accept)


def _without_agents_environment(caller: Caller, asked: StartAsked) -> StartAsked:
    """Drop the environment that a command sends when a session runs it.

    The command cannot always detect that an agent runs it: an agent that was started by hand
    has no badge in its environment.
    """
    identity = caller.identity
    is_session = identity.scope is Scope.SESSION and identity.door == "unix"
    return asked.model_copy(update={"environment": {}}) if is_session else asked


def _require_owner_for_shell(caller: Caller, asked: StartAsked) -> None:
    """Allow shells and environments only to the owner on this computer's own socket."""
    if caller.identity.scope is not Scope.OWNER or caller.identity.door != "unix":
        if asked.agent == "shell":
            raise Forbidden("a shell is for the owner on this computer's own socket.")
        if asked.environment:
            raise Forbidden("an environment is for the owner on this computer's own socket.")


async def list_sessions(house: House, caller: Caller, asked: ListAsked) -> Sessions:
    """List the sessions that live, and those that ended not long ago."""
    hours = timedelta(hours=house.settings.limits.listed_hours)
    now = house.journal.clock.now()
    since = datetime.fromtimestamp(0, now.tzinfo) if asked.all else now - hours
    rulebook = house.permissions.rulebook
    await rulebook.refresh(house.database, house.journal.clock)
    hooks_problem = find_problem(house.home)

    def read(db: Connection) -> Sessions:
        allowed = reach(house, db, caller, Need.READ)
        listed = (
            known.of_ids(db, asked.ids) if asked.ids else known.listed(db, ended_after=since)
        )
        found = [each for each in listed if allowed is None or each.id in allowed]
        kept, pending = backlog.kept_words(db), asked_now.pending(db)
        return Sessions(
            found,
            {each.id: kept[each.id] for each in found if each.id in kept},
            {each.id: _failure(db, each.id) for each in found if has_failed_turn(each)},
            flags.is_holding(db),
            rulebook.problem,
            {each.id: pending[each.id] for each in found if each.id in pending},
            house.settings.permissions.on_timeout,
            house.database.trouble,
            hooks_problem,
        )

    return await house.database.read(read)


def has_failed_turn(session: Session) -> bool:
    """Return whether a session is idle because its last turn failed."""
    return session.activity is Activity.IDLE and session.reason == "failed"


def _failure(db: Connection, session: SessionId) -> str:
    return next((turn.answer for turn in turns.of_session(db, session, last=1)), "")


async def show(house: House, caller: Caller, asked: OfSession) -> Session:
    """Show one session."""
    return await target(house, caller, asked.session, Need.READ)


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


async def show_turns(house: House, caller: Caller, asked: TurnsAsked) -> Turns:
    """Show what a session was asked and what it answered; or wait for more of it."""
    session = await target(house, caller, asked.session, Need.READ)

    if asked.timeout:
        await _await_turns(house, caller, session.id, asked)

    def read(db: Connection) -> Turns:
        return Turns(
            session=known.get(db, session.id),
            turns=turns.of_session(db, session.id, last=asked.last),
            count=turns.count_ended(db, session.id),
            unheard=backlog.unheard(db, session.id),
        )

    return await house.database.read(read)


async def _await_turns(
    house: House, caller: Caller, session: SessionId, asked: TurnsAsked
) -> None:
    """Wait until more turns have ended than the caller knows, or the session has ended."""
    # Counted once, outside the event loop: counting thousands at each entry would block it.
    counted = await house.database.read(partial(turns.count_settled, session=session))

    def has_more(db: Connection) -> bool:
        more = turns.count_ended(db, session, counted) > asked.after
        return more or not known.is_live(db, session)

    await until(house, caller, has_more, asked.timeout, sessions=[session])


async def screen(house: House, caller: Caller, asked: ScreenAsked) -> ScreenLines:
    """Show what stands on a session's screen."""
    session = await target(house, caller, asked.session, Need.READ)
    if session.status.is_over:
        file = house.home.artifacts / f"{session.id}.txt"
        kept = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return ScreenLines(kept if asked.history else kept[-50:])
    if not session.has_terminal:
        raise CommandRefused(
            f"{session.name} has no terminal. What it answers:  rookery output {session.name}"
        )
    return ScreenLines(
        list(await house.runtime.terminal(session.id).read(history=asked.history))
    )


async def end(house: House, caller: Caller, asked: EndAsked) -> Session:
    """End a session; accepted once it is written down. Ending twice does nothing."""
    session = await target(house, caller, asked.session, Need.END)

    def write(db: Connection) -> Session:
        commands.end(db, house.journal, session.id, by=caller.name, force=asked.force)
        return known.get(db, session.id)

    return await once(house, caller, Session, write)


async def end_all(house: House, caller: Caller, asked: Nothing) -> Ended:
    """End every session that we started and that lives."""

    def write(db: Connection) -> Ended:
        ended = [each for each in known.live(db) if each.is_ours]
        for session in ended:
            commands.end(db, house.journal, session.id, by=caller.name)
        return Ended([session.name for session in ended])

    return await once(house, caller, Ended, write)


async def rename(house: House, caller: Caller, asked: RenameAsked) -> Session:
    """Give a session another name."""
    session = await target(house, caller, asked.session, Need.OWN)
    name = checked(asked.name)

    def write(db: Connection) -> Session:
        commands.rename(db, house.journal, session.id, name=name)
        return known.get(db, session.id)

    return await once(house, caller, Session, write)


async def press(house: House, caller: Caller, asked: KeysAsked) -> Session:
    """Press keys, whatever is on the screen: this is how a dialog is answered by hand."""
    session = await target(house, caller, asked.session, Need.OWN)
    require_alive(session)
    check_keys(*asked.keys)
    if await begin_acting(house, caller, lambda _: None):
        name = session.name
        raise KeysUnsure(f"rookery screen {name}. Then, if need be:  rookery keys {name} KEY")
    await house.runtime.terminal(session.id).press(*asked.keys)
    pressed = KeysPressed(session.id, " ".join(asked.keys), caller.name)

    def write(db: Connection) -> Session:
        house.journal.append(db, pressed)
        return known.get(db, session.id)

    return await finish_acting(house, caller, Session, write)


async def interrupt(house: House, caller: Caller, asked: OfSession) -> Session:
    """Stop the present turn, as its person would."""
    session = await target(house, caller, asked.session, Need.END)
    agent = house.agents[session.agent]
    await _correct_missed_end(house, caller, session)

    def note(db: Connection) -> None:
        _require_interruptible(db, house, known.get(db, session.id))
        # Before the key: open requests end because of it, and the audit says so.
        asked_now.mark_interrupted(db, session.id, caller.name)
        keys = " ".join(agent.input.interrupt)
        house.journal.append(db, KeysPressed(session.id, keys, caller.name))

    begun = await begin_acting(house, caller, note)
    # A daemon that died after the note may or may not have pressed the key.
    if begun is None or await house.database.read(
        lambda db: _still_runs(db, session.id, since=begun)
    ):
        await _interrupt_turn(house, caller, session, agent.input.interrupt)
    return await finish_acting(house, caller, Session, lambda db: known.get(db, session.id))


async def _correct_missed_end(house: House, caller: Caller, session: Session) -> None:
    """Have a turn's end recorded if no hook reported it and the session's screen rests.

    Otherwise the key would interrupt nothing, and the turn would still seem to run.
    """
    agent = house.agents[session.agent]
    is_young = house.journal.clock.now() - session.since < timedelta(seconds=agent.input.quiet)
    if session.activity is not Activity.WORKING or agent.screen is None or is_young:
        return
    for pause in (0.0, RESTING_S):
        await house.journal.clock.sleep(pause)
        with suppress(RuntimeFailed):
            if (await house.runtime.terminal(session.id).view()).is_resting:
                continue
        return
    house.runtime.terminal(session.id).report_changes(wanted=True, again=True)
    await until(
        house,
        caller,
        lambda db: known.get(db, session.id).activity is not Activity.WORKING,
        agent.input.quiet + CORRECTION_TIMEOUT_S,
        sessions=[session.id],
    )


def _require_interruptible(db: Connection, house: House, session: Session) -> None:
    """Refuse a session in which no turn runs. Raises ``SessionOver`` or ``CommandRefused``."""
    require_alive(session)
    agent = house.agents[session.agent]
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
    house: House, caller: Caller, session: Session, keys: Sequence[str]
) -> None:
    """Interrupt a turn. A sequence of keys is pressed again if it had no effect."""

    def has_moved(db: Connection) -> bool:
        now = known.get(db, session.id)
        return now.status.is_over or now.activity is not session.activity

    for _ in range(INTERRUPT_TRIES):
        await house.runtime.interrupt(session.id)
        # A single key is never lost; a busy program may miss some of several keys.
        if len(keys) == 1 or await until(
            house, caller, has_moved, INTERRUPT_TIMEOUT_S, sessions=[session.id]
        ):
            return


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation("start", Need.START, "POST", "/v1/sessions", StartAsked, Session, start),
    Operation("list", Need.READ, "GET", "/v1/sessions", ListAsked, Sessions, list_sessions),
    Operation("end_all", Need.OWN, "POST", "/v1/sessions/end", Nothing, Ended, end_all),
    Operation("show", Need.READ, "GET", f"{ONE}", OfSession, Session, show),
    Operation("turns", Need.READ, "GET", f"{ONE}/turns", TurnsAsked, Turns, show_turns),
    Operation("screen", Need.READ, "GET", f"{ONE}/screen", ScreenAsked, ScreenLines, screen),
    Operation("end", Need.END, "POST", f"{ONE}/end", EndAsked, Session, end),
    Operation("interrupt", Need.END, "POST", f"{ONE}/interrupt", OfSession, Session, interrupt),
    Operation("keys", Need.OWN, "POST", f"{ONE}/keys", KeysAsked, Session, press),
    Operation("rename", Need.OWN, "POST", f"{ONE}/name", RenameAsked, Session, rename),
)
