"""Tools that run several operations."""

from __future__ import annotations

from functools import partial
from sqlite3 import Connection

import pytest

from rookery.api.mcp.context import ToolContext
from rookery.api.mcp.message_tools import SendArguments, send_message
from rookery.coordination import relays
from rookery.model.facts import SessionId
from rookery.model.relays import RelayLimits
from rookery.model.scopes import Identity, Scope
from rookery.operations.relays import RelayList
from rookery.store import tokens
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I2")]

LIMITS = RelayLimits(hops=8, a_minute=20, length=12_000)


async def test_all_talks_of_a_pair_are_closed_by_one_call(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    journal = Journal("here", clock, readers={"relays": relays.READER})
    await journal.catch_up(database)
    desk = Desk(database, journal)
    anna = await desk.settle("anna")
    child = await desk.settle("child", parent=anna)
    badge = await database.write(partial(tokens.give_badge, session=anna, at=clock.now()))

    def talk(db: Connection) -> None:
        pair = [(anna, ""), (child, "")]
        relays.create(db, journal, pair, by="person", limits=LIMITS)

    for _ in range(2):
        await database.write(talk)
    identity = Identity(Scope.SESSION, "unix", SessionId(anna), tokens.digest(badge))
    context = ToolContext(desk.context, identity, key="call 1")

    arguments = SendArguments(session_id=child, message="", close_link=True)
    sent = await send_message(context, arguments)

    listed: RelayList = await desk.ask("relays")
    assert sent.advice == "It is closed."
    assert [each for each in listed.relays if each.present] == []
