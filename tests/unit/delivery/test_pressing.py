from __future__ import annotations

import asyncio

import anyio
import pytest
from anyio.lowlevel import checkpoint

from rookery.agents.demo import DEMO
from rookery.model.errors import CommandRefused, KeysUnsure
from rookery.model.facts import Fact, SessionId, TurnEnded, TurnStarted
from rookery.ports.sightings import FellQuiet
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.runtime import FakeRuntime
from tests.support.operations import Desk
from tests.support.waiting import kinds

pytestmark = pytest.mark.anyio

WORKER = SessionId("worker")


class DaemonDiedError(Exception):
    """Stands for a kill -9 at a moment."""


class MortalRuntime(FakeRuntime):
    """Presses keys for as long as the daemon lives; it can die before a key or after it."""

    dies_before_key = dies_after_key = False

    async def interrupt(self, session: SessionId) -> None:
        await self.press(session, "escape")

    async def press(self, session: SessionId, *keys: str) -> None:
        await checkpoint()  # others have their turn
        if self.dies_before_key:
            raise DaemonDiedError
        self.pressed.append((session, keys))
        if self.dies_after_key:
            raise DaemonDiedError


@pytest.fixture
def runtime() -> MortalRuntime:
    return MortalRuntime()


@pytest.fixture
async def desk(database: Database, clock: FakeClock, runtime: MortalRuntime) -> Desk:
    desk = Desk(database, Journal("here", clock, readers={}), runtime=runtime)
    await desk.settle(WORKER)
    await happen(desk, TurnStarted(WORKER, "go"))
    return desk


async def happen(desk: Desk, fact: Fact) -> None:
    await desk.database.write(lambda db: desk.journal.append(db, fact))


async def press(desk: Desk) -> object:
    return await desk.ask("keys", session=WORKER, keys=("1",), idempotency_key="k")


async def interrupt(desk: Desk) -> object:
    return await desk.ask("interrupt", session=WORKER, idempotency_key="k")


@pytest.mark.spec("A3", "K3")
async def test_keys_that_are_asked_for_twice_at_once_are_pressed_once(
    desk: Desk, runtime: MortalRuntime
) -> None:
    first, second = await asyncio.gather(press(desk), press(desk))

    assert first == second
    assert runtime.pressed == [(WORKER, ("1",))]
    assert (await desk.database.read(kinds)).count("keys-pressed") == 1


@pytest.mark.spec("A3", "K3")
@pytest.mark.parametrize("is_pressed", [True, False])
async def test_keys_that_may_have_been_pressed_are_not_pressed_again(
    desk: Desk, runtime: MortalRuntime, *, is_pressed: bool
) -> None:
    runtime.dies_after_key, runtime.dies_before_key = is_pressed, not is_pressed
    with pytest.raises(DaemonDiedError):
        await press(desk)
    runtime.dies_after_key = runtime.dies_before_key = False
    before = len(runtime.pressed)

    for _ in range(2):
        with pytest.raises(KeysUnsure, match="may have been pressed"):
            await press(desk)

    assert len(runtime.pressed) == before


@pytest.mark.spec("A3", "K3")
async def test_an_interrupt_that_was_noted_and_not_pressed_is_pressed_by_the_next_try(
    desk: Desk, runtime: MortalRuntime
) -> None:
    runtime.dies_before_key = True
    with pytest.raises(DaemonDiedError):
        await interrupt(desk)
    runtime.dies_before_key = False

    first, second = await interrupt(desk), await interrupt(desk)

    assert first == second
    assert runtime.pressed == [(WORKER, ("escape",))]
    assert (await desk.database.read(kinds)).count("keys-pressed") == 1


@pytest.mark.spec("A3", "K3")
@pytest.mark.parametrize("goes_on", [True, False])
async def test_an_interrupt_that_took_effect_is_not_pressed_again(
    desk: Desk, runtime: MortalRuntime, clock: FakeClock, *, goes_on: bool
) -> None:
    runtime.dies_after_key = True
    with pytest.raises(DaemonDiedError):
        await interrupt(desk)
    runtime.dies_after_key = False
    clock.advance(1)
    await happen(desk, TurnEnded(WORKER, "", "interrupted"))
    if goes_on:
        await happen(desk, TurnStarted(WORKER, "and now this"))

    await interrupt(desk)

    assert len(runtime.pressed) == 1


@pytest.mark.spec("A3")
async def test_what_is_idle_is_not_interrupted_and_may_be_under_the_same_key_later(
    desk: Desk, runtime: MortalRuntime
) -> None:
    await happen(desk, TurnEnded(WORKER, "done"))
    with pytest.raises(CommandRefused, match="nothing to interrupt"):
        await interrupt(desk)
    await happen(desk, TurnStarted(WORKER, "again"))

    await interrupt(desk)

    assert len(runtime.pressed) == 1


@pytest.mark.spec("B5", "C8")
async def test_an_interrupt_of_what_rests_already_has_its_turn_ended_instead(
    desk: Desk, runtime: MortalRuntime, clock: FakeClock
) -> None:
    await runtime.adopt(WORKER, DEMO, runtime.put("rk_worker").handle)
    clock.advance(60)

    async def watch() -> None:
        await clock.someone_sleeps()
        clock.skip()
        assert await anext(runtime.watch()) == FellQuiet(WORKER)
        await happen(desk, TurnEnded(WORKER, "", "interrupted"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        with pytest.raises(CommandRefused, match="nothing to interrupt"):
            await interrupt(desk)

    assert runtime.pressed == []


@pytest.mark.spec("B5")
async def test_an_interrupt_of_what_works_is_pressed_at_once(
    desk: Desk, runtime: MortalRuntime, clock: FakeClock
) -> None:
    program = runtime.put("rk_worker")
    program.is_working = True
    await runtime.adopt(WORKER, DEMO, program.handle)
    clock.advance(60)

    await interrupt(desk)

    assert runtime.pressed == [(WORKER, ("escape",))]
