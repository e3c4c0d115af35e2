"""Operations that show everything about one session, and record what a person has seen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from sqlite3 import Connection

from pydantic import Field

from rookery.model.current_sessions import CurrentSession
from rookery.model.facts import SessionId
from rookery.model.permissions import Request
from rookery.model.scopes import Need
from rookery.model.sessions import Turn
from rookery.operations.access import reach, target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import Moment, OfSession
from rookery.permissions.project_files import in_thread
from rookery.store import backlog, current_sessions, overlaps, requests, session_families, turns
from rookery.store.session_families import Relative
from rookery.tracking.git_branches import branches_of


class AnswersSeenParams(OfSession):
    until: Moment = Field(description="when the last answer that was shown was given")


@dataclass(frozen=True, slots=True)
class SessionDetails:
    session: CurrentSession
    parent: Relative | None  #: the session that started it
    children: list[Relative]  #: the sessions that it started
    continues: Relative | None  #: the session whose conversation it continues
    continued_by: list[Relative]
    turns: int  #: how many turns have ended
    last: Turn | None  #: the latest turn, in full
    queue: list[backlog.Unheard]  #: messages that wait, failed, or may not have arrived
    requests: list[Request]  #: that wait for an answer
    overlap: str = ""  #: the files that other live sessions have changed, too


@dataclass(frozen=True, slots=True)
class SeenUntil:
    session: SessionId
    seen_at: datetime


async def show_details(context: Context, caller: Caller, params: OfSession) -> SessionDetails:
    """Show everything that is known about one session."""
    session = await target(context, caller, params.session, Need.READ)
    branches = await in_thread(
        partial(branches_of, [session.project_path]), otherwise=dict[str, str]()
    )

    def read(db: Connection) -> SessionDetails:
        now = current_sessions.get(db, session.id, branches=branches)
        allowed = reach(context, db, caller, Need.READ)

        def near(*ids: SessionId | None) -> list[Relative]:
            found = session_families.relatives(db, [each for each in ids if each])
            return [each for each in found if allowed is None or each.id in allowed]

        last = turns.of_session(db, now.id, last=1)
        return SessionDetails(
            session=now,
            parent=next(iter(near(now.parent)), None),
            children=near(*session_families.children(db, now.id)),
            continues=next(iter(near(now.continues)), None),
            continued_by=near(*session_families.continuing(db, now.id)),
            turns=turns.count_ended(db, now.id),
            last=last[0] if last else None,
            queue=backlog.unheard(db, now.id),
            requests=requests.open_of(db, now.id),
            overlap=overlaps.notes(db).get(now.id, "") if allowed is None else "",
        )

    return await context.database.read(read)


async def mark_seen(context: Context, caller: Caller, params: AnswersSeenParams) -> SeenUntil:
    """Record that a person has seen the answers of a session until a time."""
    session = await target(context, caller, params.session, Need.OWN)
    until = params.until.astimezone(UTC) if params.until.tzinfo else params.until
    # A later time would hide answers that do not exist yet.
    until = min(until.replace(tzinfo=UTC), context.journal.clock.now())

    def write(db: Connection) -> SeenUntil:
        current_sessions.mark_seen(db, session.id, until=until)
        return SeenUntil(session.id, until)

    return await once(context, caller, SeenUntil, write)
