"""The operation that shows the prompts, answers and actions of a session, mainly to agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from sqlite3 import Connection
from typing import Annotated

from pydantic import Field

from rookery.model.errors import CommandRefused, RuntimeFailed
from rookery.model.lifecycle import ASKING, Activity
from rookery.model.scopes import Need
from rookery.model.sessions import Session, Turn
from rookery.operations.access import target
from rookery.operations.block_passages import read_passages
from rookery.operations.context import Caller, Context
from rookery.operations.denied_calls import mark_passages
from rookery.operations.operation import Moment, OfSession
from rookery.operations.sessions import ScreenParams, screen
from rookery.ports.transcript import Passage
from rookery.store import audit, turns
from rookery.store.audit import Decided
from rookery.tracking.transcript_files import TimeSpan
from rookery.tracking.transcript_passages import TranscriptRange, end_of

#: Characters of the conversation that are returned by default.
DEFAULT_TAIL_CHARACTERS = 8_000

#: The most turns that are searched.
MAX_SEARCHED_TURNS = 1_000


class DataParams(OfSession):
    since: Moment | None = Field(None, description="only what was said after this")
    until: Moment | None = Field(None, description="only what was said before this")
    tail_chars: Annotated[int, Field(ge=1, le=200_000)] = DEFAULT_TAIL_CHARACTERS


@dataclass(frozen=True, slots=True)
class SessionData:
    """The last prompts, answers and actions of a session, and its screen."""

    session: Session
    turns: list[Turn]  #: oldest first; the first one may be cut to its end
    omitted: int  #: how many earlier turns did not fit
    transcript: list[Passage]  #: oldest first; what else its agent recorded in that time
    screen: str  #: while the session asks something, or if nothing was recorded


async def show_data(context: Context, caller: Caller, params: DataParams) -> SessionData:
    """Show the last turns of a session, its transcript and, if useful, its screen.

    Turns come first; from its transcript comes what they do not have.
    """
    session = await target(context, caller, params.session, Need.READ)
    between = (_in_utc(params.since), _in_utc(params.until))

    def read(db: Connection) -> list[Turn]:
        return turns.between(db, session.id, *between, last=MAX_SEARCHED_TURNS)

    all_turns = await context.database.read(read)
    last_turns = _tail(all_turns, params.tail_chars)
    omitted = len(all_turns) - len(last_turns)
    span = _span(session, *between)
    requested = TranscriptRange(span, params.tail_chars, _texts(all_turns[omitted:]))
    found = await context.conversations.read(context.database, session, requested)
    passages = mark_passages(found, await _denials(context, session, found))
    if not found:
        since = last_turns[0].started_at if last_turns else span.since
        shown_span = TimeSpan(max(span.since, since), span.until)
        passages = await context.database.read(
            lambda db: read_passages(db, session.id, shown_span, room=params.tail_chars)
        )
    shown = ""
    is_recorded = bool(found) or (bool(all_turns) and session.activity is Activity.IDLE)
    # A screen shows only the present.
    if params.until is None and (session.activity in ASKING or not is_recorded):
        shown = await _shown(context, caller, session, params.tail_chars)
    return SessionData(session, last_turns, omitted, passages, shown)


async def _denials(
    context: Context, session: Session, passages: Sequence[Passage]
) -> list[Decided]:
    """Return the denials since the first of some passages."""
    if not passages:
        return []
    since = partial(audit.denied_since, session=session.id, moment=passages[0].at)
    return await context.database.read(since)


def _span(session: Session, since: datetime | None, until: datetime | None) -> TimeSpan:
    """Return the requested time span, limited to the session's own."""
    lifetime = TimeSpan.of(session)
    return TimeSpan(
        max(lifetime.since, since or lifetime.since),
        min(lifetime.until, until or lifetime.until),
    )


def _texts(session_turns: Sequence[Turn]) -> frozenset[str]:
    return frozenset(
        text.strip() for turn in session_turns for text in (turn.prompt, turn.answer)
    )


def _in_utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _tail(session_turns: Sequence[Turn], room: int) -> list[Turn]:
    """Return the last turns that fit into ``room`` characters; long texts keep their ends."""
    last_turns: list[Turn] = []
    for turn in reversed(session_turns):
        if room <= 0:
            break
        answer = end_of(turn.answer, room)
        room -= len(turn.answer)
        prompt = end_of(turn.prompt, max(room, 0))
        room -= len(turn.prompt)
        last_turns.append(replace(turn, prompt=prompt, answer=answer))
    return last_turns[::-1]


async def _shown(context: Context, caller: Caller, session: Session, room: int) -> str:
    try:
        params = ScreenParams(session=session.id, history=True)
        lines = (await screen(context, caller, params)).lines
    except (CommandRefused, RuntimeFailed):  # it has no pane, or not any more
        return ""
    return end_of("\n".join(line.rstrip() for line in lines).strip("\n"), room)
