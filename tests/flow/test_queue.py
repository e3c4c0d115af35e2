"""A person changes the queue: withdraw, expire, and send before all that waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from sqlite3 import Connection

import anyio
import pytest

from rookery.agents.catalog import AGENTS
from rookery.agents.demo import DEMO
from rookery.delivery.interrupts import INTERRUPT_TIMEOUT_S, INTERRUPT_TRIES
from rookery.delivery.message_deadlines import MessageDeadlines
from rookery.model.messages import EXPIRY, Handling, MessageId, Urgency
from rookery.ports.agent import Agent
from rookery.store import messages
from rookery.supervise import DEADLINE_CHECK_S
from tests.support.daemon import House, World, running
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import Manner
from tests.support.waiting import kinds, steps

pytestmark = pytest.mark.anyio

STEER = Handling(urgency=Urgency.STEER)
INTERRUPT = Handling(urgency=Urgency.INTERRUPT)

#: The demo agent, if it took text during a turn.
STEERED: Mapping[str, Agent] = {
    **AGENTS,
    "demo": replace(DEMO, abilities=replace(DEMO.abilities, can_steer=True)),
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def withdrawn_by(db: Connection, message: MessageId) -> str:
    found = messages.get(db, message)
    assert found
    return found.withdrawn_by


@pytest.mark.spec("E6", "I5")
async def test_a_message_that_is_withdrawn_is_never_typed(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        worker = await context.start("One.")
        two = await context.send(worker, "Two.")
        await context.send(worker, "Three.")
        await context.rest()

        assert await context.withdraw(two)
        world.agents.hook(worker, "Stop")
        await context.rest()

    assert world.runtime.heard == [(worker, "One."), (worker, "Three.")]
    assert await database.read(lambda db: withdrawn_by(db, two)) == "person"


@pytest.mark.spec("E6")
async def test_a_message_is_either_withdrawn_or_sent(
    database: ObservedDatabase, world: World
) -> None:
    outcomes = set()
    async with running(database, world) as context:
        worker = await context.start()
        for moment in range(60):
            words = f"Number {moment}."
            message = await context.send(worker, words)
            for _ in range(moment):
                await anyio.lowlevel.checkpoint()
            is_withdrawn = await context.withdraw(message)
            await context.rest()

            assert is_withdrawn != ((worker, words) in world.runtime.heard)
            outcomes.add(is_withdrawn)

    assert outcomes == {True, False}, "one side has always won"


@pytest.mark.spec("E6")
async def test_the_prompt_of_a_session_that_starts_can_be_withdrawn(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(comes_up=False)
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        await context.withdraw(MessageId(1))
        world.agents.hook(worker, "SessionStart")
        world.runtime.program(worker).manner = Manner()
        await context.rest()
        session = await context.session(worker)
        await context.send(worker, "Test it.")
        await context.rest()

    assert (session.activity, session.first_prompt) == ("idle", "")
    assert world.runtime.heard == [(worker, "Test it.")]


async def expiring(context: House, database: ObservedDatabase, seconds: float) -> MessageId:
    worker = await context.start("One.")
    expires_at = context.world.clock.now() + timedelta(seconds=seconds)
    message = await context.send(worker, "Two.", Handling(expires_at=expires_at))
    await context.rest()
    return message


@pytest.mark.spec("E6", "I5")
async def test_a_message_that_was_not_sent_in_time_is_withdrawn(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        message = await expiring(context, database, 3.0)
        deadlines = MessageDeadlines(database, context.journal)
        async with context.beside(deadlines.keep):
            for _ in range(4):
                await context.pass_time(DEADLINE_CHECK_S)

    assert await database.read(steps) == ["acknowledged", "failed"]
    assert await database.read(lambda db: withdrawn_by(db, message)) == EXPIRY
    assert (await database.read(kinds)).count("message-withdrawn") == 1


@pytest.mark.spec("E6")
async def test_the_time_in_which_the_computer_sleeps_does_not_expire_a_message(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        await expiring(context, database, 60.0)
        deadlines = MessageDeadlines(database, context.journal)
        async with context.beside(deadlines.keep):
            await context.pass_time(DEADLINE_CHECK_S)
            await context.pass_time(3_600)
            asleep = await database.read(steps)
            for _ in range(60):
                await context.pass_time(DEADLINE_CHECK_S)

    assert asleep == ["acknowledged", "pending"]
    assert await database.read(steps) == ["acknowledged", "failed"]


@pytest.mark.spec("B0", "E6")
async def test_an_urgent_message_is_typed_into_the_turn_before_all_that_waits(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world, agents=STEERED) as context:
        worker = await context.start("One.")
        await context.send(worker, "Two.")
        await context.send(worker, "Now.", STEER)
        await context.rest()
        during = list(world.runtime.heard)
        world.agents.hook(worker, "Stop")
        await context.rest()

    assert during == [(worker, "One."), (worker, "Now.")]
    assert world.runtime.heard == [*during, (worker, "Two.")]


@pytest.mark.spec("B0")
async def test_an_urgent_message_waits_for_an_open_dialog(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world, agents=STEERED) as context:
        worker = await context.start("One.")
        world.agents.hook(worker, "PermissionRequest", tool_name="Bash", tool_input={})
        await context.rest()
        await context.send(worker, "Now.", STEER)
        await context.send(worker, "At once.", INTERRUPT)
        await context.rest()

    assert world.runtime.heard == [(worker, "One.")]
    assert world.runtime.pressed == []


@pytest.mark.spec("B0")
async def test_a_dialog_that_only_the_screen_shows_is_not_interrupted(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        worker = await context.start("One.")
        world.runtime.program(worker).dialog = "Do you want to proceed?"
        await context.send(worker, "Now.", INTERRUPT)
        await context.rest()

    assert world.runtime.pressed == []


@pytest.mark.spec("B0", "E6")
async def test_a_turn_is_interrupted_for_an_urgent_message(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        worker = await context.start("One.")
        await context.send(worker, "Two.")
        await context.send(worker, "Now.", INTERRUPT)
        await context.rest()
        during, pressed = list(world.runtime.heard), list(world.runtime.pressed)
        world.agents.hook(worker, "Interrupt")
        await context.rest()

    assert (during, pressed) == ([(worker, "One.")], [(worker, ("escape",))])
    assert world.runtime.heard == [(worker, "One."), (worker, "Now.")]


@pytest.mark.spec("B0")
async def test_a_turn_that_ignores_the_interrupt_is_interrupted_a_few_times(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        worker = await context.start("One.")
        await context.send(worker, "Now.", INTERRUPT)
        for _ in range(2 * INTERRUPT_TRIES):
            await context.pass_time(INTERRUPT_TIMEOUT_S)
        world.agents.hook(worker, "Stop")
        await context.rest()

    assert len(world.runtime.pressed) == INTERRUPT_TRIES
    assert world.runtime.heard == [(worker, "One."), (worker, "Now.")]
