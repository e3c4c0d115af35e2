"""Programs that ctrl-z suspends in panes in which no shell can continue them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from rookery.agents.demo import DEMO
from rookery.clock import WallClock
from rookery.model.errors import Occupied
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step
from rookery.model.obstacles import BlockedReason
from rookery.ports.sightings import Unsuspended
from rookery.runtimes.tmux import suspended
from rookery.runtimes.tmux.runtime import TmuxRuntime
from tests.support.contract.runtimes import SOON, SUSPENDING, launch_of, seen
from tests.support.contract.tmux import holding, site_in

pytestmark = [pytest.mark.real, pytest.mark.anyio, pytest.mark.spec("B0", "E6")]

ONE = SessionId("11111111-one")
AGENT = replace(DEMO, input=replace(DEMO.input, suspends=True))


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[TmuxRuntime]:
    with site_in(tmp_path) as site:
        async with holding(site) as runtime:
            yield runtime


async def start(runtime: TmuxRuntime, folder: Path, *argv: str) -> None:
    launch = replace(launch_of(ONE, folder), agent=AGENT, argv=(*SUSPENDING, *argv))
    await runtime.start(launch)
    await seen(runtime, ONE, lambda view: view.is_resting)


async def suspend(runtime: TmuxRuntime) -> None:
    await runtime.terminal(ONE).press("ctrl-z")
    await seen(runtime, ONE, lambda view: view.is_suspended)


async def test_a_suspended_program_is_continued_and_that_is_reported_once(
    runtime: TmuxRuntime, tmp_path: Path
) -> None:
    await start(runtime, tmp_path)

    for _ in range(2):
        await suspend(runtime)
        with anyio.fail_after(SOON):
            async for sighting in runtime.watch():
                if sighting == Unsuspended(ONE):
                    break
        await seen(runtime, ONE, lambda view: view.is_resting)


async def test_nothing_is_typed_into_a_suspended_program_and_it_is_left_after_some_attempts(
    runtime: TmuxRuntime,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(suspended, "CHECK_DELAY_S", 0.05)
    await start(runtime, tmp_path, "stays")
    await suspend(runtime)
    parcel = Parcel(1, ONE, "say: hello", Step.SENDING, datetime.now(UTC))

    with pytest.raises(Occupied) as refused:
        await runtime.typist(ONE).paste(parcel)
    with anyio.fail_after(SOON):
        while "stays suspended" not in caplog.text:
            await WallClock().sleep(0.05)

    assert refused.value.obstacle.code is BlockedReason.SUSPENDED
    assert caplog.text.count("stays suspended") == 1
    assert (await runtime.terminal(ONE).view()).is_suspended


async def test_a_program_that_was_suspended_while_no_daemon_ran_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with site_in(tmp_path) as site:
        async with holding(site) as first:
            monkeypatch.setattr(suspended, "CHECK_DELAY_S", 1_000.0)
            await start(first, tmp_path)
            await suspend(first)
        monkeypatch.undo()
        monkeypatch.setattr(suspended, "MAX_START_TIME", timedelta())
        async with holding(site) as second:
            (program,) = (await second.find()).values()
            await second.adopt(ONE, AGENT, program.handle)

            await seen(second, ONE, lambda view: view.is_resting)
