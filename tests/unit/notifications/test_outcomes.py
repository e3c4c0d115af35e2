from __future__ import annotations

from datetime import timedelta
from sqlite3 import Connection

import pytest

from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.notifications import DEFAULT_KINDS, NotificationKind
from rookery.notifications import long_turns, outcomes
from rookery.store import notifications, sessions
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.rows import ANNA, WORKER, make, settle_in

pytestmark = pytest.mark.spec("H4")

CHILD = SessionId("child")


class Observer:
    """Appends facts, and reads the notifications that follow from them."""

    def __init__(self, db: Connection, clock: FakeClock) -> None:
        self.db, self.clock = db, clock
        readers = {"notifications": outcomes.READER, "long turns": long_turns.READER}
        self.journal = Journal("here", clock, readers)
        settle_in(db, self.journal)
        for name in readers:
            while self.journal.show_page(name, db):
                pass
            self.journal._caught_up.add(name)  # noqa: SLF001 - as catch_up() does it
        self.carry("desktop", *DEFAULT_KINDS)

    def carry(self, channel: str, *kinds: NotificationKind) -> None:
        notifications.put_channels(self.db, {channel: kinds}, at=self.clock.now())

    def happen(self, *happened: Fact) -> None:
        self.journal.append(self.db, *happened)

    @property
    def told(self) -> list[tuple[str, str, str]]:
        found = reversed(notifications.latest(self.db, limit=100))
        return [(each.session, each.kind, each.text) for each in found]


@pytest.fixture
def observer(db: Connection, clock: FakeClock) -> Observer:
    return Observer(db, clock)


def turn(session: SessionId, words: str, how: facts.How = "finished") -> tuple[Fact, ...]:
    return facts.TurnStarted(session, "go"), facts.TurnEnded(session, words, how)


def test_each_outcome_has_its_kind(observer: Observer) -> None:
    observer.happen(*turn(ANNA, "Done."))
    observer.happen(*turn(ANNA, "API error", "failed"))
    observer.happen(*turn(ANNA, "429 rate_limit_error", "failed"))
    observer.happen(facts.InputAsked(ANNA, "question", "Which one?"))

    assert observer.told == [
        (ANNA, "finished", "Done."),
        (ANNA, "failed", "API error"),
        (ANNA, "limit", "429 rate_limit_error"),
        (ANNA, "needs-you", "Which one?"),
    ]


def test_an_interruption_is_the_users_own_doing(observer: Observer) -> None:
    observer.happen(*turn(ANNA, "", "interrupted"))

    assert observer.told == []


def test_an_end_that_the_user_asked_for_is_not_told(observer: Observer) -> None:
    observer.happen(facts.EndRequested(ANNA, "person"), facts.SessionEnded(ANNA, "exit"))
    observer.happen(facts.SessionEnded(WORKER, "signal 9", "failed"))

    assert observer.told == [(WORKER, "failed", "signal 9")]


@pytest.mark.spec("A5")
@pytest.mark.parametrize("by", ["idle", "session 6f1c2d3e-0000-4000-8000-000000000001"])
def test_an_end_that_the_user_did_not_ask_for_is_told(observer: Observer, by: str) -> None:
    observer.carry("desktop", NotificationKind.ENDED)

    observer.happen(facts.EndRequested(ANNA, by), facts.SessionEnded(ANNA, "exit", "killed"))

    assert [(session, kind) for session, kind, _ in observer.told] == [(ANNA, "ended")]


def test_a_used_up_budget_is_a_limit(db: Connection, observer: Observer) -> None:
    db.execute("update sessions set budget = 2000000, cost = 2000000")

    observer.happen(facts.SessionEnded(ANNA, "it stopped", "failed"))

    assert observer.told == [(ANNA, "limit", "it stopped")]


def test_the_start_of_a_session_that_rookery_started_is_told_once(
    db: Connection, observer: Observer
) -> None:
    observer.carry("desktop", NotificationKind.STARTED)

    sessions.add(db, make(observer.journal, CHILD))
    found = SessionId("found")
    sessions.add(db, make(observer.journal, found, runtime="headless"))

    for each in (CHILD, CHILD, found):
        observer.happen(facts.SessionStarted(each))

    assert [(session, kind) for session, kind, _ in observer.told] == [(CHILD, "started")]


def test_a_turn_that_ends_in_time_leaves_no_notification_about_its_length(
    observer: Observer,
) -> None:
    observer.carry("desktop", NotificationKind.LONG_TURN, NotificationKind.FINISHED)

    observer.happen(facts.TurnStarted(ANNA, "Build it."), facts.TurnStarted(WORKER, "Test it."))
    running = observer.told

    observer.happen(facts.TurnEnded(ANNA, "Done."))

    assert running == [(ANNA, "long-turn", "Build it."), (WORKER, "long-turn", "Test it.")]
    assert observer.told == [(WORKER, "long-turn", "Test it."), (ANNA, "finished", "Done.")]


