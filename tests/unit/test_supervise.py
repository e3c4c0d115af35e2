from __future__ import annotations

import asyncio
import json
import logging
import os
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import anyio
import pytest

from rookery import supervise
from rookery.agents.catalog import AGENTS
from rookery.agents.claude.agent import CLAUDE
from rookery.agents.claude.session_files import SESSION_FILES
from rookery.config import Settings
from rookery.delivery.dialog_answers import DialogAnswers
from rookery.model.errors import CommitFailed, RuntimeFailed, SessionUnknown
from rookery.model.evidence import Evidence
from rookery.model.facts import SessionId, SessionStarted, TurnStarted
from rookery.model.lifecycle import Activity
from rookery.processes import Process
from rookery.runtimes.tmux.user_servers import find_sockets
from rookery.store import evidence, sessions
from rookery.store.journal import Journal
from rookery.supervise import Reconciler
from rookery.tracking.agent_folders import folders_of
from rookery.tracking.corrections import Corrections
from rookery.tracking.discovery import Discovery
from rookery.tracking.session_files import SessionFilesWatch
from rookery.tracking.transcript_reader import TranscriptReader
from rookery.tracking.usage import UsageReader
from tests.support.daemon import World, passing_time
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.processes import FakeTable
from tests.support.fakes.runtime import FakeRuntime
from tests.support.fakes.servers import FakeHolder
from tests.support.rows import make
from tests.support.waiting import kinds, until

pytestmark = pytest.mark.anyio

S, T = SessionId("s"), SessionId("t")


