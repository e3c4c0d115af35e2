from __future__ import annotations

import anyio
import pytest

from rookery.agents.demo import DEMO
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.ports.runtime import Vanished
from rookery.runtimes.router import RuntimeRouter
from tests.support.fakes.runtime import FakeRuntime, Program

pytestmark = pytest.mark.anyio


class FakeHolder(FakeRuntime):
    def holds(self, session: SessionId) -> bool:
        return session in self._held


class Two:
    """Two runtimes, each with one program."""

    def __init__(self) -> None:
        self.first, self.other = FakeRuntime(), FakeHolder()
        self.both = RuntimeRouter(self.other, starting=self.first)

    async def hold(self, runtime: FakeRuntime, session: str) -> Program:
        name = f"rk_{session}"
        program = runtime.put(name, screen=session)
        await runtime.adopt(SessionId(session), DEMO, program.place)
        return program


@pytest.fixture
def two() -> Two:
    return Two()


@pytest.mark.spec("B7")
async def test_each_session_is_read_and_pressed_where_it_is_held(two: Two) -> None:
    await two.hold(two.first, "mine")
    await two.hold(two.other, "theirs")

    screens = [await two.both.terminal(SessionId(each)).read() for each in ("mine", "theirs")]
    await two.both.terminal(SessionId("theirs")).press("enter")

    assert screens == [("mine",), ("theirs",)]
    assert (two.first.pressed, two.other.pressed) == ([], [(SessionId("theirs"), ("enter",))])


async def test_what_nobody_holds_is_the_first_ones_to_refuse(two: Two) -> None:
    with pytest.raises(RuntimeFailed, match="no pane is known"):
        await two.both.terminal(SessionId("nobody")).read()


async def test_only_the_first_finds_what_it_started(two: Two) -> None:
    mine = await two.hold(two.first, "mine")
    await two.hold(two.other, "theirs")

    assert await two.both.find() == {"rk_mine": mine.place}


async def test_what_any_of_them_sees_is_told(two: Two) -> None:
    told = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(two.both.keep)
        two.first.see_again(Vanished(SessionId("mine")))
        two.other.see_again(Vanished(SessionId("theirs")))
        with anyio.fail_after(5):
            async for sighting in two.both.watch():
                told.append(sighting.session)
                if len(told) == 2:
                    break
        tasks.cancel_scope.cancel()

    assert sorted(told) == ["mine", "theirs"]
