from __future__ import annotations

from datetime import timedelta
from sqlite3 import Connection
from typing import Literal

import pytest

from rookery.model import facts
from rookery.model.permissions import Outcome, RequestId, Stop, Verdict
from rookery.permissions.decisions import WaitForAnswer
from rookery.permissions.stop_policy import (
    ANOTHER_WAY,
    GO_ON,
    LET_STOP,
    KeepWorking,
    StopPolicy,
    reason_to_go_on,
)
from rookery.store import dialogs, requests, sessions, turns
from rookery.store.journal import Journal
from tests.support.rows import WORKER, settle_in
from tests.support.waiting import kinds

FAILED = Stop("The build failed.", goes_on=False)
AGAIN = Stop("It failed again.", goes_on=True)


class Desk:
    """A session in the midst of a turn, and a policy for its stops."""

    def __init__(self, db: Connection, journal: Journal) -> None:
        self.db, self.journal = db, journal
        settle_in(db, journal)
        journal.append(db, facts.TurnStarted(WORKER, "go"))
        self._keys = 0

    def stop(
        self, stop: Stop, policy: Literal["off", "retry", "ask"] = "retry"
    ) -> KeepWorking | WaitForAnswer | None:
        self._keys += 1
        session = sessions.get(self.db, WORKER)
        return self._stops(policy).consider(self.db, session, stop, hook=f"k{self._keys}")

    def conclude(self, verdict: Verdict) -> str:
        session = sessions.get(self.db, WORKER)
        self._stops("ask").conclude(self.db, session, FAILED.words, verdict)
        return reason_to_go_on(verdict)

    def ask(self) -> RequestId:
        ruling = self.stop(FAILED, "ask")
        assert isinstance(ruling, WaitForAnswer)
        return ruling.request

    def _stops(self, policy: Literal["off", "retry", "ask"]) -> StopPolicy:
        return StopPolicy(self.journal, policy, 2, "failed", timedelta(seconds=300))


@pytest.fixture
def desk(db: Connection, journal: Journal) -> Desk:
    return Desk(db, journal)


def answered(words: str) -> Verdict:
    return Verdict(Outcome.ANSWERED, "anna", answers={"Shall it go on?": (words,)})


@pytest.mark.spec("D6")
def test_without_a_policy_whoever_stops_stops(desk: Desk) -> None:
    assert desk.stop(FAILED, "off") is None


@pytest.mark.spec("D6")
def test_an_error_is_tried_another_way_twice_at_most(desk: Desk) -> None:
    told = [desk.stop(FAILED), desk.stop(AGAIN), desk.stop(AGAIN)]

    assert told == [KeepWorking(ANOTHER_WAY), KeepWorking(ANOTHER_WAY), None]
    assert turns.times_held(desk.db, WORKER) == 2


@pytest.mark.spec("D6")
def test_what_does_not_look_like_an_error_may_stop(desk: Desk) -> None:
    assert desk.stop(Stop("All is well.", goes_on=False)) is None


@pytest.mark.spec("D6")
def test_where_another_hook_holds_it_nothing_is_added(desk: Desk) -> None:
    assert desk.stop(AGAIN) is None


@pytest.mark.spec("D6")
def test_a_new_turn_begins_anew(desk: Desk) -> None:
    desk.stop(FAILED)
    desk.stop(AGAIN)
    desk.journal.append(desk.db, facts.TurnEnded(WORKER), facts.TurnStarted(WORKER, "more"))

    assert desk.stop(FAILED) == KeepWorking(ANOTHER_WAY)


@pytest.mark.spec("D6", "D5")
def test_its_person_is_asked_whether_it_shall_go_on(desk: Desk) -> None:
    request = requests.get(desk.db, desk.ask())

    (question,) = request.questions
    assert question.options == (GO_ON, LET_STOP)
    assert "The build failed." in question.text
    assert sessions.get(desk.db, WORKER).activity == "question"
    assert dialogs.pending(desk.db)[WORKER].fallback == "stop"


@pytest.mark.spec("D6")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (GO_ON, ANOTHER_WAY),
        ("Continue: use the other branch", "use the other branch"),
        ("Use make.", "Use make."),
    ],
)
def test_it_goes_on_with_what_its_person_says(desk: Desk, said: str, told: str) -> None:
    desk.ask()

    assert desk.conclude(answered(said)) == told
    assert turns.times_held(desk.db, WORKER) == 1
    assert "turn-ended" not in kinds(desk.db)


@pytest.mark.spec("D6", "D3")
@pytest.mark.parametrize(
    "verdict",
    [answered(LET_STOP), Verdict(Outcome.DENIED, "the clock")],
    ids=["said", "silence"],
)
def test_it_stops_if_its_person_lets_it_or_says_nothing(desk: Desk, verdict: Verdict) -> None:
    desk.ask()

    assert desk.conclude(verdict) == ""
    (turn,) = turns.of_session(desk.db, WORKER, last=1)
    assert (turn.answer, turn.how) == ("The build failed.", "finished")
