from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import anyio
import pytest

from rookery.agents.catalog import AGENTS
from rookery.agents.demo import DEMO
from rookery.api.mcp.listing import note_listing
from rookery.delivery.dispatcher import (
    COMMAND_PROOF_SECONDS,
    PROMPT_PROOF_SECONDS,
    RETRY_SECONDS,
    TOOLS_TIMEOUT_S,
)
from rookery.model.errors import RuntimeFailed, SessionOver
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity
from rookery.model.messages import Parcel, clean
from rookery.model.obstacles import BlockedReason, Obstacle
from rookery.ports.agent import Agent
from rookery.ports.sightings import FellQuiet, Sighting
from rookery.runtimes.tmux.delivery_steps import DISCARDED_AFTER_S, LOST_AFTER_S
from rookery.sessions.commands import MessageSender, send
from rookery.sessions.launching import LaunchContext
from rookery.store.backlog import QueuedWords, kept_words
from rookery.supervise import ERROR_BACKOFF_S
from tests.support.daemon import World, running
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import FakeRuntime, Manner
from tests.support.waiting import kinds, steps, until, waits_for

pytestmark = pytest.mark.anyio


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.spec("E6")
async def test_words_wait_for_an_idle_session_and_go_as_one(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        worker = await context.start()
        world.agents.hook(worker, "UserPromptSubmit", prompt="Its person's own words")
        await context.rest()
        await context.send(worker, "One.")
        await context.send(worker, "Two.")
        await context.rest()
        before = list(world.runtime.pasted)

        world.agents.hook(worker, "Stop")
        await context.rest()

    assert before == []
    assert world.runtime.heard == [(worker, "One.\n\nTwo.")]


@pytest.mark.spec("E6")
async def test_the_prompt_of_a_start_is_joined_with_no_words_that_come_before_it_is_up(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(comes_up=False)
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        await context.send(worker, "And test it.")
        await context.rest()
        world.agents.hook(worker, "SessionStart")
        world.runtime.program(worker).manner = Manner()
        await context.rest()

    assert world.runtime.heard == [(worker, "Build it."), (worker, "And test it.")]


@pytest.mark.spec("E6")
async def test_words_said_meanwhile_wait_for_the_next_stop(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        worker = await context.start("One.")
        await context.send(worker, "Two.")
        await context.rest()
        before = list(world.runtime.heard)

        world.agents.hook(worker, "Stop")
        await context.rest()

    assert before == [(worker, "One.")]
    assert world.runtime.heard == [(worker, "One."), (worker, "Two.")]


async def test_sessions_are_served_side_by_side(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    stuck: list[SessionId] = []

    class Stuck(FakeRuntime):
        """A runtime that never comes back from some of its sessions."""

        async def paste(self, parcel: Parcel) -> None:
            if parcel.recipient in stuck:
                await anyio.sleep_forever()
            await super().paste(parcel)

    world = World(tmp_path, Stuck)
    async with running(database, world) as context:
        first, free = await context.start(), await context.start()
        stuck.append(first)

        await context.send(first, "Hello?")
        await context.send(free, "Hello.")
        await context.rest()

    assert world.runtime.heard == [(free, "Hello.")]


@pytest.mark.spec("B0")
async def test_words_never_mix_with_a_draft(database: ObservedDatabase, world: World) -> None:
    async with running(database, world) as context:
        worker = await context.start()
        world.runtime.program(worker).box = "half a thou"

        await context.send(worker, "Build it.")
        await context.rest()
        waiting, why = await database.read(steps), await database.read(waits_for)
        world.runtime.program(worker).box = ""
        await context.pass_time(RETRY_SECONDS)

    assert (waiting, why) == (
        ["pending"],
        ["Nothing was typed, because somebody's draft stands there."],
    )
    assert world.runtime.heard == [(worker, "Build it.")]
    assert await database.read(waits_for) == [""]


@pytest.mark.spec("B0")
async def test_words_never_answer_a_dialog(database: ObservedDatabase, world: World) -> None:
    async with running(database, world) as context:
        worker = await context.start()
        world.runtime.program(worker).dialog = "May it run rm?"

        await context.send(worker, "1")
        await context.rest()
        await context.pass_time(RETRY_SECONDS)
        before = list(world.runtime.pasted)
        world.runtime.program(worker).dialog = ""
        await context.pass_time(RETRY_SECONDS)

    assert before == []
    assert world.runtime.heard == [(worker, "1")]


@pytest.mark.spec("B0")
async def test_a_dialog_that_opens_between_paste_and_enter_gets_no_enter(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Asking(FakeRuntime):
        """A runtime whose program asks something as soon as words were pasted."""

        async def paste(self, parcel: Parcel) -> None:
            await super().paste(parcel)
            self.program(parcel.recipient).dialog = "May it run rm?"

    world = World(tmp_path, Asking)
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        await context.pass_time(RETRY_SECONDS)
        waiting = await database.read(steps)
        heard = list(world.runtime.heard)

        world.runtime.program(worker).dialog = ""
        await context.pass_time(RETRY_SECONDS)

    assert (waiting, heard) == (["pasted"], [])
    assert world.runtime.pasted == world.runtime.heard == [(worker, "Build it.")]
    assert (await database.read(kinds)).count("delivery-waited") == 1


async def test_a_draft_that_stands_for_a_minute_is_told_once(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        worker = await context.start()
        world.runtime.program(worker).box = "half a thou"
        await context.send(worker, "Build it.")
        await context.rest()

        for _ in range(60):
            await context.pass_time(RETRY_SECONDS)

    assert (await database.read(kinds)).count("delivery-waited") == 1


@pytest.mark.spec("B2")
async def test_an_enter_that_was_swallowed_is_pressed_again(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(swallows=1)
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        before = list(world.runtime.heard)

        await context.pass_time(PROMPT_PROOF_SECONDS)

    assert before == []
    assert world.runtime.pasted == world.runtime.heard == [(worker, "Build it.")]
    assert await database.read(steps) == ["acknowledged"]


#: An agent with an input box, whose hooks are not installed.
UNHOOKED = {"demo": replace(DEMO, hooks=None)}


@pytest.mark.spec("B2", "F3")
async def test_words_that_stand_in_the_box_after_enter_are_not_told_to_be_worked_on(
    database: ObservedDatabase, world: World
) -> None:
    """Without hooks, an agent that ignored the Enter while it was loading tells nothing."""
    world.runtime.manner = Manner(swallows=2)
    async with running(database, world, agents=UNHOOKED) as context:
        worker = await context.start("Build it.")
        heard = list(world.runtime.heard)
        known, why = await context.session(worker), await database.read(waits_for)

        for _ in range(2):
            await context.pass_time(RETRY_SECONDS)
        later = await context.session(worker)

    assert (heard, known.activity) == ([], Activity.IDLE)
    assert why == ["Enter was pressed, and its box still shows the text."]
    assert later.activity is Activity.WORKING
    assert world.runtime.pasted == world.runtime.heard == [(worker, "Build it.")]
    assert await database.read(steps) == ["acknowledged"]


@pytest.mark.spec("B2")
async def test_words_that_an_agent_without_hooks_ignores_fail_and_the_next_go_on(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(swallows=3)
    async with running(database, world, agents=UNHOOKED) as context:
        worker = await context.start("Build it.")
        await context.send(worker, "Go on.")
        for _ in range(4):
            await context.pass_time(RETRY_SECONDS)

    assert world.runtime.cleared == [(worker, "Build it.")]
    assert world.runtime.heard == [(worker, "Go on.")]
    assert await database.read(steps) == ["failed", "acknowledged"]


@pytest.mark.spec("B2", "K3")
async def test_words_that_left_the_box_before_a_crash_are_a_turn_after_it(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Mortal(FakeRuntime):
        async def has_left(self, parcel: Parcel, *, within: float) -> bool:
            died.set()
            await anyio.sleep_forever()
            return False

    died = anyio.Event()
    world = World(tmp_path, Mortal)
    async with running(database, world, agents=UNHOOKED) as context:
        worker = await context.accept(world.plan("Build it."))
        with anyio.fail_after(5):
            await died.wait()

    async with running(database, world, agents=UNHOOKED) as context:
        await context.rest()

    assert world.runtime.heard == [(worker, "Build it.")]
    assert (await database.read(kinds)).count("turn-started") == 1
    assert await database.read(steps) == ["acknowledged"]


@pytest.mark.spec("B2")
@pytest.mark.parametrize("agents", [AGENTS, UNHOOKED], ids=["hooked", "unhooked"])
async def test_words_that_a_loading_program_throws_away_are_typed_again_within_seconds(
    database: ObservedDatabase, world: World, agents: Mapping[str, Agent]
) -> None:
    world.runtime.manner = Manner(discards=1)
    async with running(database, world, agents=agents) as context:
        worker = await context.start("Build it.")
        before = list(world.runtime.pasted)
        for _ in range(2):
            await context.pass_time(DISCARDED_AFTER_S)

    assert before == [(worker, "Build it.")]
    assert world.runtime.pasted == [(worker, "Build it.")] * 2
    assert world.runtime.heard == [(worker, "Build it.")]
    assert await database.read(steps) == ["acknowledged"]


@pytest.mark.spec("B2")
async def test_words_that_are_always_thrown_away_fail_and_the_next_go_on(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(discards=2)
    async with running(database, world, agents=UNHOOKED) as context:
        worker = await context.start("Build it.")
        await context.send(worker, "Go on.")
        for _ in range(4):
            await context.pass_time(DISCARDED_AFTER_S)
        why = await database.read(waits_for)

    assert why[0] == "it was typed 2 times, and its box has not shown it."
    assert world.runtime.heard == [(worker, "Go on.")]
    assert await database.read(steps) == ["failed", "acknowledged"]


class WorldWithTools(World):
    """A world in which agents are given our tools."""

    @property
    def launch_context(self) -> LaunchContext:
        return replace(super().launch_context, tools=("rookery-mcp",))


@pytest.mark.spec("E1", "B2")
async def test_the_first_words_wait_until_an_agent_has_asked_for_its_tools(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    world = WorldWithTools(tmp_path)
    async with running(database, world) as context:
        worker = await context.start("Build it.", agent="claude")
        before, why = list(world.runtime.pasted), await database.read(waits_for)

        await note_listing(database, context.journal, worker)
        await context.rest()

    assert (before, why) == ([], ["its tools are not connected yet."])
    assert world.runtime.heard == [(worker, "Build it.")]


@pytest.mark.spec("B2")
async def test_words_do_not_wait_for_tools_for_ever(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    world = WorldWithTools(tmp_path)
    async with running(database, world) as context:
        worker = await context.start("Build it.", agent="claude")
    # A daemon died meanwhile: the time goes on from the agent's start.
    world.clock.advance(TOOLS_TIMEOUT_S - 1)
    async with running(database, world) as context:
        await context.rest()
        before = list(world.runtime.pasted)
        await context.pass_time(1)

    assert before == []
    assert world.runtime.heard == [(worker, "Build it.")]


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("kind", "agent"),
    [(World, "claude"), (WorldWithTools, "demo")],
    ids=["none", "its own way"],
)
async def test_an_agent_that_lists_no_tools_of_ours_gets_its_words_at_once(
    database: ObservedDatabase, tmp_path: Path, kind: type[World], agent: str
) -> None:
    world = kind(tmp_path)
    async with running(database, world) as context:
        worker = await context.start("Build it.", agent=agent)

    assert world.runtime.heard == [(worker, "Build it.")]


@pytest.mark.spec("A2", "B2")
async def test_words_behind_others_that_are_under_way_say_so(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(swallows=1)
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        await context.send(worker, "Test it.")
        await context.rest()
        kept = await database.read(kept_words)

    why = "words before them are on their way"
    blocked = Obstacle(BlockedReason.QUEUED, why)
    assert kept == {worker: QueuedWords(1, why, obstacle=why, blocked=blocked)}


@pytest.mark.spec("B2")
async def test_enter_is_pressed_at_most_three_times_and_the_next_words_go_on(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(swallows=3)
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        await context.send(worker, "Test it.")
        for _ in range(4):
            await context.pass_time(PROMPT_PROOF_SECONDS)
        reasons = await database.read(waits_for)

    assert world.runtime.cleared == [(worker, "Build it.")]
    assert world.runtime.heard == [(worker, "Test it.")]
    assert await database.read(steps) == ["failed", "acknowledged"]
    assert reasons == ["Enter was pressed 3 times, and it did not accept it.", ""]


@pytest.mark.spec("B2")
async def test_a_command_that_its_agent_refuses_fails_and_leaves_the_box(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(keeps="/nothing at all")
    async with running(database, world) as context:
        worker = await context.start("/nothing at all")
        await context.send(worker, "Build it.")
        await context.pass_time(COMMAND_PROOF_SECONDS)

        enters = world.runtime.program(worker).enters
        reasons = await database.read(waits_for)
        told = await database.read(kinds)

    assert enters == 1
    assert world.runtime.cleared == [(worker, "/nothing at all")]
    assert world.runtime.heard == [(worker, "Build it.")]
    assert await database.read(steps) == ["failed", "acknowledged"]
    assert reasons == ["it refused it: Unrecognized command.", ""]
    assert "command-taken" not in told


@pytest.mark.spec("B0", "B2")
async def test_refused_words_stay_while_a_dialog_is_open_and_are_taken_out_after_it(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Asking(FakeRuntime):
        """A runtime whose program asks something just when words are to be taken out."""

        async def clear(self, parcel: Parcel) -> bool:
            if not self.cleared and not self.asked:
                self.asked = True
                self.program(parcel.recipient).dialog = "May it run rm?"
            return await super().clear(parcel)

        asked = False

    world = World(tmp_path, Asking)
    world.runtime.manner = Manner(keeps="/nothing")
    async with running(database, world) as context:
        worker = await context.start("/nothing")
        await context.pass_time(COMMAND_PROOF_SECONDS)
        before, why = list(world.runtime.cleared), await database.read(waits_for)
        world.runtime.program(worker).dialog = ""
        await context.pass_time(RETRY_SECONDS)

    assert before == []
    assert "a dialog is open" in why[0]
    assert world.runtime.cleared == [(worker, "/nothing")]
    assert await database.read(steps) == ["failed"]


@pytest.mark.spec("B2", "K3")
@pytest.mark.parametrize("cleared_first", [True, False])
async def test_words_that_were_refused_before_a_crash_fail_after_it(
    database: ObservedDatabase, tmp_path: Path, *, cleared_first: bool
) -> None:
    class Mortal(FakeRuntime):
        """When it takes words out of a box for the first time, the daemon dies."""

        async def clear(self, parcel: Parcel) -> bool:
            if died.is_set():
                return await super().clear(parcel)
            if cleared_first:
                await super().clear(parcel)
            died.set()
            await anyio.sleep_forever()
            return False

    died = anyio.Event()
    world = World(tmp_path, Mortal)
    world.runtime.manner = Manner(keeps="/nothing")
    async with running(database, world) as context:
        worker = await context.start("/nothing")
        await context.pass_time(COMMAND_PROOF_SECONDS)
        with anyio.fail_after(5):
            await died.wait()

    async with running(database, world) as context:
        await context.rest()
        await context.send(worker, "Build it.")
        await context.rest()

    assert await database.read(steps) == ["failed", "acknowledged"]
    assert await database.read(waits_for) == ["it refused it: Unrecognized command.", ""]
    assert world.runtime.cleared == [(worker, "/nothing")]
    assert world.runtime.heard == [(worker, "Build it.")]


@pytest.mark.spec("B2")
async def test_words_that_come_back_into_the_box_give_way_to_the_next(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        # As Claude does with a prompt that is interrupted before its first output.
        world.runtime.program(worker).box = "Build it."

        await context.send(worker, "Test it.")
        await context.rest()

    assert world.runtime.cleared == [(worker, "Build it.")]
    assert world.runtime.heard == [(worker, "Build it."), (worker, "Test it.")]
    assert await database.read(steps) == ["acknowledged", "acknowledged"]


@pytest.mark.spec("B0", "B2")
async def test_words_that_came_back_and_were_changed_are_somebodys_draft(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        world.runtime.program(worker).box = "Build it. No, wait"

        await context.send(worker, "Test it.")
        await context.rest()

    assert world.runtime.cleared == []
    assert await database.read(steps) == ["acknowledged", "pending"]


@pytest.mark.spec("B2", "I2")
async def test_a_command_that_an_agent_makes_no_turn_of_has_arrived_once_it_left_the_box(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.tells_of_prompts = False
    async with running(database, world) as context:
        await context.start("/compact now")
        for _ in range(2):
            await context.pass_time(COMMAND_PROOF_SECONDS)
        told = await database.read(kinds)

    assert await database.read(steps) == ["acknowledged"]
    assert told[-1] == "command-taken"


@pytest.mark.spec("B2", "E6")
async def test_words_that_nobody_saw_arrive_are_unsure_until_they_are_proved(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.tells_of_prompts = False
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        for _ in range(2):
            await context.pass_time(PROMPT_PROOF_SECONDS)
        doubted, told = await database.read(steps), await database.read(kinds)

        world.agents.hook(worker, "UserPromptSubmit", prompt="Build  it.\n")
        await context.rest()

    assert doubted == ["unsure"]
    assert told[-1] == "delivery-doubted"
    assert await database.read(steps) == ["acknowledged"]
    assert world.runtime.pasted == [(worker, "Build it.")]


@pytest.mark.spec("B2", "K3")
@pytest.mark.parametrize("pasted_first", [True, False])
async def test_after_a_failure_the_runtime_is_looked_at_and_nothing_is_pasted_twice(
    database: ObservedDatabase, tmp_path: Path, *, pasted_first: bool
) -> None:
    class Failing(FakeRuntime):
        """A runtime that cannot say whether it pasted."""

        troubles = 1

        async def paste(self, parcel: Parcel) -> None:
            if pasted_first or not self.troubles:
                await super().paste(parcel)
            if self.troubles:
                self.troubles -= 1
                raise RuntimeFailed

    world = World(tmp_path, Failing)
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        await context.pass_time(RETRY_SECONDS)

    assert await database.read(steps) == ["acknowledged"]
    assert world.runtime.pasted == world.runtime.heard == [(worker, "Build it.")]


class Slow(FakeRuntime):
    """A runtime whose programs show nothing of what was pasted until they are told to."""

    async def paste(self, parcel: Parcel) -> None:
        await super().paste(parcel)
        self.program(parcel.recipient).box = ""


@pytest.mark.spec("B2")
async def test_words_that_a_busy_program_does_not_show_yet_get_no_enter(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    world = World(tmp_path, Slow)
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        await context.pass_time(RETRY_SECONDS)
        before, why = list(world.runtime.heard), await database.read(waits_for)

        world.runtime.program(worker).box = "Build it."
        await context.pass_time(RETRY_SECONDS)

    assert (before, why) == ([], ["its box does not show the text yet."])
    assert world.runtime.pasted == world.runtime.heard == [(worker, "Build it.")]


@pytest.mark.spec("B2")
async def test_words_that_never_show_are_unsure_and_not_pasted_again(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    world = World(tmp_path, Slow)
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        for _ in range(12):
            await context.pass_time(RETRY_SECONDS)
        patient = await database.read(steps)
        await context.pass_time(LOST_AFTER_S)
        await context.pass_time(RETRY_SECONDS)

    assert patient == ["pasted"]
    assert await database.read(steps) == ["unsure"]
    assert world.runtime.pasted == [(worker, "Build it.")]
    assert world.runtime.heard == []


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("words", "step"), [("Build it.", "unsure"), ("/model", "acknowledged")]
)
async def test_words_that_a_person_takes_out_of_the_box_do_not_hold_up_the_next(
    database: ObservedDatabase, tmp_path: Path, words: str, step: str
) -> None:
    world = World(tmp_path, Slow)
    async with running(database, world) as context:
        worker = await context.start(words)
        program = world.runtime.program(worker)
        program.box = f"{words} and what a person adds"
        await context.pass_time(RETRY_SECONDS)
        await context.pass_time(RETRY_SECONDS)
        waiting = await database.read(steps)

        program.box = ""  # submitted or cleared by hand
        await context.send(worker, "Go on.")
        for _ in range(4):
            await context.pass_time(PROMPT_PROOF_SECONDS)

    assert waiting == ["pasted"]
    assert (await database.read(steps))[0] == step
    assert world.runtime.pasted == [(worker, words), (worker, "Go on.")]


@pytest.mark.spec("B2", "K4")
async def test_words_whose_trace_was_lost_are_unsure_and_keep_nobody_busy(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(swallows=1)
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        program = world.runtime.program(worker)
        program.box = program.pasted = ""  # somebody cleared the box, and more was typed

        for _ in range(3):
            await context.pass_time(PROMPT_PROOF_SECONDS)

    assert await database.read(steps) == ["unsure"]
    assert world.runtime.pasted == [(worker, "Build it.")]


@pytest.mark.spec("E6")
async def test_words_for_one_who_is_over_fail_or_are_refused(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        worker = await context.start()
        world.agents.hook(worker, "UserPromptSubmit", prompt="Its person's own words")
        await context.rest()
        await context.send(worker, "Too late.")

        world.runtime.exit(world.runtime.program(worker), code=0)
        await context.rest()

        assert await database.read(steps) == ["failed"]
        with pytest.raises(SessionOver):
            await context.send(worker, "Far too late.")
    assert world.runtime.pasted == []


@pytest.mark.spec("B2")
async def test_words_that_would_not_arrive_as_they_are_fail_and_say_why(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(refuses="one line at a time.")
    async with running(database, world) as context:
        worker = await context.start()
        await context.send(worker, "One\nTwo")
        await context.rest()

        assert (await context.session(worker)).activity is Activity.IDLE
    assert await database.read(steps) == ["failed"]
    assert "one line at a time" in (await database.read(waits_for))[0]
    assert world.runtime.pasted == []


def is_decided(db: Connection) -> bool:
    """Whether the only words were typed, or refused."""
    return not {"pending", "sending"}.intersection(steps(db))


@pytest.mark.spec("K5")
@pytest.mark.parametrize("is_defined", [True, False])
async def test_a_command_that_the_project_defines_meanwhile_is_not_typed(
    database: ObservedDatabase, world: World, *, is_defined: bool
) -> None:
    commands = world.project / ".claude" / "commands"
    commands.mkdir(parents=True)
    async with running(database, world) as context:
        worker = await context.start(agent="claude")
        world.agents.hook(worker, "UserPromptSubmit", prompt="Its person's own words")
        await context.rest()
        session = MessageSender(f"session {worker}", worker, is_command=True)
        give = partial(send, journal=context.journal, speaker=session, recipient=worker)
        await database.write(partial(give, words=clean("/review")))
        if is_defined:
            (commands / "review.md").write_text("!`touch x`")

        world.agents.hook(worker, "Stop")
        await context.rest()
        await context.pass_time(TOOLS_TIMEOUT_S)
        await until(database, is_decided)

    assert world.runtime.pasted == ([] if is_defined else [(worker, "/review")])
    said = (await database.read(waits_for))[0]
    assert ("review.md of its project" in said) is is_defined


@pytest.mark.spec("B2")
async def test_where_an_agent_tells_nothing_the_enter_is_the_proof(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        worker = await context.start(agent="shell")
        await context.send(worker, "ls")
        await context.rest()
        first = await database.read(steps)
        await context.send(worker, "pwd")
        await context.rest()
        waiting = await database.read(steps)

        world.clock.advance(2)
        world.runtime.see_again(FellQuiet(worker))
        await context.rest()

    assert (first, waiting) == (["acknowledged"], ["acknowledged", "pending"])
    assert world.runtime.heard == [(worker, "ls"), (worker, "pwd")]


@pytest.mark.spec("B2", "F3")
async def test_each_line_for_a_plain_program_is_a_turn_of_its_own(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        worker = await context.start(agent="shell")
        for words in ("ls", "pwd", "id"):
            await context.send(worker, words)
            await context.rest()
        for _ in range(2):
            world.clock.advance(2)
            world.runtime.see_again(FellQuiet(worker))
            await context.rest()

    assert world.runtime.heard == [(worker, "ls"), (worker, "pwd"), (worker, "id")]


@pytest.mark.spec("F3", "K3")
async def test_a_turn_whose_quiet_came_before_its_beginning_was_known_is_looked_at_again(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Mortal(FakeRuntime):
        """After its first Enter the daemon dies."""

        async def submit(self, parcel: Parcel) -> None:
            await super().submit(parcel)
            died.set()
            await anyio.sleep_forever()

        def see_again(self, sighting: Sighting) -> None:
            looked.append(sighting)
            super().see_again(sighting)

    died = anyio.Event()
    looked: list[Sighting] = []
    world = World(tmp_path, Mortal)
    async with running(database, world) as context:
        worker = await context.start(agent="shell")
        await context.send(worker, "ls")
        with anyio.fail_after(5):
            await died.wait()

    before = list(looked)
    async with running(database, world) as context:
        await context.rest()

    assert FellQuiet(worker) not in before
    assert FellQuiet(worker) in looked
    assert (await database.read(kinds)).count("turn-started") == 1


@pytest.mark.spec("B2")
async def test_an_agents_own_pause_comes_between_paste_and_enter(
    database: ObservedDatabase, world: World
) -> None:
    slow = replace(DEMO, input=replace(DEMO.input, pause=0.5))
    async with running(database, world, agents={"demo": slow}) as context:
        worker = await context.start("Build it.")
        before = (list(world.runtime.pasted), list(world.runtime.heard))

        await context.pass_time(0.5)

    assert before == ([(worker, "Build it.")], [])
    assert world.runtime.heard == [(worker, "Build it.")]


@pytest.mark.spec("K4")
async def test_trouble_with_one_recipient_is_logged_and_tried_again(
    database: ObservedDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Clumsy(FakeRuntime):
        troubles = 1

        async def paste(self, parcel: Parcel) -> None:
            if self.troubles:
                self.troubles -= 1
                raise ZeroDivisionError
            await super().paste(parcel)

    caplog.set_level(logging.WARNING)
    world = World(tmp_path, Clumsy)
    async with running(database, world) as context:
        worker = await context.start("Build it.")
        other = await context.start("Test it.")
        before = list(world.runtime.heard)
        await context.pass_time(ERROR_BACKOFF_S[0])

    assert before == [(other, "Test it.")]
    assert await database.read(steps) == ["acknowledged", "acknowledged"]
    assert f"Delivering messages for session {worker} failed" in caplog.text