class Flaky:
    """Work that fails some times before it succeeds."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.runs = 0

    async def __call__(self) -> None:
        self.runs += 1
        if self.failures:
            raise self.failures.pop(0)


async def run_with_time(clock: FakeClock, work: Flaky, *, name: str = "A step") -> float:
    """Run work until it is done; return how many seconds of its clock that took."""
    began = clock.now()

    async def pass_on() -> None:
        while True:
            await clock.someone_sleeps()
            clock.skip()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pass_on)
        with anyio.fail_after(20):
            await supervise.until_done(work, name=name, clock=clock)
        tasks.cancel_scope.cancel()
    return (clock.now() - began).total_seconds()


@pytest.mark.spec("K4")
async def test_a_failing_step_is_tried_again_with_longer_pauses(clock: FakeClock) -> None:
    work = Flaky(*(CommitFailed("full") for _ in range(3)))

    took = await run_with_time(clock, work)

    assert (work.runs, took) == (4, 0.5 + 1 + 2)


async def test_the_same_failure_is_logged_once(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rookery.supervise")
    same = [CommitFailed("full") for _ in range(5)]

    await run_with_time(clock, Flaky(*same, ValueError("else")), name="The save")

    said = [each.message for each in caplog.records]
    assert len(said) == 3
    assert said[0].startswith("The save failed and is retried: CommitFailed")
    assert "ValueError: else" in said[1]
    assert said[2] == "The save works again."


async def test_a_round_that_fails_does_not_end_the_rounds(clock: FakeClock) -> None:
    work = Flaky(ValueError("once"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(supervise.every, 60, work, name="A round", clock=clock))
        for _ in range(3):
            await clock.someone_sleeps()
            clock.skip()
        tasks.cancel_scope.cancel()

    assert work.runs >= 3


@pytest.mark.spec("D3", "K4")
async def test_time_asleep_is_put_off_although_that_fails_at_first(clock: FakeClock) -> None:
    failures, put_off = [OSError("disk full")], list[timedelta]()

    async def postpone(jump: timedelta) -> None:
        if failures:
            raise failures.pop()
        put_off.append(jump)

    async def expire() -> None:
        pass

    watch = partial(supervise.watch_deadlines, clock, postpone, expire, name="Deadlines")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await clock.someone_sleeps()
        clock.advance(3600)
        for _ in range(3):
            clock.skip()
            await clock.someone_sleeps()
        tasks.cancel_scope.cancel()

    assert [round(each.total_seconds() / 3600) for each in put_off] == [1]


async def test_contained_work_says_whether_it_was_done(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL, "rookery.supervise")

    assert await supervise.contained(Flaky(), name="A chore")
    assert not await supervise.contained(Flaky(ValueError("no")), name="A chore")


class Service:
    """Takes one step for each session; what it does may fail some times before."""

    def __init__(self, **failures: list[Exception]) -> None:
        self.failures = failures
        self.changed = asyncio.Event()
        self.served: list[SessionId] = []

    async def pending(self) -> list[SessionId]:
        self._fail("list")
        return [each for each in (S, T) if each not in self.served]

    async def step(self, session: SessionId) -> bool:
        self._fail(session)
        self.served.append(session)
        return False

    def _fail(self, name: str) -> None:
        if left := self.failures.get(name):
            raise left.pop(0)


async def served(clock: FakeClock, service: Service, *, pauses: int) -> list[SessionId]:
    """Return the sessions that were served, after so many pauses of its clock."""
    reconciler = Reconciler(
        "Serving", clock, service.pending, service.step, lambda: service.changed
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reconciler.run)
        for _ in range(pauses):
            await clock.someone_sleeps()
            clock.skip()
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    return service.served


@pytest.mark.spec("K4")
@pytest.mark.parametrize(
    ("failures", "pauses", "expected"),
    [
        pytest.param({}, 0, [S, T], id="none"),
        pytest.param({"s": [ValueError()]}, 0, [T], id="other"),
        pytest.param({"s": [ValueError()]}, 1, [T, S], id="again"),
        pytest.param({"s": [RuntimeFailed("gone")]}, 1, [T, S], id="runtime"),
        pytest.param({"s": [SessionUnknown("s")]}, 0, [T], id="unknown"),
        pytest.param({"list": [OSError("disk")]}, 0, [], id="list"),
        pytest.param({"list": [OSError("disk")]}, 1, [S, T], id="list-again"),
    ],
)
async def test_a_step_that_fails_is_taken_again_and_holds_up_no_other_session(
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
    failures: dict[str, list[Exception]],
    pauses: int,
    expected: list[SessionId],
) -> None:
    caplog.set_level(logging.CRITICAL, "rookery.supervise")

    assert await served(clock, Service(**failures), pauses=pauses) == expected


async def test_a_session_is_served_again_if_something_changed_meanwhile(
    clock: FakeClock,
) -> None:
    steps = 0

    class Changing(Service):
        async def pending(self) -> list[SessionId]:
            return [S] if steps == 0 else []

        async def step(self, session: SessionId) -> bool:
            nonlocal steps
            steps += 1
            self.changed.set()
            return False

    service = Changing()
    service.changed = asyncio.Event()
    events = iter([service.changed, service.changed, asyncio.Event(), asyncio.Event()])
    reconciler = Reconciler("Serving", clock, service.pending, service.step, events.__next__)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reconciler.run)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    assert steps == 2


async def test_the_first_to_be_done_wins_and_the_others_are_stopped() -> None:
    stopped = []

    async def wait() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("slow")
        return "slow"

    async def answer() -> str:
        return "quick"

    async def fail() -> str:
        raise ValueError("it failed")

    assert await supervise.first_of(wait(), answer()) == "quick"
    with pytest.raises(ValueError, match="it failed"):
        await supervise.first_of(wait(), fail())
    assert stopped == ["slow", "slow"]


@pytest.mark.spec("C8", "K4")
async def test_a_full_disk_does_not_keep_a_registry_file_from_being_believed_later(
    database: ObservedDatabase, journal: Journal, clock: FakeClock, tmp_path: Path
) -> None:
    this = Process.of(os.getpid())
    assert this

    def begin(db: Connection) -> None:
        sessions.add(db, make(journal, S, agent="claude", native_id="n", process=this.key))
        journal.append(db, SessionStarted(S), TurnStarted(S, "Go."))
        evidence.put(db, S, Evidence("hook", Activity.WORKING, clock.now()))

    await database.write(begin)
    _write_registry_file(tmp_path / "sessions", this, clock.now() + timedelta(seconds=1))

    async with anyio.create_task_group() as tasks:
        conversations = TranscriptReader({}, clock)
        corrections = Corrections(database, journal, conversations)
        registry = SessionFilesWatch(
            database, journal, conversations, corrections, "claude", SESSION_FILES
        )
        tasks.start_soon(registry.watch, [tmp_path])
        await clock.someone_sleeps()
        database.failing_writes = 2
        async with passing_time(database, clock):
            await until(database, lambda db: "turn-ended" in kinds(db))
        tasks.cancel_scope.cancel()

    assert database.failing_writes == 0


def _write_registry_file(folder: Path, process: Process, at: datetime) -> None:
    """Write what an idle Claude Code says of itself."""
    folder.mkdir()
    said = {"pid": process.pid, "procStart": process.started, "sessionId": "n", "cwd": "/"}
    moment = {"status": "idle", "statusUpdatedAt": int(at.timestamp() * 1000)}
    (folder / f"{process.pid}.json").write_text(json.dumps({**said, **moment}))


@pytest.mark.spec("K4")
async def test_a_damaged_store_ends_neither_transcripts_nor_answers(
    database: ObservedDatabase, journal: Journal, clock: FakeClock, tmp_path: Path
) -> None:
    permissions = World(tmp_path).permissions(journal)
    answers = DialogAnswers(database, journal, FakeRuntime(), AGENTS, permissions)
    for loop in (UsageReader(database, journal, {}).follow, answers.press):
        database.failing_reads = 2
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(loop)
            with anyio.fail_after(20):
                while database.failing_reads:
                    await clock.someone_sleeps()
                    clock.skip()
            tasks.cancel_scope.cancel()


@pytest.mark.spec("B6", "K4")
async def test_sockets_that_cannot_be_listed_do_not_end_discovery(
    database: ObservedDatabase, journal: Journal, clock: FakeClock
) -> None:
    looked = 0

    def sockets() -> list[Path]:
        nonlocal looked
        looked += 1
        if looked == 1:
            raise RuntimeError("Could not determine home directory.")
        return []

    held = (AGENTS, FakeHolder(), FakeTable())
    discovery = Discovery(database, journal, *held, sockets, Path("/run/own"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(discovery.run)
        with anyio.fail_after(20):
            while looked < 3:
                await clock.someone_sleeps()
                clock.skip()
        tasks.cancel_scope.cancel()


@pytest.mark.spec("K4")
def test_the_home_of_a_user_who_does_not_exist_is_passed_over(tmp_path: Path) -> None:
    nowhere = "~no-such-user-here/x"
    settings = Settings.model_validate({"discovery": {"claude_config_dirs": [nowhere]}})

    assert find_sockets(tmp_path, listed=[nowhere], own=tmp_path / "own") == []
    assert folders_of(CLAUDE, settings, {"HOME": "/home/me"}) == {Path("/home/me/.claude")}
