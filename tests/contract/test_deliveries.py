"""How every runtime takes words, keys and ends: with a terminal or without, ours or not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.model.errors import NoTerminal, RuntimeFailed
from rookery.model.messages import Parcel, Step
from rookery.ports.deliveries import Blocked, LeftInput, Submitted, Unknown
from rookery.ports.runtime import Runtime, StopMethod
from rookery.runtimes.router import RuntimeRouter
from tests.support.contract.runtimes import ending, seen
from tests.support.contract.subjects import EVERY_RUNTIME, WORDS, Subject
from tests.support.fakes.delivery_log import FakeLog
from tests.support.fakes.runtime import FakeRuntime

pytestmark = pytest.mark.anyio


@pytest.fixture(params=EVERY_RUNTIME)
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    async with request.param(tmp_path) as subject:
        yield subject


@pytest.mark.spec("B2")
async def test_words_are_delivered_to_a_program_that_waits_for_them(subject: Subject) -> None:
    log = FakeLog()

    delivery = await subject.runtime.deliver(subject.parcel(), log, is_new=True)

    assert isinstance(delivery, Submitted)
    assert not delivery.is_final
    assert log.typed == 1


@pytest.mark.spec("B2")
async def test_words_that_were_delivered_are_not_delivered_again(subject: Subject) -> None:
    parcel = subject.parcel()
    await subject.runtime.deliver(parcel, FakeLog(), is_new=True)
    if subject.has_terminal:
        rests = lambda view: view.is_resting and view.box == ""  # noqa: E731
        await seen(subject.runtime, subject.session, rests)

    again = await subject.runtime.deliver(
        replace(parcel, step=Step.SUBMITTED), FakeLog(), is_new=False
    )

    assert again == LeftInput()


@pytest.mark.spec("B2")
async def test_words_stay_in_the_input_while_deliveries_are_held(subject: Subject) -> None:
    if not subject.has_terminal:
        pytest.skip("without a terminal there is no input that words could stand in")
    parcel = subject.parcel()

    held = await subject.runtime.deliver(parcel, FakeLog(is_holding=True), is_new=True)
    box = await subject.box()
    delivered = await subject.runtime.deliver(parcel, FakeLog(), is_new=False)

    assert (held, box) == (Blocked(is_typed=True), WORDS)
    assert isinstance(delivered, Submitted)


@pytest.mark.spec("B2")
async def test_words_whose_trace_is_lost_are_unknown(subject: Subject) -> None:
    if not subject.has_terminal:
        pytest.skip("a stream knows what was written to it")

    lost = subject.parcel(Step.PASTED)

    assert await subject.runtime.deliver(lost, FakeLog(), is_new=False) == Unknown()


@pytest.mark.spec("B4")
async def test_a_program_that_is_stopped_by_force_is_told_to_have_ended(
    subject: Subject,
) -> None:
    await subject.runtime.stop(subject.session, StopMethod.KILL)

    end = await ending(subject.runtime)

    assert end.session == subject.session


async def test_a_session_without_a_terminal_says_so(subject: Subject) -> None:
    if subject.has_terminal:
        assert await subject.runtime.terminal(subject.session).read() is not None
    else:
        with pytest.raises(NoTerminal):
            subject.runtime.terminal(subject.session)


async def test_an_interrupt_is_taken(subject: Subject) -> None:
    if subject.has_terminal and not isinstance(subject.runtime, FakeRuntime | RuntimeRouter):
        long = replace(subject.parcel(), words="sleep: 600")
        await subject.runtime.deliver(long, FakeLog(), is_new=True)
        await seen(subject.runtime, subject.session, lambda view: view.is_working)

    await subject.runtime.interrupt(subject.session)

    if subject.has_terminal:
        await seen(subject.runtime, subject.session, lambda view: view.is_resting)


Call = Callable[[Runtime, Parcel], Awaitable[object]]


async def _check(runtime: Runtime, parcel: Parcel) -> None:
    runtime.check(parcel.recipient, parcel.words)


async def _read(runtime: Runtime, parcel: Parcel) -> None:
    await runtime.terminal(parcel.recipient).read()


CALLS: dict[str, Call] = {
    "deliver": lambda runtime, parcel: runtime.deliver(parcel, FakeLog(), is_new=True),
    "interrupt": lambda runtime, parcel: runtime.interrupt(parcel.recipient),
    "ask": lambda runtime, parcel: runtime.stop(parcel.recipient, StopMethod.ASK),
    "terminate": lambda runtime, parcel: runtime.stop(parcel.recipient, StopMethod.TERMINATE),
    "terminal": _read,
    "check": _check,
}


async def test_nothing_can_be_asked_of_a_session_that_is_not_held(subject: Subject) -> None:
    await subject.runtime.release(subject.session)

    for call in CALLS.values():
        with pytest.raises(RuntimeFailed, match="is known for"):
            await call(subject.runtime, subject.parcel())
