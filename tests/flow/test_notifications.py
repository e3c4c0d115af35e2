"""From what happens to a session to what a person is told, with channels that are fakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import anyio
import pytest

from rookery.agents.catalog import AGENTS
from rookery.model import facts
from rookery.model.errors import CommitFailed
from rookery.model.facts import SessionId
from rookery.model.notifications import NotificationKind
from rookery.model.permissions import Call, Outcome, RequestId, Verdict
from rookery.model.sessions import program_name
from rookery.notifications.dispatcher import RETRY_PAUSES_S
from rookery.store import notifications, requests
from rookery.store.requests import Asking
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.connection import connection
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.fate import Fate, Killed
from tests.support.fakes.notifier import FakeNotifier
from tests.support.notifications import Newsroom, states, telling
from tests.support.rows import ANNA, BERT, WORKER, settle_in

pytestmark = [pytest.mark.anyio, pytest.mark.spec("H4")]

#: Seconds after which a notification is due, and the same for a reminder.
SOON, LATER = 3.0, 601.0


async def settled(room: Newsroom) -> None:
    await room.database.write(partial(settle_in, journal=room.journal))


async def ask(room: Newsroom, session: SessionId = ANNA, command: str = "ls") -> RequestId:
    """Have a session ask whether it may run a command."""
    call = Call("Bash", {"command": command})

    def write(db: Connection) -> RequestId:
        asking = Asking(room.journal.clock.now(), deadline=None, hook=None)
        request = requests.add(db, session, call, asking)
        asked = facts.InputAsked(session, "permission", call.summary, request)
        room.journal.append(db, asked)
        return request

    return await room.database.write(write)


async def allow(room: Newsroom, request: RequestId) -> None:
    verdict = Verdict(Outcome.ALLOWED, "person")
    settle = partial(requests.settle, verdict=verdict, at=room.clock.now())
    await room.database.write(lambda db: settle(db, request))


async def work(room: Newsroom, session: SessionId, ended: facts.TurnEnded) -> None:
    await room.happen(facts.TurnStarted(session, "go"), ended)


async def test_a_request_is_told_with_its_session_its_folder_and_the_command(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        await database.write(
            lambda db: db.execute("update sessions set project_path = '/code/api'")
        )
        await ask(room, ANNA, "rm -rf build")
        await room.pass_time(SOON)

    (told,) = channel.given
    assert told.title == "anna needs you"
    assert told.body() == "/code/api\nMay it use Bash? rm -rf build"


async def test_what_happens_within_a_short_time_is_told_at_once(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        for session in (ANNA, BERT, WORKER):
            await ask(room, session)
            await room.pass_time(0.5)
        await room.pass_time(SOON)

    assert channel.titles == ["3 sessions wait"]


@pytest.mark.spec("G5")
async def test_requests_of_one_session_within_five_seconds_are_told_together(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        await ask(room, ANNA, "one")
        await ask(room, ANNA, "two")
        await room.pass_time(SOON)
        at_first = channel.titles
        await ask(room, ANNA, "three")
        await ask(room, BERT, "other")
        await room.pass_time(SOON)  # the batch of both is due, and bert's is sent
        meanwhile = channel.titles
        await ask(room, ANNA, "four")
        await room.pass_time(SOON)

    assert at_first == ["anna needs you: 2 requests"]
    assert meanwhile == [*at_first, "bert needs you"]
    assert channel.titles == [*meanwhile, "anna needs you: 2 requests"]
    told = "\n".join(each.body() for each in channel.given)
    assert all(f"Bash? {each}" in told for each in ("one", "two", "three", "four", "other"))


@pytest.mark.spec("G5")
async def test_a_request_comes_before_the_end_of_a_turn_and_a_failure_does_not_wait(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        await work(room, ANNA, facts.TurnEnded(ANNA, "Done."))
        await work(room, ANNA, facts.TurnEnded(ANNA, "Done again."))
        await ask(room, ANNA, "ls")
        await room.pass_time(SOON)
        at_first = channel.titles
        await work(room, ANNA, facts.TurnEnded(ANNA, "500 Internal", "failed"))
        await room.pass_time(SOON)
        failed = channel.titles
        await room.pass_time(SOON)

    assert at_first == ["anna needs you"]
    assert failed == [*at_first, "anna failed"]
    assert channel.titles == [*failed, "anna is finished: 2 turns"]


@pytest.mark.spec("G5")
async def test_a_clock_that_is_set_back_holds_no_notification(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        await ask(room, ANNA, "one")
        await room.pass_time(SOON)
        clock.advance(-3600.0)
        await ask(room, ANNA, "two")
        await room.pass_time(60.0)

    assert channel.titles == ["anna needs you", "anna needs you"]


async def test_a_turn_that_has_run_for_long_is_told_once_if_it_still_works(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    kinds = [NotificationKind.LONG_TURN]
    async with telling(database, clock, [channel], kinds=kinds) as room:
        await settled(room)
        for session in (ANNA, BERT, WORKER):
            await room.happen(facts.TurnStarted(session, "Build it."))
        await room.pass_time(599.0)
        await room.happen(facts.TurnEnded(BERT, "Done."))
        await ask(room, WORKER)
        early = channel.titles
        await room.pass_time(SOON)
        in_time = channel.titles
        await room.pass_time(3_600.0)

    assert (early, in_time, channel.titles) == ([], ["anna is still working"], in_time)
    assert "Build it." in channel.given[0].body()
    assert await room.states() == [("sent", ""), ("skipped", "it waits for you")]


async def test_a_finished_turn_a_failed_one_and_a_limit_are_told_apart(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        await work(room, ANNA, facts.TurnEnded(ANNA, "Done."))
        await work(room, BERT, facts.TurnEnded(BERT, "500 Internal", "failed"))
        limit = "You've hit your usage limit"
        await work(room, WORKER, facts.TurnEnded(WORKER, limit, "failed"))
        await room.pass_time(SOON)

    assert sorted(channel.titles) == [
        "anna is finished",
        "bert failed",
        "worker reached a limit",
    ]


async def test_nothing_is_told_of_a_request_that_was_answered_meanwhile(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        await allow(room, await ask(room))
        await room.pass_time(SOON)
        await room.pass_time(LATER)
        found = await room.states()

    assert channel.given == []
    assert found[0] == ("skipped", "it was allowed before this was sent")


async def test_a_second_open_request_is_told_although_the_first_was_answered(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        first = await ask(room, ANNA, "ls")
        await ask(room, ANNA, "rm x")
        await allow(room, first)
        await room.happen(facts.InputSettled(ANNA, "person"))
        await room.pass_time(SOON)

    assert [each.body() for each in channel.given] == ["May it use Bash? rm x"]


async def test_an_open_request_is_told_once_more_and_then_no_more(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        await ask(room)
        for _ in range(4):
            await room.pass_time(SOON)
            await room.pass_time(LATER)

    assert channel.titles == ["anna needs you", "anna still needs you"]


async def test_no_reminder_comes_once_the_request_is_answered(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        request = await ask(room)
        await room.pass_time(SOON)
        await allow(room, request)
        await room.pass_time(LATER)

    assert channel.titles == ["anna needs you"]


async def test_a_muted_session_is_not_told_until_the_time_is_over(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        until = clock.now() + timedelta(minutes=1)
        await database.write(partial(notifications.mute, session=ANNA, until=until))
        await work(room, ANNA, facts.TurnEnded(ANNA, "One."))
        await room.pass_time(SOON)
        quiet = list(channel.titles)
        await room.pass_time(60)
        await work(room, ANNA, facts.TurnEnded(ANNA, "Two."))
        await room.pass_time(SOON)
        (first, _) = await room.states()

    assert quiet == []
    assert first[1].startswith("the session is muted until 2026-11-01T00:01")
    assert [each.items[0].text for each in channel.given] == ["Two."]


async def test_a_session_to_which_the_person_is_attached_is_told_by_its_reminder_only(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        program = room.runtime.put(program_name(ANNA))
        await room.runtime.adopt(ANNA, AGENTS["demo"], program.handle)
        room.runtime.attached.add(ANNA)
        await ask(room)
        await room.pass_time(SOON)
        quiet = list(channel.titles)
        (first, _) = await room.states()
        await room.pass_time(LATER)

    assert quiet == []
    assert first == ("skipped", "you are attached to this session")
    assert channel.titles == ["anna still needs you"]


async def test_a_reminder_is_sent_although_another_notice_of_the_session_is_due_with_it(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        program = room.runtime.put(program_name(ANNA))
        await room.runtime.adopt(ANNA, AGENTS["demo"], program.handle)
        room.runtime.attached.add(ANNA)
        await ask(room, ANNA, "one")
        await room.pass_time(SOON)
        await room.pass_time(LATER - 2 * SOON)
        await ask(room, ANNA, "two")
        await room.pass_time(2 * SOON)
        found = [state for state, _ in await room.states()]

    assert channel.titles == ["anna still needs you"]
    assert sorted(found) == ["sent", "skipped", "skipped", "waiting"]


async def test_a_channel_that_fails_keeps_no_other_from_telling(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    broken, sound = FakeNotifier("broken"), FakeNotifier("sound")
    broken.fails = 99
    async with telling(database, clock, [broken, sound]) as room:
        await settled(room)
        await work(room, ANNA, facts.TurnEnded(ANNA, "Done."))
        for seconds in (SOON, *RETRY_PAUSES_S):
            await room.pass_time(seconds)
        found = await room.states()

    assert sound.titles == ["anna is finished"]
    assert sorted(found) == [
        ("failed", "The notification was not sent: no answer"),
        ("sent", ""),
    ]
    assert broken.attempts == 1 + len(RETRY_PAUSES_S)


@pytest.mark.spec("H5")
async def test_a_notification_that_failed_is_sent_later(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    channel.fails = 2
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        await work(room, ANNA, facts.TurnEnded(ANNA, "Done."))
        for seconds in (SOON, *RETRY_PAUSES_S, LATER):
            await room.pass_time(seconds)
        found = await room.states()

    assert channel.titles == ["anna is finished"]
    assert found == [("sent", "")]


async def test_a_notification_that_may_have_been_sent_is_not_sent_again(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    channel.is_doubtful = True
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        await work(room, ANNA, facts.TurnEnded(ANNA, "Done."))
        for seconds in (SOON, *RETRY_PAUSES_S, LATER):
            await room.pass_time(seconds)
        ((state, _),) = await room.states()

    assert (channel.attempts, state) == (1, "unsure")


async def test_a_channel_with_an_unexpected_error_leaves_nothing_half_sent(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    channel.surprise = RuntimeError("the handle is closed")
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        await work(room, ANNA, facts.TurnEnded(ANNA, "Done."))
        for seconds in (SOON, *RETRY_PAUSES_S):
            await room.pass_time(seconds)
        ((state, _),) = await room.states()

    assert (channel.attempts, state) == (1, "unsure")


async def test_nothing_is_sent_by_a_channel_that_cannot_send_at_present(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    channel.broken = "no terminal is attached"
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        await work(room, ANNA, facts.TurnEnded(ANNA, "Done."))
        await room.pass_time(SOON)
        found = await room.states()

    assert (channel.attempts, found) == (0, [("skipped", "no terminal is attached")])


async def test_what_waits_for_a_channel_that_is_turned_off_is_not_sent_later(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    channel = FakeNotifier()
    async with telling(database, clock, [channel]) as room:
        await settled(room)
        await ask(room)
    async with telling(database, clock, []) as room:
        found = await room.states()

    assert found == [("skipped", "the channel is turned off")]


class Telling:
    """A request and a finished turn that two channels tell; it can be taken up anywhere."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.path = folder / "rookery.db"
        self.clock = FakeClock()
        self.channels = [FakeNotifier("one"), FakeNotifier("two")]

    async def begin(self) -> None:
        async with ObservedDatabase(self.path, self.clock) as database:
            await settled(Newsroom(database, self.clock))

    async def go_on(self, fate: Fate) -> None:
        mortal = connection(before_commit=fate.moment, after_commit=fate.moment)
        for each in self.channels:
            each.moment = fate.moment
        async with (
            ObservedDatabase(self.path, self.clock, connection=mortal) as database,
            telling(database, self.clock, self.channels) as room,
        ):
            told = await database.read(partial(notifications.latest, limit=10))
            if ANNA not in {each.session for each in told}:
                await ask(room, ANNA)
            if BERT not in {each.session for each in told}:
                await work(room, BERT, facts.TurnEnded(BERT, "Done."))
            with anyio.fail_after(5):
                while not await database.read(self.is_over):
                    await database.rest()
                    fate.mourn()
                    self.clock.skip()

    def is_over(self, db: Connection) -> bool:
        found = [state for state, _ in states(db)]
        return len(found) >= 6 and not {"waiting", "sending"}.intersection(found)

    def check(self, db: Connection) -> None:
        rows = db.execute(
            "select session, channel, is_reminder, state from notifications"
        ).fetchall()
        assert Counter(row["session"] for row in rows) == {ANNA: 4, BERT: 2}
        for channel in self.channels:
            told = Counter(
                (each.session, each.is_reminder)
                for given in channel.given
                for each in given.items
            )
            for row in rows:
                if row["channel"] == channel.name:
                    times = told.pop((row["session"], bool(row["is_reminder"])), 0)
                    expected = {"sent": {1}, "unsure": {0, 1}}
                    assert times in expected[row["state"]], dict(row)
            assert not told


@pytest.mark.spec("H5", "K3")
async def test_whenever_the_daemon_dies_no_channel_tells_an_outcome_twice(
    tmp_path: Path,
) -> None:
    whole = Fate()
    found = await tell(Telling(tmp_path / "whole"), [whole])
    assert whole.moments > 20
    assert found == {"sent": 6}

    unsure = 0
    for moment in range(whole.moments):
        lives = [Fate(moment), Fate(moment % 7), Fate()]
        found = await tell(Telling(tmp_path / str(moment)), lives)
        assert found.total() == 6
        unsure += found["unsure"] > 0
    # Only a death between the two records of a sending leaves a doubt.
    assert 0 < unsure < whole.moments


async def tell(story: Telling, lives: Sequence[Fate]) -> Counter[str]:
    await story.begin()
    for fate in lives:
        try:
            await story.go_on(fate)
            break
        except* (Killed, CommitFailed):
            pass
    async with ObservedDatabase(story.path, story.clock) as database:
        await database.read(story.check)
        return Counter(state for state, _ in await database.read(states))
