from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import anyio
import pytest

from rookery.model.errors import RuntimeFailed, ScreenUnread
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity, Status
from rookery.model.names import checked
from rookery.model.sessions import Session, program_name
from rookery.ports.agent import Agent
from rookery.ports.runtime import HeldProgram, Launch, RuntimeHandle, SurvivingProcess
from rookery.processes import Process
from rookery.sessions import commands, starts
from rookery.sessions.commands import MessageSender
from rookery.sessions.supervisor import KILL_TIMEOUT_SECONDS, RETRY_SECONDS
from rookery.store import observed_panes, sessions, tokens
from rookery.store.journal import Journal
from rookery.supervise import ERROR_BACKOFF_S
from tests.support.daemon import DEADLINES, World, passing_time, running
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import FakeRuntime, Manner, Program
from tests.support.waiting import kinds

pytestmark = pytest.mark.anyio


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def everyone(db: Connection) -> list[Session]:
    rows = db.execute("select * from sessions order by created_at, id")
    return [sessions.read_session(row) for row in rows]


def has_runtime(db: Connection, session: SessionId) -> bool:
    return sessions.has_runtime(db, session)


@pytest.mark.spec("A3", "K5")
async def test_a_program_gets_its_arguments_its_badge_and_nothing_else_on_its_line(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()

    (launch,) = world.runtime.started
    settings = world.sessions / session / "settings.json"
    assert launch.argv == ("/bin/sh", "--session-id", session, "--settings", str(settings))
    assert launch.folder == world.project
    assert (launch.environment["AGENT"], launch.environment["ROOKERY_SESSION"]) == (
        "demo",
        session,
    )
    assert launch.environment["ROOKERY_BADGE"] not in " ".join(launch.argv)


@pytest.mark.spec("C1")
async def test_a_program_gets_what_its_command_line_adds_to_its_environment(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start(agent="opencode")

    (launch,) = world.runtime.started
    plugin = world.sessions / session / "rookery.js"
    settings = json.loads(launch.environment["OPENCODE_CONFIG_CONTENT"])
    assert settings == {"plugin": [plugin.as_uri()]}
    assert (launch.environment["AGENT"], launch.environment["ROOKERY_SESSION"]) == (
        "opencode",
        session,
    )


@pytest.mark.spec("C1", "K5")
async def test_what_is_written_for_a_program_is_for_its_owner_alone(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()

    folder = world.sessions / session
    settings = folder / "settings.json"
    hooks = json.loads(settings.read_text())["hooks"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    assert hooks["Stop"][0]["hooks"][0]["command"] == "python hook.py demo"


@pytest.mark.spec("A3")
async def test_a_session_runs_once_its_agent_is_really_up(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(comes_up=False)
    async with running(database, world) as context:
        session = await context.start()
        await context.pass_time(DEADLINES.start - 1)
        before = await context.session(session)

        world.agents.hook(session, "SessionStart")
        await context.rest()
        await context.pass_time(DEADLINES.start)

        after = await context.session(session)
    address = world.runtime.program(session).address
    assert before.status is Status.STARTING
    assert after.activity is Activity.IDLE
    assert (after.tmux_session, after.tmux_pane) == (address.tmux_session, address.tmux_pane)


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    "error", [ValueError("'\\t' cannot be told to tmux"), ZeroDivisionError("a fault of ours")]
)
async def test_a_session_whose_start_raises_has_failed_by_the_deadline_with_the_reason(
    database: ObservedDatabase, world: World, error: Exception
) -> None:
    def fail(session: SessionId, program: Program) -> None:
        del world.runtime.programs[program.address.tmux_session]
        raise error

    world.runtime.on_start = fail
    async with running(database, world) as context:
        session = await context.start()
        for _ in range(10):
            await context.pass_time(DEADLINES.start / 5)

        over = await context.session(session)
    assert over.status is Status.FAILED
    assert str(error) in (over.reason or "")


@pytest.mark.spec("A3", "A5")
async def test_a_program_that_does_not_come_up_in_time_has_failed_and_leaves_nothing(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(comes_up=False)
    async with running(database, world) as context:
        session = await context.start("Build it.")
        world.runtime.program(session).screen = ["Log in first:", "> "]

        await context.pass_time(DEADLINES.start)

        over = await context.session(session)
        assert not await database.read(lambda db: has_runtime(db, session))
    assert over.status is Status.FAILED
    assert over.reason == "it did not come up within 60 s; its screen shows:\nLog in first:\n>"
    assert world.runtime.released == [session]
    assert world.runtime.programs == {}


@pytest.mark.spec("A3")
async def test_a_program_that_comes_up_in_the_very_last_moment_is_up(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Late(FakeRuntime):
        async def read(self, session: SessionId, *, history: bool = False) -> tuple[str, ...]:
            there.agents.hook(session, "SessionStart")
            await database.rest()
            return await super().read(session, history=history)

    there = World(tmp_path, Late)
    there.runtime.manner = Manner(comes_up=False)
    async with running(database, there) as context:
        session = await context.start()

        await context.pass_time(DEADLINES.start)
        await context.rest()

        assert (await context.session(session)).status is Status.RUNNING


@pytest.mark.spec("A3", "A5")
async def test_a_program_that_cannot_be_started_has_failed_and_says_why(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Refusing(FakeRuntime):
        async def start(self, launch: Launch) -> HeldProgram:
            raise RuntimeFailed("the pane was closed at once.")

    world = World(tmp_path, Refusing)
    async with running(database, world) as context:
        session = await context.start()

        over = await context.session(session)
    assert over.status is Status.FAILED
    assert over.reason.startswith("it could not be started.")
    assert "closed at once" in over.reason


@pytest.mark.spec("K4")
async def test_trouble_with_one_session_is_logged_and_tried_again(
    database: ObservedDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Clumsy(FakeRuntime):
        troubles = 1

        async def start(self, launch: Launch) -> HeldProgram:
            if self.troubles:
                self.troubles -= 1
                raise ZeroDivisionError
            return await super().start(launch)

    world = World(tmp_path, Clumsy)
    async with running(database, world) as context:
        session, other = await context.start(), await context.start()
        before = await context.session(session)

        await context.pass_time(ERROR_BACKOFF_S[0])

        assert before.status is Status.STARTING
        assert (await context.session(other)).status is Status.RUNNING
        assert (await context.session(session)).status is Status.RUNNING
    assert f"Starting and ending for session {session} failed" in caplog.text


@pytest.mark.spec("A3", "K4")
async def test_the_folder_of_sessions_is_made_again_if_it_was_deleted(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        shutil.rmtree(world.sessions)
        session = await context.start()

        assert (await context.session(session)).status is Status.RUNNING


@pytest.mark.spec("A3", "K4")
async def test_a_session_whose_files_cannot_be_written_has_failed_in_time(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        shutil.rmtree(world.sessions)
        world.sessions.touch()
        session = await context.start()

        for _ in range(10):
            await context.pass_time(ERROR_BACKOFF_S[1])

        assert (await context.session(session)).status is Status.FAILED


@pytest.mark.spec("A4")
@pytest.mark.parametrize(
    ("ignores", "steps"),
    [
        ((), ["quit"]),
        (("quit",), ["quit", "SIGTERM"]),
        (("quit", "SIGTERM"), ["quit", "SIGTERM", "SIGKILL"]),
        (("quit", "SIGTERM", "SIGKILL"), ["quit", "SIGTERM", "SIGKILL"]),
    ],
)
async def test_a_session_is_asked_to_end_then_told_then_made_to(
    database: ObservedDatabase, world: World, ignores: tuple[str, ...], steps: list[str]
) -> None:
    world.runtime.manner = Manner(ignores=frozenset(ignores))
    async with running(database, world) as context:
        session = await context.start()
        await context.end(session)
        await context.rest()
        for wait in (DEADLINES.quit, DEADLINES.terminate, KILL_TIMEOUT_SECONDS)[: len(ignores)]:
            assert (await context.session(session)).status is Status.CLOSING
            await context.pass_time(wait)

        over = await context.session(session)
    assert [how for _, how in world.runtime.asked_to_leave] == steps
    assert (over.status, over.ended_by) == (Status.KILLED, "person")
    assert over.reason == "asked to end by person"
    assert world.runtime.released == [session]
    assert world.runtime.programs == {}


@pytest.mark.spec("A4", "B0")
async def test_who_cannot_be_asked_is_told_at_once(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
        world.runtime.program(session).dialog = "May it run rm?"

        await context.end(session)
        await context.rest()

        assert (await context.session(session)).status is Status.KILLED
    assert [how for _, how in world.runtime.asked_to_leave] == ["SIGTERM"]


@pytest.mark.spec("A4")
async def test_a_shell_leaves_as_if_its_terminal_was_closed(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start(agent="shell")

        await context.end(session)
        await context.rest()

    assert [how for _, how in world.runtime.asked_to_leave] == ["SIGHUP"]


@pytest.mark.spec("A4")
async def test_when_asking_fails_it_is_told(database: ObservedDatabase, tmp_path: Path) -> None:
    class Deaf(FakeRuntime):
        async def quit(self, session: SessionId) -> None:
            raise RuntimeFailed("tmux did not answer within 5 s.")

    world = World(tmp_path, Deaf)
    async with running(database, world) as context:
        session = await context.start()

        await context.end(session)
        await context.rest()

    assert [how for _, how in world.runtime.asked_to_leave] == ["SIGTERM"]


@pytest.mark.spec("A4")
async def test_a_session_that_is_ended_while_it_starts_never_runs(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(comes_up=False)
    async with running(database, world) as context:
        session = await context.start("Build it.")

        await context.end(session)
        await context.rest()

        assert (await context.session(session)).status is Status.KILLED
    assert "session-started" not in await database.read(kinds)
    assert world.runtime.programs == {}


@pytest.mark.spec("A4", "A7")
async def test_a_session_that_is_ended_before_it_was_started_is_never_started(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        plan = world.plan()

        def accept_and_end(db: Connection) -> SessionId:
            session = starts.accept(db, context.journal, plan, speaker=MessageSender("person"))
            commands.end(db, context.journal, session.id, by="person")
            return session.id

        session = await database.write(accept_and_end)
        await context.rest()

        assert (await context.session(session)).status is Status.KILLED
    assert world.runtime.started == []
    assert world.runtime.released == []


@pytest.mark.spec("A4")
async def test_the_last_screen_is_kept_for_the_owner_alone(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
        program = world.runtime.program(session)
        program.screen = ["❯ Build it.  ", "", "Built. \udcff", "", ""]
        world.runtime.exit(program, code=0)
        await context.rest()

    (artifact,) = world.artifacts.iterdir()
    assert artifact.name == f"{session}.txt"
    assert artifact.read_text(encoding="utf-8") == "❯ Build it.\n\nBuilt. ?\n"
    assert stat.S_IMODE(artifact.stat().st_mode) == 0o600


@pytest.mark.spec("A4", "K4")
async def test_what_could_not_be_let_go_of_is_let_go_of_later(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Reluctant(FakeRuntime):
        troubles = 2

        async def release(self, session: SessionId) -> None:
            if self.troubles:
                self.troubles -= 1
                raise RuntimeFailed
            await super().release(session)

    world = World(tmp_path, Reluctant)
    async with running(database, world) as context:
        session = await context.start()
        world.runtime.exit(world.runtime.program(session), code=0)
        await context.rest()
        for _ in range(3):
            await context.pass_time(RETRY_SECONDS)

        assert not await database.read(lambda db: has_runtime(db, session))
    assert world.runtime.released == [session]


@pytest.mark.spec("A3", "K3")
async def test_a_program_that_was_starting_when_the_daemon_died_keeps_its_badge(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(comes_up=False)
    async with running(database, world) as context:
        session = await context.start()
    (launch,) = world.runtime.started
    badge = tokens.digest(launch.environment["ROOKERY_BADGE"])

    async with running(database, world) as context:
        await context.rest()
        found = await database.read(partial(tokens.find, token_digest=badge))

    assert world.runtime.started == [launch]
    assert found is not None
    assert found.session == session


@pytest.mark.spec("A7")
async def test_what_still_runs_after_a_restart_is_adopted_and_goes_on(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()

    async with running(database, world) as context:
        await context.send(session, "Go on.")
        await context.rest()
        recovered = await context.session(session)

    assert recovered.activity is Activity.IDLE
    assert (await database.read(kinds)).count("session-recovered") == 1
    assert world.runtime.adopted == [session]
    assert world.runtime.heard == [(session, "Go on.")]
    assert len(world.runtime.started) == 1


@pytest.mark.spec("A7", "C3")
async def test_hooks_that_were_spooled_meanwhile_come_first(
    database: ObservedDatabase, world: World
) -> None:
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        session = await context.start("Build it.")
    world.agents.hook(session, "Stop", last_assistant_message="Built.")

    async with running(database, world) as context:
        assert (await context.session(session)).activity is Activity.IDLE

    assert (await database.read(kinds))[-2:] == ["turn-ended", "session-recovered"]


@pytest.mark.spec("A7")
async def test_what_is_gone_after_a_restart_was_lost(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
    world.runtime.programs.clear()

    async with passing_time(database, world.clock), running(database, world) as context:
        await context.rest()
        lost = await context.session(session)

    assert (lost.status, lost.reason) == (Status.FAILED, "lost while the daemon was away")


@pytest.mark.spec("A1", "K3")
async def test_a_new_session_is_searched_for_only_if_it_may_have_been_started(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Counting(FakeRuntime):
        searches = 0

        async def find(self) -> Mapping[str, HeldProgram]:
            Counting.searches += 1
            return await super().find()

    world = World(tmp_path, Counting)
    async with running(database, world) as context:
        before = Counting.searches
        await context.start()

    assert Counting.searches == before


@pytest.mark.spec("A3", "A5", "K4")
async def test_a_start_fails_at_its_deadline_although_its_screen_cannot_be_read(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Unreadable(FakeRuntime):
        async def read(self, session: SessionId, *, history: bool = False) -> tuple[str, ...]:
            raise ScreenUnread

    world = World(tmp_path, Unreadable)
    world.runtime.manner = Manner(comes_up=False)
    async with running(database, world) as context:
        session = await context.start("Build it.")
        await context.pass_time(DEADLINES.start)

        over = await context.session(session)
    assert (over.status, over.reason) == (Status.FAILED, "it did not come up within 60 s")


@pytest.mark.spec("A7")
async def test_it_takes_two_looks_to_call_a_session_lost(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Shortsighted(FakeRuntime):
        is_blind = False

        async def find(self) -> Mapping[str, HeldProgram]:
            found = await super().find()
            if self.is_blind:
                self.is_blind = False
                return {}
            return found

    world = World(tmp_path, Shortsighted)
    async with running(database, world) as context:
        session = await context.start()
    Shortsighted.is_blind = True

    async with passing_time(database, world.clock), running(database, world) as context:
        assert (await context.session(session)).status is Status.RUNNING


@pytest.mark.spec("A7", "K4")
async def test_a_look_that_fails_is_no_death(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Hiccuping(FakeRuntime):
        troubles = 0

        async def find(self) -> Mapping[str, HeldProgram]:
            if Hiccuping.troubles:
                Hiccuping.troubles -= 1
                raise RuntimeFailed
            return await super().find()

    world = World(tmp_path, Hiccuping)
    async with running(database, world) as context:
        session = await context.start()
    Hiccuping.troubles = 1

    world.runtime.begin_life()
    async with passing_time(database, world.clock):
        await context.recovery.recover()

    assert (await database.read(everyone))[0].id == session
    assert (await database.read(everyone))[0].status is Status.RUNNING


@pytest.mark.spec("A7", "K4")
async def test_one_that_goes_while_it_is_adopted_does_not_stop_the_others(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Fading(FakeRuntime):
        async def adopt(
            self,
            session: SessionId,
            agent: Agent,
            program: RuntimeHandle | SurvivingProcess,
        ) -> None:
            if session == first:
                self.programs.pop(program_name(session), None)
            await super().adopt(session, agent, program)

    world = World(tmp_path, Fading)
    async with running(database, world) as context:
        first, second = await context.start(), await context.start()

    world.runtime.begin_life()
    async with passing_time(database, world.clock):
        await context.recovery.recover()

    assert second in world.runtime.adopted


@pytest.mark.spec("A6", "A7")
async def test_what_ended_while_the_daemon_was_away_is_told_with_its_code(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
    world.runtime.begin_life()
    world.runtime.exit(world.runtime.program(session), code=3)

    async with running(database, world) as context:
        await context.rest()
        over = await context.session(session)

    assert (over.status, over.reason) == (
        Status.FAILED,
        "it exited with status 3; its screen ended with:\ndemo starts",
    )
    assert world.runtime.released == [session]


@pytest.mark.spec("A7")
async def test_a_start_that_was_accepted_before_a_long_absence_is_carried_out(
    database: ObservedDatabase, world: World
) -> None:
    journal = Journal("here", world.clock, {})
    accept = partial(
        starts.accept,
        journal=journal,
        plan=world.plan("Go."),
        speaker=MessageSender("person"),
    )
    session = await database.write(accept)
    world.clock.advance(3600)

    async with passing_time(database, world.clock), running(database, world) as context:
        await context.rest()
        up = await context.session(session.id)

    assert up.status is Status.RUNNING
    assert world.runtime.heard == [(session.id, "Go.")]


@pytest.mark.spec("A7")
async def test_an_end_that_a_crash_cut_off_is_finished(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.manner = Manner(ignores=frozenset({"quit"}))
    async with running(database, world) as context:
        session = await context.start()
        await context.end(session)
        await context.rest()

    async with running(database, world) as context:
        await context.rest()
        await context.pass_time(DEADLINES.quit)
        over = await context.session(session)

    assert (over.status, over.ended_by) == (Status.KILLED, "person")
    assert world.runtime.programs == {}


@pytest.mark.spec("A4", "K3")
async def test_the_last_screen_is_kept_though_the_daemon_died_at_the_end(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Dying(FakeRuntime):
        is_dying = True

        async def release(self, session: SessionId) -> None:
            if self.is_dying:
                raise RuntimeFailed  # until the daemon has died
            await super().release(session)

    world = World(tmp_path, Dying)
    async with running(database, world) as context:
        session = await context.start()
        world.runtime.exit(world.runtime.program(session), code=0)
        await context.rest()
    (world.artifacts / f"{session}.txt").unlink()
    Dying.is_dying = False

    async with running(database, world) as context:
        await context.rest()

    assert [each.name for each in world.artifacts.iterdir()] == [f"{session}.txt"]


@pytest.mark.spec("A7")
async def test_what_runs_on_our_server_and_has_no_row_is_observed_and_never_ended(
    database: ObservedDatabase, world: World
) -> None:
    stranger = world.runtime.put("rk_stranger")

    for _ in range(2):
        async with running(database, world) as context:
            await context.rest()

    (found,) = await database.read(everyone)
    assert (found.name, found.agent, found.runtime) == ("rk_stranger", "shell", "observed")
    assert (found.owner, found.native_id) == ("discovery", f"tmux_{stranger.address.tmux_pane}")
    assert (found.activity, found.started_at) == (Activity.IDLE, world.clock.now())
    assert (await database.read(kinds)).count("session-found") == 1
    assert world.runtime.released == []
    assert not stranger.is_over


@pytest.mark.spec("A1", "A7")
async def test_a_stranger_is_given_a_name_that_can_be_used(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.put("rk_my agent; -x")

    async with running(database, world):
        (found,) = await database.read(everyone)

    assert checked(found.name) == found.name


@pytest.mark.spec("A7", "K4")
async def test_a_stranger_in_a_pane_that_another_one_had_is_met_too(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.put("rk_old")
    async with running(database, world):
        pass
    world.runtime.programs.clear()
    world.runtime = FakeRuntime()  # tmux has restarted, and counts anew
    world.runtime.put("rk_new")

    async with passing_time(database, world.clock), running(database, world):
        found = {each.name: each.status for each in await database.read(everyone)}

    assert found == {"rk_old": Status.FAILED, "rk_new": Status.RUNNING}


@pytest.mark.spec("A4", "A7")
async def test_a_program_that_runs_on_without_its_pane_is_not_lost(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
    own = Process.of(os.getpid())
    assert own
    await database.write(partial(observed_panes.identify, session=session, process=own.key))
    world.runtime.programs.clear()
    world.runtime.adopted.clear()

    async with passing_time(database, world.clock), running(database, world) as context:
        await context.rest()
        found = await context.session(session)

    assert found.status is Status.RUNNING
    assert world.runtime.adopted == [session]


class SlowRelease(FakeRuntime):
    """A runtime that releases sessions only once it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_release = anyio.Event()

    async def release(self, session: SessionId) -> None:
        await self.may_release.wait()
        await super().release(session)


async def test_a_daemon_that_stops_goes_on_as_soon_as_the_panes_of_ended_sessions_are_removed(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    world = World(tmp_path, SlowRelease)
    assert isinstance(world.runtime, SlowRelease)
    finished: list[bool] = []

    async with running(database, world) as context:
        session = await context.start()
        await context.end(session)
        await context.rest()

        async def finish() -> None:
            finished.append(await context.supervisor.finish(within=60.0))

        async with context.beside(finish):
            await context.rest()
            before = list(finished)
            world.runtime.may_release.set()
            await context.rest()

    assert before == []
    assert finished == [True]
