"""Messages that the driver host certainly has not passed on are not doubtful."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from rookery.agents.demo import DEMO
from rookery.clock import WallClock
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId, TurnEnded
from rookery.model.messages import Parcel, Step
from rookery.ports.deliveries import Blocked, Refused, Submitted
from rookery.ports.runtime import DriverOptions, Launch
from rookery.ports.sightings import Reported, ReportedTogether
from rookery.runtimes.driven.runtime import DrivenRuntime
from tests.support.fakes.delivery_log import FakeLog
from tests.support.scripted_driver import NAME, ScriptedDriver, hosting, site_in

pytestmark = [pytest.mark.anyio, pytest.mark.spec("K3")]

SESSION = SessionId("11111111-1111-4111-8111-111111111111")

SOON = 20.0


def parcel(number: int, words: str) -> Parcel:
    return Parcel(number, SESSION, words, Step.SENDING, datetime(2026, 1, 1, tzinfo=UTC))


@asynccontextmanager
async def started(folder: Path, options: DriverOptions) -> AsyncIterator[DrivenRuntime]:
    ScriptedDriver.heard.clear()
    site = site_in(folder)
    async with hosting(site):
        driven = DrivenRuntime(site, WallClock())
        await driven.start(Launch(SESSION, DEMO, (), {}, folder, options))
        keeping = asyncio.ensure_future(driven.keep())
        try:
            yield driven
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])


async def until_turn_ended(driven: DrivenRuntime) -> None:
    with anyio.fail_after(SOON):
        async for each in driven.watch():
            reports = each.reports if isinstance(each, ReportedTogether) else ()
            told = [fact for one in reports if isinstance(one, Reported) for fact in one.facts]
            if any(isinstance(fact, TurnEnded) for fact in told):
                return


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            DriverOptions(NAME, {"linger": True}, is_single_turn=True),
            "its only turn is over",
        ),
        (
            DriverOptions(NAME, {"linger": True}, budget=1),
            "its budget of 1e-06 USD is used up: it has used 2.00 USD",
        ),
    ],
)
async def test_a_message_behind_the_last_turn_of_a_session_is_not_delivered(
    tmp_path: Path, options: DriverOptions, reason: str
) -> None:
    async with started(tmp_path, options) as driven:
        log = FakeLog()
        first = await driven.deliver(parcel(1, "cost: 2\nsay: hello"), log, is_new=True)
        await until_turn_ended(driven)

        second = await driven.deliver(parcel(2, "say: more"), log, is_new=True)
        again = await driven.deliver(parcel(1, "cost: 2\nsay: hello"), log, is_new=False)

    assert isinstance(first, Submitted)
    assert second == Refused(f"the session ends: {reason}.")
    assert isinstance(again, Submitted)  # it was passed on, which is no reason to doubt it
    assert ScriptedDriver.heard == ["cost: 2\nsay: hello"]


async def test_a_message_to_an_agent_that_is_not_up_counts_as_not_typed(
    tmp_path: Path,
) -> None:
    async with started(tmp_path, DriverOptions(NAME, {"hang": True})) as driven:
        log = FakeLog()
        with pytest.raises(RuntimeFailed, match="not up yet"):
            await driven.deliver(parcel(1, "say: hello"), log, is_new=True)

    assert log.typed == 0


async def test_a_message_that_is_held_back_counts_as_not_passed_on(tmp_path: Path) -> None:
    async with started(tmp_path, DriverOptions(NAME)) as driven:
        log = FakeLog(is_holding=True, typed=1)
        claimed = replace(parcel(1, "say: hello"), step=Step.PASTED)

        assert await driven.deliver(claimed, log, is_new=True) == Blocked()

    assert log.typed == 0
    assert ScriptedDriver.heard == []
