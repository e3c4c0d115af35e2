"""Operations that press keys in a session: given keys, or the keys that interrupt a turn."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from sqlite3 import Connection
from typing import Annotated

from pydantic import Field

from rookery.delivery.interrupts import INTERRUPT_TIMEOUT_S, INTERRUPT_TRIES
from rookery.model.errors import CommandRefused, KeysUnsure, RuntimeFailed
from rookery.model.facts import KeysPressed, SessionId
from rookery.model.keys import named_keys
from rookery.model.lifecycle import Activity
from rookery.model.scopes import Need
from rookery.model.sessions import Session
from rookery.operations.access import target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import begin_acting, finish_acting
from rookery.operations.long_poll import until
from rookery.operations.operation import OfSession
from rookery.operations.sessions import require_alive
from rookery.ports.agent import Agent
from rookery.store import dialogs as stored_dialogs
from rookery.store import sessions as stored_sessions
from rookery.store import turn_changes, turns

#: Seconds between the two checks that a screen rests in mid-turn, and how long beyond the
#: agent's quiet time to wait until the end of that turn is recorded.
RESTING_S, CORRECTION_TIMEOUT_S = 1.0, 3.0


class KeysParams(OfSession):
    keys: Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]


async def press(context: Context, caller: Caller, params: KeysParams) -> Session:
    """Press keys, whatever is on the screen, for instance to answer a dialog."""
    session = await target(context, caller, params.session, Need.OWN)
    require_alive(session)
    # First of all: no name of a key helps in a session without a terminal.
    terminal = context.runtime.terminal(session.id)
    keys = named_keys(*params.keys)
    if await begin_acting(context, caller, lambda _: None):
        name = session.name
        raise KeysUnsure(f"rookery screen {name}. Then, if necessary:  rookery keys {name} KEY")
    await terminal.press(*keys)
    pressed = KeysPressed(session.id, " ".join(keys), caller.name)

    def write(db: Connection) -> Session:
        context.journal.append(db, pressed)
        return stored_sessions.get(db, session.id)

    return await finish_acting(context, caller, Session, write)


async def interrupt(context: Context, caller: Caller, params: OfSession) -> Session:
    """Stop the current turn, as a user would."""
    session = await target(context, caller, params.session, Need.END)
    agent = context.agents[session.agent]
    await correct_missed_end(context, caller, session)

    def note(db: Connection) -> None:
        _require_interruptible(db, context, stored_sessions.get(db, session.id))
        # Recorded first: the key ends open requests, and the audit names who pressed it.
        stored_dialogs.mark_interrupted(db, session.id, caller.name)
        keys = " ".join(agent.input.interrupt)
        context.journal.append(db, KeysPressed(session.id, keys, caller.name))

    begun_at = await begin_acting(context, caller, note)
    # If a daemon died after ``note``, press the key only if that turn still runs.
    if begun_at is None or await context.database.read(
        lambda db: _still_runs(db, session.id, since=begun_at)
    ):
        await _interrupt_turn(context, caller, session, agent.input.interrupt)
    return await finish_acting(
        context, caller, Session, lambda db: stored_sessions.get(db, session.id)
    )


async def correct_missed_end(context: Context, caller: Caller, session: Session) -> None:
    """Have the screen reader end a turn whose end no hook reported, if the screen rests.

    Otherwise the key would reach an idle agent, and the turn would still seem to run.
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
        lambda db: stored_sessions.get(db, session.id).activity is not Activity.WORKING,
        agent.input.quiet + CORRECTION_TIMEOUT_S,
        sessions=[session.id],
    )


def _require_interruptible(db: Connection, context: Context, session: Session) -> None:
    """Refuse a session in which no turn runs. Raises ``SessionOver`` or ``CommandRefused``."""
    require_alive(session)
    agent = context.agents[session.agent]
    # A shell may run a command while the session shows as idle: allow the interrupt.
    reports_idle = agent.hooks is not None or agent.screen is not None
    if reports_idle and session.activity is Activity.IDLE:
        raise CommandRefused(f"{session.name} is idle; there is nothing to interrupt.")
    if session.activity is Activity.WORKING:
        _require_a_turn(db, session, agent)


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


def _still_runs(db: Connection, session: SessionId, *, since: datetime) -> bool:
    """Return whether the turn that ran at ``since`` still runs."""
    now = stored_sessions.get(db, session)
    if now.status.is_over or now.activity in {None, Activity.IDLE}:
        return False
    last = turns.of_session(db, session, last=1)
    return bool(last) and last[0].started_at <= since


async def _interrupt_turn(
    context: Context, caller: Caller, session: Session, keys: Sequence[str]
) -> None:
    """Interrupt a turn. A sequence of keys is pressed again if it had no effect."""

    def has_moved(db: Connection) -> bool:
        now = stored_sessions.get(db, session.id)
        return now.status.is_over or now.activity is not session.activity

    for _ in range(INTERRUPT_TRIES):
        await context.runtime.interrupt(session.id)
        # A single key is never lost; a busy program may miss some of several keys.
        if len(keys) == 1 or await until(
            context, caller, has_moved, INTERRUPT_TIMEOUT_S, sessions=[session.id]
        ):
            return
