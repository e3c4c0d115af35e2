from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from sqlite3 import Connection, OperationalError

import anyio
import pytest

from rookery.model.facts import SessionId
from rookery.store.serving import serve
from tests.fakes.database import ObservedDatabase

pytestmark = pytest.mark.anyio

ANNA = SessionId("anna")


class Desk:
    """Serves whoever needs it, once; what it reads of may fail for a while."""

    def __init__(self, troubles: int) -> None:
        self.troubles = troubles
        self.served: list[SessionId] = []

    def needy(self, db: Connection) -> list[SessionId]:
        if self.troubles:
            self.troubles -= 1
            raise OperationalError("disk I/O error")
        return [ANNA] if not self.served else []

    async def step(self, session: SessionId) -> bool:
        self.served.append(session)
        return False


def enter(db: Connection) -> None:
    db.execute("insert into entries (at, session, kind, body) values ('', 's', '', '')")


async def served_after(
    database: ObservedDatabase, desk: Desk, *, entries: int
) -> Sequence[str]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(serve, database, desk.needy, desk.step))
        await database.rest()
        for _ in range(entries):
            await database.write(enter)
            await database.rest()
        tasks.cancel_scope.cancel()
    return desk.served


@pytest.mark.spec("K4")
async def test_a_disk_that_cannot_be_read_for_a_while_stops_no_service(
    database: ObservedDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "rookery.store.serving")

    assert await served_after(database, Desk(troubles=2), entries=1) == []
    assert await served_after(database, Desk(troubles=2), entries=2) == [ANNA]


async def test_whoever_is_in_need_is_served_once(database: ObservedDatabase) -> None:
    assert await served_after(database, Desk(troubles=0), entries=3) == [ANNA]
