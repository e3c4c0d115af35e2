"""What every runtime returns for a program, and takes back after it was stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.agents.demo import DEMO
from rookery.model.errors import RuntimeFailed
from rookery.ports.deliveries import Submitted
from rookery.ports.runtime import RuntimeHandle, StopMethod
from tests.support.contract.runtimes import ending, seen
from tests.support.contract.subjects import EVERY_RUNTIME, Subject, new_session
from tests.support.fakes.delivery_log import FakeLog

pytestmark = pytest.mark.anyio


@pytest.fixture(params=EVERY_RUNTIME)
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    async with request.param(tmp_path) as subject:
        yield subject


@pytest.mark.spec("A7")
async def test_a_stored_handle_leads_the_next_daemon_to_the_same_program(
    subject: Subject,
) -> None:
    stored = subject.handle.text
    runtime = await subject.next_life()

    await runtime.adopt(subject.session, DEMO, RuntimeHandle.read(stored))
    if subject.has_terminal:
        await seen(runtime, subject.session, lambda view: view.is_resting)
    delivery = await runtime.deliver(subject.parcel(), FakeLog(), is_new=True)

    assert RuntimeHandle.read(stored) == subject.handle
    assert isinstance(delivery, Submitted)


async def test_a_handle_of_another_runtime_is_refused(subject: Subject) -> None:
    session = new_session()
    foreign = replace(subject.handle, runtime="elsewhere")

    with pytest.raises(RuntimeFailed, match="elsewhere"):
        await subject.runtime.adopt(session, DEMO, foreign)

    with pytest.raises(RuntimeFailed):
        await subject.runtime.interrupt(session)


@pytest.mark.spec("A7")
async def test_a_handle_whose_program_is_gone_is_refused(subject: Subject) -> None:
    await subject.runtime.stop(subject.session, StopMethod.KILL)
    await ending(subject.runtime)
    await subject.runtime.release(subject.session)
    runtime = await subject.next_life()

    with pytest.raises(RuntimeFailed):
        await runtime.adopt(subject.session, DEMO, subject.handle)


@pytest.mark.spec("K4")
async def test_a_handle_that_was_damaged_is_refused(subject: Subject) -> None:
    damaged = replace(subject.handle, reference="%7 and no more")

    with pytest.raises(RuntimeFailed):
        await subject.runtime.adopt(new_session(), DEMO, damaged)
