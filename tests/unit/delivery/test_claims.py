"""How messages are claimed for the runtime that delivers them."""

from __future__ import annotations

from dataclasses import dataclass, field
from sqlite3 import Connection

import anyio
import pytest

from rookery.agents.catalog import AGENTS
from rookery.delivery.dispatcher import Dispatcher
from rookery.model.facts import SessionId, SessionStarted
from rookery.model.messages import Parcel, clean
from rookery.ports.deliveries import Delivery, DeliveryLog, Refused
from rookery.sessions import commands
from rookery.sessions.commands import MessageSender
from rookery.store import sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.stream_runtime import StreamRuntime
from tests.support.rows import make

pytestmark = [pytest.mark.anyio, pytest.mark.spec("K3")]

IT = SessionId("it")


@dataclass
class RefusingCarrier:
    """Looks at what is stored about each message that it gets, and refuses it."""

    database: Database
    stored: list[tuple[str, str]] = field(default_factory=list)

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        def read(db: Connection) -> tuple[str, str]:
            query = "select step, way from messages where parcel = ?"
            row = db.execute(query, (parcel.id,)).fetchone()
            return row["step"], row["way"]

        found = await self.database.read(read)
        assert found[0] == parcel.step
        self.stored.append(found)
        return Refused("it is not wanted.")


@pytest.mark.parametrize(
    ("runtime", "stored"), [("sdk", ("pasted", "sdk")), ("tmux", ("sending", ""))]
)
async def test_a_claim_for_a_protocol_says_at_once_that_the_text_may_have_been_passed_on(
    database: ObservedDatabase, journal: Journal, runtime: str, stored: tuple[str, str]
) -> None:
    def prepare(db: Connection) -> None:
        sessions.add(db, make(journal, IT, runtime=runtime))
        journal.append(db, SessionStarted(IT))
        commands.send(
            db, journal, speaker=MessageSender("person"), recipient=IT, words=clean("go")
        )

    await database.write(prepare)
    carrier = RefusingCarrier(database)
    dispatcher = Dispatcher(database, journal, StreamRuntime(), AGENTS, carrier)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(dispatcher.deliver)
        await database.rest()
        tasks.cancel_scope.cancel()

    assert carrier.stored == [stored]