def test_a_queued_prompt_starts_a_turn_whose_length_is_told_by_itself(
    observer: Observer,
) -> None:
    observer.carry("desktop", NotificationKind.LONG_TURN)

    observer.happen(
        facts.TurnStarted(ANNA, "one", "t1"),
        facts.TurnStarted(ANNA, "two", "t1"),
        facts.TurnEnded(ANNA, "First.", turn="t1"),
    )

    assert observer.told == [(ANNA, "long-turn", "two")]


@pytest.mark.spec("A5", "H5")
def test_the_end_of_a_session_that_fails_with_its_turn_is_told_and_the_turn_is_not(
    observer: Observer,
) -> None:
    observer.happen(facts.TurnStarted(ANNA, "go"))
    observer.happen(facts.TurnEnded(ANNA, "API error", "failed", fails_session=True))
    between = observer.told
    observer.happen(facts.SessionEnded(ANNA, "usage limit reached\nmore", "failed"))

    assert (between, observer.told) == ([], [(ANNA, "limit", "usage limit reached")])


def test_the_same_request_is_told_once_however_often_it_is_reported(observer: Observer) -> None:
    for words in ("A dialog is open.", "May it use Bash? ls"):
        observer.happen(facts.InputAsked(ANNA, "permission", words, "r1"))

    assert len(observer.told) == 1


def test_a_turn_that_goes_on_with_a_queued_prompt_is_not_finished(observer: Observer) -> None:
    observer.happen(
        facts.TurnStarted(ANNA, "one", "t1"),
        facts.TurnStarted(ANNA, "two", "t1"),
        facts.TurnEnded(ANNA, "First.", turn="t1"),
        facts.QueueTaken(ANNA),
    )
    before = list(observer.told)
    observer.happen(facts.TurnEnded(ANNA, "Second."))

    assert (before, observer.told) == ([], [(ANNA, "finished", "Second.")])


def test_the_answer_of_a_session_that_a_session_started_is_for_that_session(
    observer: Observer,
) -> None:
    sessions.add(observer.db, make(observer.journal, CHILD, parent=ANNA))
    observer.happen(facts.SessionStarted(CHILD), *turn(CHILD, "Done."))
    observer.happen(facts.InputAsked(CHILD, "permission", "May it?"))

    assert observer.told == [(CHILD, "needs-you", "May it?")]


def test_a_channel_gets_only_the_kinds_that_it_carries(observer: Observer) -> None:
    observer.carry("bell", NotificationKind.FAILED)

    observer.happen(*turn(ANNA, "Done."), *turn(ANNA, "Broken.", "failed"))

    assert observer.told == [(ANNA, "failed", "Broken.")]


def test_without_channels_nothing_is_written(observer: Observer) -> None:
    notifications.put_channels(observer.db, {}, at=observer.clock.now())

    observer.happen(*turn(ANNA, "Done."))

    assert observer.told == []


def test_a_text_is_one_line_without_control_characters(observer: Observer) -> None:
    observer.happen(*turn(ANNA, "one\n\x1b[31mtwo\x07\u202e" + "x" * 900))

    ((_, _, text),) = observer.told
    assert text.startswith("one ↵ [31mtwox")
    assert text.endswith("more characters)")
    assert text.isprintable()


def test_counts_leave_out_muted_sessions_and_forget_failures(observer: Observer) -> None:
    now = observer.clock.now()

    def line() -> str:
        at = observer.clock.now()
        after = at - timedelta(hours=1)
        found = notifications.count_sessions(observer.db, now=at, ended_after=after, among=None)
        return found.line

    calm = line()
    observer.happen(facts.InputAsked(ANNA, "permission", "May it?"))
    observer.happen(facts.SessionEnded(WORKER, "signal 9", "failed"))
    both = line()
    notifications.mute(observer.db, ANNA, until=now + timedelta(minutes=1))
    muted = line()
    observer.clock.advance(3_700)

    assert (calm, both, muted, line()) == ("", "1 wait · 1 failed", "1 failed", "1 wait")


def test_counts_leave_out_hidden_sessions_until_they_need_their_person(
    observer: Observer,
) -> None:
    def line() -> str:
        at = observer.clock.now()
        after = at - timedelta(hours=1)
        found = notifications.count_sessions(observer.db, now=at, ended_after=after, among=None)
        return found.line

    for session in (ANNA, WORKER):
        observer.happen(facts.SessionHidden(session))
    observer.happen(facts.SessionEnded(WORKER, "signal 9", "failed"))
    failed = line()
    observer.happen(facts.InputAsked(ANNA, "permission", "May it?"))

    assert (failed, line()) == ("", "1 wait")
