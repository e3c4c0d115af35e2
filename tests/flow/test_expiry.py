from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sqlite3 import Connection

import pytest

from rookery.coordination.listeners import listen
from rookery.model import facts
from rookery.model.actors import PERSON
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Status
from rookery.model.listeners import Listener
from rookery.model.messages import Origin, Words
from rookery.processes import Process
from rookery.sessions.expiry import (
    CHECK_INTERVAL_SECONDS,
    UNIDENTIFIED_SILENCE,
    ClockGap,
    Expiry,
    ExpirySpans,
    awake_ago,
)
from rookery.store import flags, messages, observed_panes, session_lookup, sessions
from tests.support.daemon import House, World, running
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import FakeRuntime
from tests.support.rows import make
from tests.support.waiting import kinds

pytestmark = pytest.mark.anyio

HOUR = 3600
SPANS = ExpirySpans(
    inactive=timedelta(hours=72), retention=timedelta(days=90), kept_sessions=10_000
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def timers(context: House, spans: ExpirySpans = SPANS) -> Expiry:
    return Expiry(context.database, context.journal, context.world.runtime, spans)


async def add(context: House, name: str, runtime: str) -> SessionId:
    """Have a session run that we did not start."""

    def add(db: Connection) -> None:
        sessions.add(db, make(context.journal, name, runtime=runtime))
        context.journal.append(db, facts.SessionStarted(SessionId(name)))

    await context.database.write(add)
    return SessionId(name)


@pytest.mark.spec("A9")
async def test_a_session_of_which_nothing_was_heard_for_72_hours_is_ended(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
        world.clock.advance(72 * HOUR)
        await timers(context).round()
        still = await context.session(session)

        world.clock.advance(1)
        await timers(context).round()
        await context.rest()

        over = await context.session(session)
    assert still.status is Status.RUNNING
    assert (over.status, over.ended_by) == (Status.KILLED, "idle")
    assert world.runtime.released == [session]


@pytest.mark.spec("A9")
async def test_a_driven_session_that_is_idle_for_30_minutes_is_ended_and_a_turn_never_is(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        idle, working = await add(context, "idle", "sdk"), await add(context, "working", "acp")
        in_terminal = await context.start()

        def tell(db: Connection) -> None:
            context.journal.append(db, facts.TurnStarted(idle, "go"), facts.TurnEnded(idle))
            context.journal.append(db, facts.TurnStarted(working, "go"))

        await database.write(tell)
        world.clock.advance(HOUR / 2)
        await timers(context).round()
        still = (await context.session(idle)).status
        world.clock.advance(1)
        await timers(context).round()

        ended = await context.session(idle)
        others = [(await context.session(each)).status for each in (working, in_terminal)]
    assert still is Status.RUNNING
    assert ended.ended_by == "idle"
    assert others == [Status.RUNNING, Status.RUNNING]


@pytest.mark.spec("A9", "E6")
@pytest.mark.parametrize("waits_for", ["a session", "a message", "nothing"])
async def test_an_idle_driven_session_with_which_it_soon_goes_on_is_not_ended(
    database: ObservedDatabase, world: World, waits_for: str
) -> None:
    async with running(database, world) as context:
        idle, other = await add(context, "idle", "sdk"), await context.start()

        def prepare(db: Connection) -> None:
            context.journal.append(db, facts.TurnStarted(idle, "go"), facts.TurnEnded(idle))
            flags.hold(db, on=True)
            if waits_for == "a session":
                listen(db, context.journal, Listener(caller=idle, target=other))
            elif waits_for == "a message":
                messages.add(db, idle, Words("Next.", 0), Origin(PERSON, 1))

        await database.write(prepare)
        world.clock.advance(HOUR)
        await timers(context).round()

        ended_by = (await context.session(idle)).ended_by
    assert ended_by == ("idle" if waits_for == "nothing" else "")


@pytest.mark.spec("A9", "A7")
async def test_restarts_of_the_daemon_do_not_make_an_idle_session_live_longer(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        driven, in_pane = await add(context, "idle", "sdk"), await add(context, "p", "observed")

        async def restart_after(seconds: float) -> None:
            world.clock.advance(seconds)
            await database.write(
                lambda db: context.journal.append(
                    db, facts.SessionRecovered(driven), facts.SessionRecovered(in_pane)
                )
            )
            await timers(context).round()

        await restart_after(HOUR / 4)
        await restart_after(HOUR / 4)
        still = (await context.session(driven)).ended_by
        await restart_after(1)
        ended = (await context.session(driven)).ended_by
        await restart_after(72 * HOUR)
        record = await context.session(in_pane)
    assert (still, ended) == ("", "idle")
    assert record.status is Status.COMPLETED


@pytest.mark.spec("A9", "G5")
async def test_a_silence_that_is_reported_is_no_activity(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await add(context, "silent", "acp")
        begun = facts.TurnStarted(session, "go")
        await database.write(lambda db: context.journal.append(db, begun))
        before = (await context.session(session)).last_activity_at
        world.clock.advance(15)
        silent = facts.Noted(session, facts.SILENT, "nothing was reported for 15 s")
        await database.write(lambda db: context.journal.append(db, silent))
        unchanged = (await context.session(session)).last_activity_at
        heartbeat = facts.Noted(session, "retry", "overloaded")
        await database.write(lambda db: context.journal.append(db, heartbeat))
        after = (await context.session(session)).last_activity_at
    assert (unchanged, after) == (before, before + timedelta(seconds=15))


@pytest.mark.spec("A8", "K5")
async def test_a_headless_session_that_only_began_and_has_no_process_is_ended_soon(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        silent = await add(context, "silent", "headless")
        worked = await add(context, "worked", "headless")
        known = await add(context, "known", "headless")
        in_pane = await add(context, "in-pane", "observed")

        def tell(db: Connection) -> None:
            context.journal.append(db, facts.TurnStarted(worked, "go"), facts.TurnEnded(worked))
            observed_panes.identify(db, known, "7:1")

        await database.write(tell)
        world.clock.advance(UNIDENTIFIED_SILENCE.total_seconds())
        await timers(context).round()
        still = (await context.session(silent)).status
        world.clock.advance(1)
        await timers(context).round()

        lives = {each.id for each in await database.read(sessions.live)}
        ended = await context.session(silent)
    assert still is Status.RUNNING
    assert (ended.status, lives) == (Status.COMPLETED, {worked, known, in_pane})


@pytest.mark.spec("A9")
async def test_whoever_was_heard_of_meanwhile_lives_on(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
        world.clock.advance(71 * HOUR)
        world.agents.hook(session, "PostToolUse", tool_name="Bash")
        await context.rest()
        world.clock.advance(71 * HOUR)

        await timers(context).round()

        assert (await context.session(session)).status is Status.RUNNING


@pytest.mark.spec("A9")
async def test_the_record_of_a_session_that_becomes_active_at_the_last_moment_is_kept(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await add(context, "observed", "observed")

        class Waking(FakeRuntime):
            async def is_attached(self, session: SessionId) -> bool:
                begun = facts.TurnStarted(session, "go")
                await database.write(lambda db: context.journal.append(db, begun))
                return False

        runtime = Waking()
        world.clock.advance(100 * HOUR)
        await Expiry(context.database, context.journal, runtime, SPANS).round()

        assert (await context.session(session)).status is Status.RUNNING


@pytest.mark.spec("A9")
async def test_a_session_that_somebody_is_attached_to_is_spared(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
        world.runtime.attached.add(session)
        world.clock.advance(100 * HOUR)

        await timers(context).round()

        assert (await context.session(session)).status is Status.RUNNING


@pytest.mark.spec("A9")
async def test_where_nobody_can_tell_whether_somebody_is_attached_it_is_spared(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Silent(FakeRuntime):
        async def is_attached(self, session: SessionId) -> bool:
            raise RuntimeFailed

    world = World(tmp_path, Silent)
    async with running(database, world) as context:
        session = await context.start()
        world.clock.advance(100 * HOUR)

        await timers(context).round()

        assert (await context.session(session)).status is Status.RUNNING


@pytest.mark.spec("A9")
async def test_a_session_that_stirs_in_the_very_moment_is_spared(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Stirring(FakeRuntime):
        async def is_attached(self, session: SessionId) -> bool:
            there.agents.hook(session, "UserPromptSubmit", prompt="Wait for me!")
            await database.rest()
            return False

    there = World(tmp_path, Stirring)
    async with running(database, there) as context:
        session = await context.start()
        there.clock.advance(100 * HOUR)

        await timers(context).round()

        assert (await context.session(session)).status is Status.RUNNING


@pytest.mark.spec("A8", "A9")
@pytest.mark.parametrize("runtime", ["headless", "observed"])
async def test_of_a_session_that_is_not_ours_only_the_record_ends(
    database: ObservedDatabase, world: World, runtime: str
) -> None:
    async with running(database, world) as context:
        stranger = world.runtime.put("rk_stranger")
        session = await add(context, "stranger", runtime)
        world.clock.advance(73 * HOUR)

        await timers(context).round()
        await context.rest()

        over = await context.session(session)
    assert (over.status, over.reason) == (
        Status.COMPLETED,
        "it reported nothing for 72 h",
    )
    assert world.runtime.asked_to_leave == []
    assert world.runtime.released == []
    assert not stranger.is_over


async def add_running(context: House, name: str, *facts_of: facts.Fact) -> SessionId:
    """Have a headless session whose process runs."""
    session = await add(context, name, "headless")
    process = Process.of(os.getpid())
    assert process is not None

    def tell(db: Connection) -> None:
        observed_panes.identify(db, session, process.key)
        context.journal.append(db, *facts_of)

    await context.database.write(tell)
    return session


@pytest.mark.spec("A7", "A8", "A9")
async def test_a_headless_session_that_outlived_the_daemon_is_not_ended_for_its_absence(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await add_running(context, "quiet")
    world.clock.advance(240 * HOUR)

    async with running(database, world) as context:
        await timers(context).round()
        found = await context.session(session)

    assert found.status is Status.RUNNING


@pytest.mark.spec("A8", "A9")
async def test_a_headless_session_at_work_is_not_ended_while_its_process_runs(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        begun = facts.TurnStarted(SessionId("at-work"), "go")
        session = await add_running(context, "at-work", begun)
        world.clock.advance(73 * HOUR)

        await timers(context).round()

        assert (await context.session(session)).status is Status.RUNNING


@pytest.mark.spec("A9")
async def test_an_observed_session_that_somebody_is_attached_to_is_spared(
    database: ObservedDatabase, world: World
) -> None:
    world.runtime.put("rk_stranger")
    async with running(database, world) as context:
        (session,) = await database.read(sessions.live)
        world.runtime.attached.add(session.id)
        world.clock.advance(73 * HOUR)

        await timers(context).round()

        assert (await context.session(session.id)).status is Status.RUNNING


async def test_the_old_is_forgotten_and_the_last_sessions_are_kept(
    database: ObservedDatabase, world: World
) -> None:
    spans = ExpirySpans(timedelta(hours=72), timedelta(days=90), kept_sessions=1)
    async with running(database, world) as context:
        first, last = await context.start(), await context.start()
        for session in (first, last):
            world.clock.advance(1)
            world.runtime.exit(world.runtime.program(session), code=0)
            await context.rest()
        world.clock.advance(91 * 24 * HOUR)

        await timers(context, spans).round()

        listed = await database.read(lambda db: session_lookup.resolve(db, last[:8]))
        assert listed.id == last
        assert await database.read(kinds) == []
        left = await database.read(lambda db: db.execute("select id from sessions").fetchall())
        assert [row["id"] for row in left] == [last]


@pytest.mark.spec("K4")
async def test_a_round_that_fails_is_tried_again(
    database: ObservedDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Clumsy(FakeRuntime):
        troubles = 1

        async def is_attached(self, session: SessionId) -> bool:
            if self.troubles:
                self.troubles -= 1
                raise ZeroDivisionError
            return False

    world = World(tmp_path, Clumsy)
    async with running(database, world) as context:
        session = await context.start()
        world.clock.advance(73 * HOUR)
        async with context.beside(timers(context).run):
            await context.rest()
            before = await context.session(session)

            await context.pass_time(CHECK_INTERVAL_SECONDS)
            over = await context.session(session)

    assert before.status is Status.RUNNING
    assert over.status is Status.KILLED
    assert "Ending and forgetting by age failed" in caplog.text


async def sleep(context: House, hours: float) -> None:
    """Have the computer sleep between two rounds, and let the round after it be done."""
    context.world.clock.advance(hours * HOUR)
    await context.pass_time(CHECK_INTERVAL_SECONDS)


async def stay_awake(context: House, hours: float) -> None:
    for _ in range(round(hours * 3)):
        await context.pass_time(HOUR / 3)


@pytest.mark.spec("A9")
async def test_time_asleep_does_not_count_for_a_session_that_lived_through_it(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        session = await context.start()
        async with context.beside(timers(context).run):
            await context.rest()
            await sleep(context, 100)
            await stay_awake(context, 71)
            still = await context.session(session)
            await stay_awake(context, 2)
            over = await context.session(session)

    assert still.status is Status.RUNNING
    assert over.status is Status.KILLED


@pytest.mark.spec("A9")
async def test_time_asleep_before_a_session_began_does_not_spare_it(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        async with context.beside(timers(context).run):
            await context.rest()
            for _ in range(4):
                await sleep(context, 120)
            session = await context.start()
            await stay_awake(context, 73)

        over = await context.session(session)
    assert over.status is Status.KILLED


NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.spec("A9")
@pytest.mark.parametrize(
    ("span", "gaps", "ago"),
    [
        (10, [], 10),
        (10, [(30, 20)], 10),  # it slept before
        (10, [(8, 3)], 15),
        (10, [(40, 20), (8, 3)], 15),
        (10, [(40, 12), (8, 3)], 15 + 28),
        (10, [(8, 0)], 18),  # it has just woken up
        (10, [(20, 10)], 10),
    ],
)
def test_only_sleeps_within_a_span_make_it_longer(
    span: int, gaps: list[tuple[int, int]], ago: int
) -> None:
    hours = [timedelta(hours=each) for each in range(50)]
    slept = [ClockGap(NOW - hours[since], NOW - hours[until]) for since, until in gaps]

    assert awake_ago(hours[span], now=NOW, gaps=slept) == NOW - hours[ago]
