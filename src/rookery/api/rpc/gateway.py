"""The methods that tools for Claude Code already use, as views of Rookery's operations."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from datetime import datetime, timedelta
from pathlib import Path

from rookery.api.rpc.display import dollars, duration_text, session_text
from rookery.api.rpc.gateway_shapes import (
    MAX_LINES,
    KilledSession,
    OneSessionArguments,
    OutputArguments,
    SessionItem,
    SessionItems,
    SessionOutput,
    SessionsArguments,
)
from rookery.api.rpc.methods import RpcCaller
from rookery.model.blocks import BlockKind, StoredBlock
from rookery.model.sessions import Session
from rookery.operations.blocks import MAX_BLOCKS, Blocks
from rookery.operations.foreground import Foregrounds
from rookery.operations.sessions import Sessions, Turns
from rookery.presentation.texts import plain
from rookery.store import sessions as stored_sessions

_TEXTS = (BlockKind.TEXT,)


async def list_sessions(caller: RpcCaller, params: SessionsArguments) -> SessionItems:
    """List the live sessions and those that ended recently, of all agents."""
    listed: Sessions = await caller.ask("list")
    shown: Foregrounds = await caller.ask("foregrounds")
    of_one_turn = await caller.context.database.read(stored_sessions.of_one_turn)
    in_front = {each.session for each in shown.foregrounds}
    now = caller.context.journal.clock.now()
    items = [
        _item(each, now, foreground=each.id in in_front, multi_turn=each.id not in of_one_turn)
        for each in listed.sessions
        if params.status in {"all", each.status}
    ]
    return SessionItems(sessions=items, count=len(items))


async def kill(caller: RpcCaller, params: OneSessionArguments) -> KilledSession:
    """End a session. Ending it again does nothing."""
    session: Session = await caller.ask("end", session=params.target)
    is_over = session.status.is_over
    ending = f"has ended ({session.status})" if is_over else "is being ended"
    message = f"{session.name} {ending}."
    return KilledSession(
        id=session.id, name=session.name, status=session.status, message=message
    )


async def show_output(caller: RpcCaller, params: OutputArguments) -> SessionOutput:
    """Show the last lines that a session has said, also in a turn that runs."""
    # Of the last two turns, only the later one can still run.
    found: Turns = await caller.ask("turns", session=params.target, last=2)
    session = found.session
    lines = await (_all_lines(caller, session) if params.full else _last_lines(caller, params))
    ended = [turn for turn in found.turns if turn.ended_at]
    milliseconds = duration_of(session, caller.context.journal.clock.now())
    return SessionOutput(
        id=session.id,
        name=session.name,
        status=session.status,
        cost_usd=dollars(session.cost),
        duration_ms=milliseconds,
        duration=duration_text(milliseconds),
        lines=lines,
        line_count=len(lines),
        result=plain(ended[-1].answer) if ended else None,
    )


async def _last_lines(caller: RpcCaller, params: OutputArguments) -> list[str]:
    last = min(params.lines, MAX_BLOCKS)  # a text has at least one line
    found: Blocks = await caller.ask("blocks", session=params.target, last=last, kinds=_TEXTS)
    return _lines(found.blocks)[-params.lines :]


async def _all_lines(caller: RpcCaller, session: Session) -> list[str]:
    """Return all lines, page by page; of too many, the last ones."""
    lines = deque[str](maxlen=MAX_LINES)
    up_to, count = 0, 1
    while up_to < count:
        found: Blocks = await caller.ask(
            "blocks", session=session.id, after=up_to, kinds=_TEXTS
        )
        lines.extend(_lines(found.blocks))
        up_to, count = found.up_to, found.count
    return [*lines]


def _lines(blocks: Collection[StoredBlock]) -> list[str]:
    return [line for each in blocks for line in plain(each.text).splitlines()]


def _item(
    session: Session, now: datetime, *, foreground: bool, multi_turn: bool
) -> SessionItem:
    milliseconds, workdir = duration_of(session, now), workdir_of(session)
    return SessionItem(
        id=session.id,
        name=session.name,
        status=session.status,
        prompt=session.first_prompt,
        workdir=workdir,
        model=session.model or None,
        cost_usd=dollars(session.cost),
        started_at=_milliseconds(session.created_at),
        completed_at=_milliseconds(session.ended_at) if session.ended_at else None,
        duration_ms=milliseconds,
        native_id=session.native_id,
        foreground=foreground,
        multi_turn=multi_turn,
        display=session_text(session, workdir=workdir, milliseconds=milliseconds),
    )


def workdir_of(session: Session) -> str:
    return str(Path(session.project_path, session.subdir)) if session.project_path else ""


def duration_of(session: Session, now: datetime) -> int:
    """Return how long a session has existed, in milliseconds."""
    lasted = (session.ended_at or now) - session.created_at
    return max(lasted // timedelta(milliseconds=1), 0)


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
