"""Statistics as callers ask for them: of the last days, of an agent."""

from __future__ import annotations

import pytest

from rookery.model.errors import AgentUnknown
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk
from tests.support.time_zones import time_zone

pytestmark = [pytest.mark.anyio, pytest.mark.spec("A11")]

DAY = 86_400


@pytest.fixture
async def desk(database: ObservedDatabase, journal: Journal, clock: FakeClock) -> Desk:
    """Have a session begin on each of three days, the last of them today."""
    desk = Desk(database, journal)
    with time_zone("America/New_York"):
        for number, agent in enumerate(("demo", "claude", "demo")):
            clock.advance(DAY if number else 0)
            await desk.settle(f"s{number}", agent=agent)
    return desk


@pytest.mark.parametrize(("days", "sessions"), [(1, 1), (2, 2), (3, 3), (None, 3)])
async def test_the_last_days_include_today(desk: Desk, days: int | None, sessions: int) -> None:
    with time_zone("America/New_York"):
        found = await desk.ask("stats", days=days)

    assert found.launched == sessions
    assert max(found.by_day) == "2026-11-02"  # there, the clock shows the evening before


async def test_one_agent_can_be_selected_with_the_days(desk: Desk) -> None:
    with time_zone("America/New_York"):
        found = await desk.ask("stats", days=2, agent="demo")

    assert (found.launched, found.by_agent) == (1, {"demo": 1})


@pytest.mark.parametrize(("agent", "live"), [(None, 3), ("demo", 2)])
async def test_a_session_that_began_before_the_selected_days_is_live(
    desk: Desk, agent: str | None, live: int
) -> None:
    with time_zone("America/New_York"):
        found = await desk.ask("stats", days=1, agent=agent)

    assert (found.launched, found.live) == (1, live)


async def test_an_unknown_agent_is_refused_with_a_suggestion(desk: Desk) -> None:
    with pytest.raises(AgentUnknown, match="Did you mean claude"):
        await desk.ask("stats", agent="claud")
