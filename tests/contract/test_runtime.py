"""What every runtime does, the fake one too: what the others' tests rely on is so."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from rookery.agents import demo, shell
from rookery.clock import WallClock
from rookery.model.errors import Occupied, RuntimeFailed, WordsRefused
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step
from rookery.model.sessions import program_name
from rookery.ports.agent import Agent
from rookery.ports.runtime import HeldProgram, Runtime, RuntimeHandle, StopMethod
from rookery.ports.sightings import Exited, Vanished
from rookery.ports.terminal import Printed
from rookery.processes import Process
from rookery.runtimes.tmux.delivery_steps import DeliveryState, Typing
from rookery.runtimes.tmux.typist import DISCARD_STEADY_S
from tests.support.contract.runtimes import (
    DEMO,
    SOON,
    Bench,
    FakeBench,
    TmuxBench,
    ending,
    launch_of,
    seen,
    started,
)
from tests.support.contract.tmux import site_in

pytestmark = pytest.mark.anyio

Call = Callable[[Runtime, Parcel], Awaitable[object]]


@pytest.fixture(params=["fake", pytest.param("tmux", marks=pytest.mark.real)])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    if request.param == "fake":
        yield FakeBench()
        return
    with site_in(tmp_path) as site:
        async with AsyncExitStack() as lives:
            bench = TmuxBench(site, lives)
            await bench.begin_life()
            yield bench


@pytest.fixture
def session() -> SessionId:
    return SessionId(str(uuid4()))


@pytest.fixture
async def held(bench: Bench, session: SessionId, tmp_path: Path) -> HeldProgram:
    """Have a session run, and say where."""
    return await started(bench.runtime, session, tmp_path)


def parcel_for(session: SessionId, words: str = "say: hello") -> Parcel:
    return Parcel(1, session, words, Step.SENDING, datetime.now(UTC))


async def discarded(typing: Typing, parcel: Parcel) -> None:
    """Wait until the program has thrown the words away."""
    with anyio.fail_after(SOON):
        while not await typing.was_discarded(parcel):
            await WallClock().sleep(0.1)


async def box_of(runtime: Runtime, session: SessionId) -> str | None:
    return (await runtime.terminal(session).view()).box


async def test_what_is_started_is_found_by_its_name(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    found = await bench.runtime.find()

    assert found == {program_name(session): held}
    assert held.address
    assert held.address.tmux_session == program_name(session)


@pytest.mark.spec("A3")
async def test_what_is_started_twice_runs_once(
    bench: Bench, session: SessionId, held: HeldProgram, tmp_path: Path
) -> None:
    again = await bench.runtime.start(launch_of(session, tmp_path))

    assert again == held
    assert await bench.runtime.find() == {program_name(session): held}


@pytest.mark.spec("A3", "A7")
async def test_what_an_earlier_daemon_started_is_taken_over_by_the_next_start(
    bench: Bench, session: SessionId, held: HeldProgram, tmp_path: Path
) -> None:
    await bench.begin_life()

    again = await bench.runtime.start(launch_of(session, tmp_path))

    assert again == held
    assert await box_of(bench.runtime, session) == ""


@pytest.mark.spec("A7")
async def test_what_lived_on_is_adopted_and_its_end_is_seen(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    await bench.begin_life()

    await bench.runtime.adopt(session, demo.DEMO, held.handle)
    await bench.leave(session, 3)

    end = await ending(bench.runtime)
    assert isinstance(end, Exited)
    assert (end.session, end.code, end.signal) == (session, 3, None)


@pytest.mark.spec("A7", "B4")
async def test_what_ended_while_nobody_looked_is_told_once_it_is_adopted(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    await bench.leave(session, 3)
    await ending(bench.runtime)
    await bench.begin_life()

    await bench.runtime.adopt(session, demo.DEMO, held.handle)

    end = await ending(bench.runtime)
    assert isinstance(end, Exited)
    assert (end.code, end.signal) == (3, None)


@pytest.mark.spec("A7")
async def test_what_has_gone_cannot_be_adopted_and_is_told_of(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    await bench.runtime.release(session)

    with pytest.raises(RuntimeFailed):
        await bench.runtime.adopt(session, demo.DEMO, held.handle)

    assert await ending(bench.runtime) == Vanished(session)


@pytest.mark.spec("B2")
async def test_words_stand_in_the_box_until_enter_takes_them_out(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    parcel = parcel_for(session)

    before = await bench.typing(session).look(parcel)
    await bench.typing(session).paste(parcel)
    is_shown = await bench.typing(session).is_shown(parcel, within=SOON)
    pasted = await bench.typing(session).look(parcel)
    in_box = await box_of(bench.runtime, session)
    await bench.typing(session).submit(parcel)
    await seen(bench.runtime, session, lambda view: view.box == "")

    assert (before, is_shown, pasted, in_box) == (
        DeliveryState.NOT_TYPED,
        True,
        DeliveryState.IN_BOX,
        "say: hello",
    )
    assert await bench.typing(session).look(parcel) is DeliveryState.LEFT_BOX


@pytest.mark.spec("B2")
async def test_that_words_were_typed_is_known_to_the_next_daemon(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    parcel = parcel_for(session)
    await bench.typing(session).paste(parcel)
    await bench.typing(session).is_shown(parcel, within=SOON)

    await bench.begin_life()
    await bench.runtime.adopt(session, demo.DEMO, held.handle)

    assert await bench.typing(session).look(parcel) is DeliveryState.IN_BOX
    assert await bench.typing(session).look(parcel_for(session)) is DeliveryState.NOT_TYPED


@pytest.mark.spec("B2")
async def test_words_that_were_taken_out_of_the_box_are_told_from_such_as_never_showed(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    parcel = parcel_for(session)
    await bench.typing(session).paste(parcel)
    await bench.typing(session).is_shown(parcel, within=SOON)
    await bench.begin_life()
    await bench.runtime.adopt(session, demo.DEMO, held.handle)

    await bench.typing(session).clear(parcel)
    await seen(bench.runtime, session, lambda view: view.box == "")

    assert await bench.typing(session).look(parcel) is DeliveryState.REMOVED


@pytest.mark.spec("B2")
async def test_enter_is_pressed_three_times_at_most_on_words_that_stay_in_the_box(
    bench: Bench, session: SessionId, tmp_path: Path
) -> None:
    parcel = parcel_for(session)
    await bench.start_stubborn(session, tmp_path)
    await bench.typing(session).paste(parcel)
    await bench.typing(session).is_shown(parcel, within=SOON)

    for _ in range(3):
        await bench.typing(session).submit(parcel)
        assert not await bench.typing(session).has_left(parcel, within=1.0)
    with pytest.raises(WordsRefused, match="did not accept it"):
        await bench.typing(session).submit(parcel)

    assert await box_of(bench.runtime, session) == parcel.words


@pytest.mark.spec("B2")
async def test_words_that_a_program_throws_away_are_pasted_twice_at_most(
    bench: Bench, session: SessionId, tmp_path: Path
) -> None:
    parcel = parcel_for(session)
    typing = bench.typing
    await bench.start_stubborn(session, tmp_path, discards=2)
    await typing(session).paste(parcel)
    await discarded(typing(session), parcel)
    is_pasted = await typing(session).paste_again(parcel)
    await bench.begin_life()
    await bench.runtime.start(launch_of(session, tmp_path))  # finds the running program
    await discarded(typing(session), parcel)

    assert is_pasted
    assert not await typing(session).paste_again(parcel)
    assert await box_of(bench.runtime, session) == ""


@pytest.mark.spec("B2")
async def test_words_that_a_program_threw_away_show_once_they_are_pasted_again(
    bench: Bench, session: SessionId, tmp_path: Path
) -> None:
    parcel = parcel_for(session)
    await bench.start_stubborn(session, tmp_path, discards=1)
    await bench.typing(session).paste(parcel)
    await discarded(bench.typing(session), parcel)

    await bench.typing(session).paste_again(parcel)

    assert await bench.typing(session).is_shown(parcel, within=SOON)
    assert not await bench.typing(session).was_discarded(parcel)
    assert await box_of(bench.runtime, session) == parcel.words


@pytest.mark.spec("B2")
async def test_words_that_a_program_has_not_read_yet_are_not_taken_for_thrown_away(
    bench: Bench, session: SessionId, tmp_path: Path
) -> None:
    if isinstance(bench, FakeBench):
        pytest.skip("its programs read at once")
    parcel = parcel_for(session)
    await bench.start_stubborn(session, tmp_path)
    pid = await bench.pid_of(session)
    os.kill(pid, signal.SIGSTOP)
    try:
        await bench.typing(session).paste(parcel)
        await WallClock().sleep(DISCARD_STEADY_S + 0.5)

        assert not await bench.typing(session).was_discarded(parcel)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert await bench.typing(session).is_shown(parcel, within=SOON)


@pytest.mark.spec("B0")
async def test_nothing_is_typed_into_somebodys_draft(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    parcel = parcel_for(session)
    await bench.type(session, "half a thou")

    for press in (bench.typing(session).paste, bench.typing(session).submit):
        with pytest.raises(Occupied):
            await press(parcel)
    with pytest.raises(Occupied):
        await bench.runtime.stop(session, StopMethod.ASK)

    assert await box_of(bench.runtime, session) == "half a thou"
    assert await bench.typing(session).look(parcel) is DeliveryState.NOT_TYPED


@pytest.mark.spec("B2")
async def test_words_of_ours_are_cleared_and_nothing_else_is(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    parcel, runtime = parcel_for(session), bench.runtime
    before = await bench.typing(session).clear(parcel)
    await bench.typing(session).paste(parcel)
    await bench.typing(session).is_shown(parcel, within=SOON)

    cleared = await bench.typing(session).clear(parcel)
    box = await box_of(runtime, session)
    await bench.type(session, "half a thou")

    assert (before, cleared, box) == (False, True, "")
    assert await bench.typing(session).clear(parcel) is False
    assert await box_of(runtime, session) == "half a thou"


@pytest.mark.spec("B0", "B2")
async def test_nothing_is_cleared_while_a_dialog_is_open(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    await bench.ask(session)

    with pytest.raises(Occupied):
        await bench.typing(session).clear(parcel_for(session))


@pytest.mark.spec("B0")
async def test_enter_is_not_pressed_on_what_came_after_the_words(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    parcel = parcel_for(session)
    await bench.typing(session).paste(parcel)
    await bench.typing(session).is_shown(parcel, within=SOON)
    await bench.typing(session).submit(parcel)
    await seen(bench.runtime, session, lambda view: view.is_resting and view.box == "")
    await bench.type(session, "half a thou")

    with pytest.raises(Occupied):
        await bench.typing(session).submit(parcel)

    assert await box_of(bench.runtime, session) == "half a thou"
    assert await bench.typing(session).look(parcel) is DeliveryState.HIDDEN


@pytest.mark.spec("B0")
async def test_nothing_is_typed_into_a_dialog(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    parcel = parcel_for(session)
    await bench.ask(session)

    for press in (bench.typing(session).paste, bench.typing(session).submit):
        with pytest.raises(Occupied, match="dialog"):
            await press(parcel)
    with pytest.raises(Occupied):
        await bench.runtime.stop(session, StopMethod.ASK)

    assert (await bench.runtime.terminal(session).view()).dialog
    assert await bench.typing(session).look(parcel) is DeliveryState.NOT_TYPED


@pytest.mark.spec("B0")
@pytest.mark.parametrize(
    ("agent", "argv"), [(demo.DEMO, DEMO), (shell.SHELL, ("cat",))], ids=["demo", "shell"]
)
async def test_nothing_is_typed_where_a_program_has_ended(
    bench: Bench, session: SessionId, agent: Agent, argv: tuple[str, ...], tmp_path: Path
) -> None:
    """Of a paste into what is left of it, tmux 3.3 would die, and all that runs there."""
    launch = replace(launch_of(session, tmp_path), agent=agent, argv=argv)
    held = await bench.runtime.start(launch)
    await bench.runtime.stop(session, StopMethod.KILL)
    await ending(bench.runtime)

    with pytest.raises(Occupied):
        await bench.typing(session).paste(parcel_for(session))

    assert await bench.typing(session).look(parcel_for(session)) is DeliveryState.NOT_TYPED
    assert await bench.runtime.find() == {program_name(session): held}


@pytest.mark.spec("B4")
async def test_a_program_that_ends_by_itself_is_seen_with_its_code(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    await bench.leave(session, 7)

    end = await ending(bench.runtime)

    assert isinstance(end, Exited)
    assert (end.session, end.code, end.signal) == (session, 7, None)


@pytest.mark.spec("B4")
@pytest.mark.parametrize(
    ("method", "number"),
    [(StopMethod.TERMINATE, signal.SIGTERM), (StopMethod.KILL, signal.SIGKILL)],
)
async def test_a_signal_reaches_the_program_and_is_told_as_its_end(
    bench: Bench, session: SessionId, held: HeldProgram, method: StopMethod, number: int
) -> None:
    await bench.runtime.stop(session, method)

    end = await ending(bench.runtime)

    assert isinstance(end, Exited)
    assert (end.session, end.code, end.signal) == (session, None, number)


async def test_who_is_asked_to_leave_leaves(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    await bench.runtime.stop(session, StopMethod.ASK)

    end = await ending(bench.runtime)

    assert isinstance(end, Exited)
    assert (end.code, end.signal) == (0, None)


@pytest.mark.spec("A5")
async def test_what_is_let_go_of_is_gone(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    await bench.runtime.release(session)
    await bench.runtime.release(session)

    assert await bench.runtime.find() == {}
    with pytest.raises(RuntimeFailed):
        await bench.runtime.terminal(session).read()


@pytest.mark.spec("A7")
async def test_a_pane_is_found_by_a_handle_that_was_stored_without_its_process(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    if not isinstance(bench, TmuxBench):
        pytest.skip("only tmux had panes before there were handles")
    await bench.begin_life()
    older = RuntimeHandle("tmux", re.sub(r',"pid":[0-9]+', "", held.handle.reference))

    await bench.runtime.adopt(session, demo.DEMO, older)
    await bench.leave(session, 3)

    end = await ending(bench.runtime)
    assert older != held.handle
    assert isinstance(end, Exited)
    assert (end.session, end.code) == (session, 3)


async def test_a_process_is_known_by_its_session(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    pid = await bench.pid_of(session)
    program = Process.of(pid) or Process(pid, "made up")
    other = Process(os.getpid(), "1")

    assert bench.holder_of([other.key, program.key]) == session
    assert bench.holder_of([other.key]) is None


async def test_nobody_is_attached_at_first(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    assert not await bench.runtime.terminal(session).is_attached()


@pytest.mark.spec("F3")
async def test_what_a_plain_program_newly_printed_is_known_also_to_the_next_daemon(
    bench: Bench, session: SessionId, tmp_path: Path
) -> None:
    runtime, parcel = bench.runtime, parcel_for(session, "echo new")
    argv = ("sh", "-c", "echo old; exec sh")
    launch = replace(launch_of(session, tmp_path), agent=shell.SHELL, argv=argv)
    held = await runtime.start(launch)
    await bench.printed(session, "old", "$")
    untouched = await runtime.terminal(session).printed()

    await bench.typing(session).paste(parcel)
    await bench.typing(session).submit(parcel)
    await bench.printed(session, "old", "$ echo new", "new", "$")
    before = await runtime.terminal(session).printed()
    await bench.begin_life()
    await bench.runtime.adopt(session, shell.SHELL, held.handle)
    after = await bench.runtime.terminal(session).printed()

    assert untouched == Printed()
    assert before == after == Printed(("$ echo new", "new", "$"), "$")


@pytest.mark.spec("F3")
async def test_of_an_agent_with_a_box_nothing_is_read_as_printed(
    bench: Bench, session: SessionId, held: HeldProgram
) -> None:
    await bench.typing(session).paste(parcel_for(session))

    assert await bench.runtime.terminal(session).printed() == Printed()
