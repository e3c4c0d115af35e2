from __future__ import annotations

import anyio
import pytest

from rookery.agents.demo import DEMO
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.ports.runtime import RuntimeHandle
from rookery.ports.sightings import Vanished
from rookery.runtimes.router import RuntimeRouter
from tests.support.fakes.runtime import FakeRuntime, Program

pytestmark = pytest.mark.anyio


class Two:
    """Two runtimes, each with one program."""

    def __init__(self) -> None:
        self.first, self.other = FakeRuntime("first"), FakeRuntime("other")
        runtimes = {"other": self.other, "first": self.first}
        self.both = RuntimeRouter(runtimes, starting="first")

    async def hold(self, runtime: FakeRuntime, session: str) -> Program:
        name = f"rk_{session}"
        program = runtime.put(name, screen=session)
        await runtime.adopt(SessionId(session), DEMO, program.handle)
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

    assert await two.both.find() == {"rk_mine": mine.held}


@pytest.mark.parametrize("name", ["first", "other"])
async def test_a_program_is_adopted_by_the_runtime_that_made_its_handle(
    two: Two, name: str
) -> None:
    runtimes = {"first": two.first, "other": two.other}
    program = runtimes.pop(name).put("rk_it", screen="here")
    (bystander,) = runtimes.values()

    await two.both.adopt(SessionId("it"), DEMO, program.handle)

    assert await two.both.terminal(SessionId("it")).read() == ("here",)
    assert not bystander.holds(SessionId("it"))


async def test_a_handle_of_an_unknown_runtime_is_refused_by_its_name(two: Two) -> None:
    handle = RuntimeHandle("elsewhere", "7")

    with pytest.raises(RuntimeFailed, match=r"no runtime 'elsewhere' .*only first, other"):
        await two.both.adopt(SessionId("it"), DEMO, handle)

    assert not two.first.holds(SessionId("it"))
    assert not two.other.holds(SessionId("it"))


async def test_what_any_of_them_sees_is_told(two: Two) -> None:
    told = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(two.both.keep)
        two.first.see_again(Vanished(SessionId("mine")))
        two.other.see_again(Vanished(SessionId("theirs")))
        with anyio.fail_after(5):
            async for sighting in two.both.watch():
                assert isinstance(sighting, Vanished)
                told.append(sighting.session)
                if len(told) == 2:
                    break
        tasks.cancel_scope.cancel()

    assert sorted(told) == ["mine", "theirs"]
