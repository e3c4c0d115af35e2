from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from rookery.agents.demo import DEMO
from rookery.agents.gemini import screen as gemini
from rookery.model import facts
from rookery.model.errors import CommitFailed, ScreenUnread
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity, Status
from rookery.model.screens import Dialog, View
from rookery.ports.sightings import (
    Changed,
    Exited,
    FellQuiet,
    Reported,
    Skipped,
    Unsuspended,
    Vanished,
)
from rookery.store import turns
from rookery.tracking.screen_reader import UNSTARTED_TIMEOUT
from rookery.tracking.screen_watch import ERROR_BACKOFF_S, how_it_ended
from tests.support.daemon import House, World, running
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import FakeRuntime, Manner
from tests.support.waiting import kinds

S = SessionId("s")
DIALOG = Dialog("permission", "May it?")
TRUST = Dialog("permission", "Trust?")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.spec("B4")
@pytest.mark.parametrize(
    ("exited", "told"),
    [
        (Exited(S, 0, None, ()), "it exited with status 0"),
        (Exited(S, 3, None, ()), "it exited with status 3"),
        (Exited(S, None, 9, ()), "it was killed by SIGKILL"),
        (Exited(S, None, None, ()), "it ended, and how is unknown"),
        (Exited(S, None, 40, ()), "it was killed by signal 40"),
    ],
)
def test_how_it_ended_is_told_in_words(exited: Exited, told: str) -> None:
    assert how_it_ended(exited) == told


@pytest.mark.anyio
@pytest.mark.spec("A4", "A6", "B4")
@pytest.mark.parametrize(
    ("code", "number", "status", "reason"),
    [
        (0, None, Status.COMPLETED, "it exited with status 0"),
        (1, None, Status.FAILED, "it exited with status 1; its screen ended with:\nOh no"),
        (None, 11, Status.FAILED, "it was killed by SIGSEGV; its screen ended with:\nOh no"),
    ],
)
async def test_an_exit_is_noticed_with_its_code_or_signal(  # noqa: PLR0913 - a table
    database: ObservedDatabase,
    world: World,
    *,
    code: int | None,
    number: int | None,
    status: Status,
    reason: str,
) -> None:
    async with running(database, world) as context:
        session = await context.start()
        program = world.runtime.program(session)
        program.screen = ["Oh no", ""]

        world.runtime.exit(program, code=code, number=number)
        await context.rest()

        over = await context.session(session)
    assert (over.status, over.reason, over.ended_by) == (status, reason, "itself")
    assert world.runtime.released == [session]


