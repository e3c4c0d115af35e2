"""Operations on messages that wait, and on the hold that keeps all of them back."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

from pydantic import Field

from rookery.model.facts import NO_SESSION, DeliveriesHeld, DeliveriesReleased
from rookery.model.scopes import Need
from rookery.operations.access import reach, target
from rookery.operations.context import Caller, Context
from rookery.operations.operation import Nothing, Params
from rookery.store import backlog, flags


class InboxParams(Params):
    session: str = Field("", description="only those of this session")
    all: bool = Field(False, description="also those that were withdrawn or cleared")


@dataclass(frozen=True, slots=True)
class Inbox:
    letters: list[backlog.Letter]
    holding: bool  #: no message leaves until the hold is released


@dataclass(frozen=True, slots=True)
class Holding:
    holding: bool


async def inbox(context: Context, caller: Caller, params: InboxParams) -> Inbox:
    """List messages that wait, were not delivered, or may not have arrived."""
    only = await target(context, caller, params.session, Need.READ) if params.session else None

    def read(db: Connection) -> Inbox:
        allowed = {only.id} if only else reach(context, db, caller, Need.READ)
        letters = backlog.letters(db, allowed, done_with=params.all)
        return Inbox(letters, flags.is_holding(db))

    return await context.database.read(read)


async def hold(context: Context, caller: Caller, params: Nothing) -> Holding:
    """Pause all deliveries at once: nothing is typed anywhere until they are resumed."""
    return await _switch(context, caller, on=True)


async def release(context: Context, caller: Caller, params: Nothing) -> Holding:
    """Resume deliveries."""
    return await _switch(context, caller, on=False)


async def _switch(context: Context, caller: Caller, *, on: bool) -> Holding:
    def write(db: Connection) -> Holding:
        if flags.hold(db, on=on):
            fact = DeliveriesHeld if on else DeliveriesReleased
            context.journal.append(db, fact(NO_SESSION, caller.name))
        return Holding(on)

    return await context.database.write(write)
