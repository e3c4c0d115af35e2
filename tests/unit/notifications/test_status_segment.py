from __future__ import annotations

from datetime import timedelta
from functools import partial

import anyio
import pytest

from rookery.model import facts
from rookery.model.errors import RuntimeFailed
from rookery.notifications.status_segment import REPEAT_INTERVAL_S, StatusSegment
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.rows import ANNA, settle_in

pytestmark = [pytest.mark.anyio, pytest.mark.spec("H4")]


async def test_the_line_follows_the_sessions_and_survives_a_restart_of_tmux(
    database: ObservedDatabase, clock: FakeClock, journal: Journal
) -> None:
    shown: list[str] = []
    is_down = False

    async def show(text: str) -> None:
        if is_down:
            raise RuntimeFailed("no tmux")
        shown.append(text)

    await database.write(partial(settle_in, journal=journal))
    segment = StatusSegment(database, timedelta(hours=1), show)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(segment.run)
        await database.rest()
        asked = facts.InputAsked(ANNA, "permission", "May it?")
        await database.write(lambda db: journal.append(db, asked))
        for _ in range(2):
            await database.rest()
            clock.advance(1)
        await database.rest()
        first, is_down = list(shown), True
        clock.advance(REPEAT_INTERVAL_S)
        await database.rest()
        is_down = False
        for _ in range(4):
            clock.advance(REPEAT_INTERVAL_S)
            await database.rest()
        tasks.cancel_scope.cancel()

    assert first == ["", "1 wait"]
    assert set(shown[2:]) == {"1 wait"}