@pytest.mark.anyio
@pytest.mark.spec("A4")
async def test_a_program_that_ends_well_before_it_is_up_has_failed(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(exits_with=0)
    async with running(database, world) as context:
        over = await context.session(await context.start())

    assert over.status is Status.FAILED
    assert over.reason == "it exited with status 0; its screen ended with:\ndemo starts"


@pytest.mark.anyio
@pytest.mark.spec("A5")
async def test_a_pane_that_is_gone_has_failed_once(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
        world.runtime.see_again(Vanished(session))
        world.runtime.see_again(Exited(session, 0, None, ()))
        await context.rest()

        over = await context.session(session)
    assert (over.status, over.reason) == (Status.FAILED, "its tmux pane is gone")
    assert (await database.read(kinds)).count("session-ended") == 1


@pytest.mark.anyio
async def test_a_sighting_of_nobody_stops_nothing(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
        world.runtime.see_again(Exited(SessionId("nobody"), 0, None, ()))
        world.runtime.see_again(Exited(session, 0, None, ()))
        await context.rest()

        assert (await context.session(session)).status is Status.COMPLETED


class Stumbling(ObservedDatabase):
    """A database whose disk is full for a while."""

    troubles = 0

    async def write(self, work):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - as it was
        if self.troubles:
            self.troubles -= 1
            raise CommitFailed
        return await super().write(work)


@pytest.mark.anyio
@pytest.mark.spec("A6", "K4")
async def test_an_end_that_could_not_be_written_down_is_seen_again(
    tmp_path: Path, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "rookery.tracking.screen_watch")
    async with (
        Stumbling(tmp_path / "db", world.clock) as database,
        running(database, world) as context,
    ):
        session = await context.start()
        database.troubles = 1
        world.runtime.exit(world.runtime.program(session), code=0)
        await context.rest()
        before = await context.session(session)

        await context.pass_time(ERROR_BACKOFF_S)

        assert before.status is Status.RUNNING
        assert (await context.session(session)).status is Status.COMPLETED


@pytest.mark.anyio
@pytest.mark.spec("K4")
async def test_a_quiet_that_could_not_be_written_down_is_seen_again(
    tmp_path: Path, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "rookery.tracking.screen_watch")
    world.agents.answers_at_once = False
    async with (
        Stumbling(tmp_path / "db", world.clock) as database,
        running(database, world) as context,
    ):
        session = await context.start("Think hard.")
        await context.pass_time(1.0)
        database.troubles = 1

        world.runtime.see_again(FellQuiet(session))
        await context.rest()

        assert (await context.session(session)).activity is Activity.IDLE


@pytest.mark.anyio
@pytest.mark.spec("K4")
async def test_a_screen_that_could_not_be_read_is_looked_at_again(
    database: ObservedDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Unsighted(FakeRuntime):
        troubles = 1

        async def view(self, session: SessionId) -> View:
            if self.troubles:
                self.troubles -= 1
                raise ScreenUnread
            return await super().view(session)

    caplog.set_level(logging.CRITICAL, "rookery.tracking.screen_watch")
    world = World(tmp_path, Unsighted)
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        session = await context.start("Think hard.")
        await context.pass_time(1.0)

        world.runtime.see_again(FellQuiet(session))
        await context.rest()

        assert (await context.session(session)).activity is Activity.IDLE


@pytest.mark.anyio
@pytest.mark.spec("B3")
async def test_what_was_skipped_is_said(database: ObservedDatabase, world: World) -> None:
    async with running(database, world) as context:
        world.runtime.see_again(Skipped(await context.start()))
        await context.rest()

    assert (await database.read(kinds))[-1] == "output-missed"


@pytest.mark.anyio
@pytest.mark.spec("B0")
async def test_that_a_suspended_program_was_continued_is_recorded(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        world.runtime.see_again(Unsuspended(await context.start()))
        await context.rest()

    assert (await database.read(kinds))[-1] == "program-continued"


@pytest.mark.anyio
async def test_the_screen_of_an_agent_that_tells_everything_itself_is_left_alone(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
        world.runtime.see_again(Changed(session))
        await context.rest()

    assert world.runtime.unattended == {session}


@pytest.mark.anyio
@pytest.mark.spec("A3", "C8")
async def test_what_an_agent_asks_before_it_is_up_is_for_a_person(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(comes_up=False)
    async with running(database, world) as context:
        session = await context.start("Build it.")
        program = world.runtime.program(session)
        program.dialog = "Do you trust this folder?"
        world.runtime.see_again(Changed(session))
        await context.rest()
        asking = await context.session(session)

        program.dialog = ""
        world.agents.hook(session, "SessionStart")
        await context.rest()

        up = await context.session(session)
    assert (asking.activity, asking.reason) == ("question", "Do you trust this folder?")
    assert asking.started_at is None
    assert up.started_at
    assert world.runtime.heard == [(session, "Build it.")]


@pytest.mark.anyio
@pytest.mark.spec("A3")
async def test_a_box_that_is_drawn_may_not_listen_yet(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(comes_up=False)
    async with running(database, world) as context:
        session = await context.start()
        world.runtime.program(session).manner = Manner()
        world.runtime.see_again(Changed(session))
        await context.rest()
        drawn = await context.session(session)

        world.runtime.see_again(FellQuiet(session))
        await context.rest()

        assert drawn.status is Status.STARTING
        assert (await context.session(session)).activity is Activity.IDLE


@pytest.mark.anyio
@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("is_working", "dialog", "activity"),
    [(False, "", "idle"), (True, "", "working"), (False, "May it?", "permission")],
)
async def test_an_agent_that_rests_in_mid_turn_was_interrupted_at_the_keyboard(
    database: ObservedDatabase, world: World, *, is_working: bool, dialog: str, activity: str
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        session = await context.start("Think hard.")
        program = world.runtime.program(session)
        program.is_working, program.dialog = is_working, dialog
        await context.pass_time(1.0)

        world.runtime.see_again(FellQuiet(session))
        await context.rest()

        (turn,) = await database.read(partial(turns.of_session, session=session, last=9))
        assert (await context.session(session)).activity == activity
    assert turn.how == ("interrupted" if activity == "idle" else "")


@pytest.mark.anyio
@pytest.mark.spec("E7")
async def test_a_paused_turn_is_not_ended_by_a_screen_that_rests(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        session = await context.start("Have it searched.")
        paused = facts.TurnPaused(session, "It is being searched.", subagents=1)
        await database.write(lambda db: context.journal.append(db, paused))
        await context.pass_time(1.0)

        world.runtime.see_again(FellQuiet(session))
        await context.rest()

        (turn,) = await database.read(partial(turns.of_session, session=session, last=9))
        assert (await context.session(session)).activity == "working"
    assert (turn.how, turn.ended_at) == ("", None)


@pytest.mark.anyio
@pytest.mark.spec("A2")
async def test_a_prompt_that_comes_in_the_very_moment_of_a_quiet_goes_on(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        session = await context.start("Think hard.")

        world.runtime.see_again(FellQuiet(session))
        await context.rest()

        assert (await context.session(session)).activity == "working"


async def shell_with_a_turn(context: House, words: str) -> SessionId:
    session = await context.start(agent="shell")
    await context.send(session, words)
    await context.rest()
    return session


@pytest.mark.anyio
@pytest.mark.spec("A3")
async def test_a_shell_is_up_once_it_shows_something(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(comes_up=False)
    async with running(database, world) as context:
        session = await context.start(agent="shell")
        program = world.runtime.program(session)
        program.screen = ["", "  "]
        world.runtime.see_again(Changed(session))
        await context.rest()
        blank = await context.session(session)

        program.screen = ["$"]
        world.runtime.see_again(Changed(session))
        await context.rest()

        assert blank.status is Status.STARTING
        assert (await context.session(session)).activity is Activity.IDLE


@pytest.mark.anyio
@pytest.mark.spec("A3")
async def test_a_shell_that_shows_nothing_is_up_once_it_is_quiet(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(comes_up=False)
    async with running(database, world) as context:
        session = await context.start(agent="shell")

        world.runtime.see_again(FellQuiet(session))
        await context.rest()

        assert (await context.session(session)).activity is Activity.IDLE


@pytest.mark.anyio
@pytest.mark.spec("F3")
async def test_what_a_shell_printed_until_it_fell_quiet_is_its_answer(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await shell_with_a_turn(context, "ls")
        working = await context.session(session)
        world.runtime.program(session).screen = ["$ ls", "a", "b", "$"]
        world.clock.advance(2)

        world.runtime.see_again(FellQuiet(session))
        await context.rest()

        (turn,) = await database.read(partial(turns.of_session, session=session, last=9))
        assert working.activity is Activity.WORKING
        assert (turn.prompt, turn.answer, turn.how) == ("ls", "a\nb", "finished")
        assert (await context.session(session)).activity is Activity.IDLE


@pytest.mark.anyio
async def test_a_shell_that_falls_quiet_when_nobody_asked_says_nothing(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start(agent="shell")
        before = await database.read(kinds)

        world.runtime.see_again(FellQuiet(session))
        await context.rest()

    assert await database.read(kinds) == before


@pytest.mark.anyio
@pytest.mark.spec("F3")
async def test_a_quiet_from_before_the_words_is_not_their_answer(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await shell_with_a_turn(context, "ls")

        world.runtime.see_again(FellQuiet(session))
        await context.rest()

        assert (await context.session(session)).activity is Activity.WORKING


@pytest.mark.anyio
@pytest.mark.spec("A6")
async def test_turns_that_a_runtime_reports_itself_need_no_hook(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
        told = (facts.TurnStarted(session, "Build it."), facts.TurnEnded(session, "Done."))

        world.runtime.see_again(Reported(session, told))
        await context.rest()

        (turn,) = await database.read(partial(turns.of_session, session=session, last=1))

    assert (turn.prompt, turn.answer, turn.how) == ("Build it.", "Done.", "finished")


@pytest.mark.anyio
@pytest.mark.spec("A6", "K4")
async def test_reported_facts_that_could_not_be_written_keep_their_order(
    tmp_path: Path, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "rookery.tracking.screen_watch")
    async with (
        Stumbling(tmp_path / "db", world.clock) as database,
        running(database, world) as context,
    ):
        session = await context.start()
        database.troubles = 1
        world.runtime.see_again(Reported(session, (facts.TurnStarted(session, "Build it."),)))
        world.runtime.see_again(Reported(session, (facts.TurnEnded(session, "Done."),)))
        await context.rest()

        await context.pass_time(ERROR_BACKOFF_S)

        (turn,) = await database.read(partial(turns.of_session, session=session, last=1))

    assert (turn.prompt, turn.answer, turn.how) == ("Build it.", "Done.", "finished")


#: An agent without hooks, whose conversation is read from its screen.
assert DEMO.screen
SPEAKING = {
    "demo": replace(DEMO, hooks=None, screen=replace(DEMO.screen, speech=gemini.SPEECH))
}
BOX = " >   Type your message"
OLD = [" > say: old", "", "✦ old", ""]
NEW = [" > say: new", "", "✦ new", ""]


@pytest.mark.anyio
@pytest.mark.spec("F3", "A10")
async def test_a_turn_is_not_over_while_the_screen_shows_only_what_was_said_before_it(
    database: ObservedDatabase, world: World
) -> None:
    """As after a resume: the old answer stands there while the agent still loads."""
    async with running(database, world, agents=SPEAKING) as context:
        session = await context.start("say: new")
        program = world.runtime.program(session)
        program.screen = [*OLD, BOX]
        world.clock.advance(2)
        world.runtime.report_changes = lambda *_, **__: None  # type: ignore[method-assign]
        world.runtime.see_again(FellQuiet(session))
        await context.rest()
        early = await context.session(session)

        program.screen = [*OLD, *NEW, BOX]
        world.runtime.see_again(FellQuiet(session))
        await context.rest()
        found = await database.read(partial(turns.of_session, session=session, last=9))

    assert early.activity is Activity.WORKING
    assert [(turn.prompt, turn.answer) for turn in found] == [("say: new", "new")]


@pytest.mark.anyio
@pytest.mark.spec("F3", "A10")
async def test_an_answer_from_before_a_turn_is_never_that_turns_answer(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world, agents=SPEAKING) as context:
        session = await context.start("say: new")
        world.runtime.program(session).screen = [*OLD, BOX]
        world.clock.advance(UNSTARTED_TIMEOUT.total_seconds() + 1)
        world.runtime.see_again(FellQuiet(session))
        await context.rest()
        found = await database.read(partial(turns.of_session, session=session, last=9))

    assert [(turn.how, turn.answer) for turn in found] == [("finished", "")]
