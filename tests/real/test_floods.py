"""What a pane prints, fast or now and then, as the runtime hears and shows it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from rookery.agents.shell import SHELL
from rookery.clock import WallClock
from rookery.model.facts import SessionId
from rookery.ports.runtime import Launch
from rookery.ports.sightings import FellQuiet, Skipped
from rookery.runtimes.tmux import floods
from rookery.runtimes.tmux.protocol import Event, Output
from rookery.runtimes.tmux.runtime import TmuxRuntime
from tests.support.contract.runtimes import SOON
from tests.support.contract.tmux import site_in

pytestmark = [pytest.mark.real, pytest.mark.anyio, pytest.mark.timeout(240)]

ONE = SessionId("11111111-one")


class Clock(WallClock):
    """Tells when a pause has passed; while it stands still, no further pause ever does."""

    def __init__(self) -> None:
        self.passed = anyio.Event()
        self.stands_still = False

    async def sleep(self, seconds: float) -> None:
        if self.stands_still:
            await anyio.sleep_forever()
        await super().sleep(seconds)
        self.passed.set()


@pytest.fixture
def clock() -> Clock:
    return Clock()


class CountingRuntime(TmuxRuntime):
    """Counts the bytes that panes print."""

    heard = 0

    def _hear(self, event: Event) -> None:
        super()._hear(event)
        if isinstance(event, Output):
            self.heard += len(event.payload)


@pytest.fixture
async def runtime(tmp_path: Path, clock: Clock) -> AsyncIterator[CountingRuntime]:
    with site_in(tmp_path) as site:
        runtime = CountingRuntime(site, clock, typing=2.0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.keep)
            await runtime.find()
            yield runtime
            tasks.cancel_scope.cancel()


async def start(runtime: TmuxRuntime, folder: Path, script: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    await runtime.start(Launch(ONE, SHELL, ("/bin/sh", "-c", script), environment, folder))


@pytest.mark.spec("B3")
async def test_a_pane_that_floods_is_muted_until_it_falls_quiet(
    runtime: CountingRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(floods, "FLOOD_BYTES", 100_000)
    gate, line = tmp_path / "gate", "x" * 150
    flood = f"while [ ! -e {gate} ]; do printf '{line}%.0s\\n' $(seq 200); done"
    script = f"{flood}; echo over; read line; echo heard $line; exec cat"

    quiet_before_end = False
    with anyio.fail_after(2 * SOON):
        await start(runtime, tmp_path, script)
        skipped = False
        async for sighting in runtime.watch():
            if sighting == Skipped(ONE):
                skipped = True
                await _is_muted(runtime)
                gate.touch()
            elif sighting == FellQuiet(ONE):
                quiet_before_end = not skipped
                break
        after_flood = [each for each in await runtime.terminal(ONE).read() if each]
        await runtime.terminal(ONE).press("enter")
        async for screen in runtime.terminal(ONE).screens():  # it is heard again
            if any(each.startswith("heard") for each in screen):
                break

    assert not quiet_before_end
    assert after_flood[-1] == "over"


async def _is_muted(runtime: CountingRuntime) -> None:
    """Wait until nothing more is heard though the program goes on printing."""
    before = -1
    while runtime.heard != before:  # once it is muted, only the looks at it stir it
        before = runtime.heard
        await runtime.terminal(ONE).next_change().wait()


@pytest.mark.spec("B3", "I4")
async def test_the_first_change_after_a_pause_is_shown_without_delay(
    runtime: TmuxRuntime, clock: Clock, tmp_path: Path
) -> None:
    await start(runtime, tmp_path, "echo ready; read line; echo changed; exec cat")
    with anyio.fail_after(SOON):
        frames = runtime.terminal(ONE).screens()
        while "ready" not in "".join(await anext(frames)):
            pass
        shown: list[tuple[str, ...]] = []

        async def watch() -> None:
            shown.append(await anext(frames))

        async with anyio.create_task_group() as tasks:
            clock.passed = anyio.Event()
            tasks.start_soon(watch)
            await clock.passed.wait()  # the pause between two frames
            clock.stands_still = True
            await runtime.terminal(ONE).press("enter")
        clock.stands_still = False

    assert shown


def test_a_burst_is_a_flood_only_within_a_second() -> None:
    meter = floods.OutputMeter()
    half = floods.FLOOD_BYTES // 2 + 1

    assert not meter.overflows(half, now=10.0)
    assert not meter.overflows(half, now=11.5)
    assert meter.overflows(half, now=12.0)
