from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from sqlite3 import Connection

import pytest

from rookery.model import facts
from rookery.model.permissions import Call, Outcome, Question, Request, Verdict
from rookery.model.screens import Dialog
from rookery.permissions import screen_dialogs
from rookery.permissions.decisions import Pass, Permissions, Ruling, WaitForAnswer
from rookery.permissions.rules_file import RulesFile
from rookery.store import audit, flags, request_keys, requests, sessions
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.rows import WORKER, settle_in

MAKE = Call("Bash", {"command": "make"})
MAKE_DIALOG = Dialog(
    "permission", "Bash make Do you want to proceed?", ("Yes", "No"), 0, subjects=("make",)
)
COLOUR = Question("Which colour?", ("Red", "Blue"))
ASK = Call("AskUserQuestion", {}, (COLOUR, Question("Which tests?", ("unit", "e2e"))))
ASK_DIALOG = Dialog(
    "question", "Which colour?", ("Red", "Blue"), 0, subjects=("Which colour?",)
)


class Bench:
    """A session whose screen is read, and whose hooks come late."""

    def __init__(self, db: Connection, journal: Journal, rules: Path) -> None:
        self.db, self.journal = db, journal
        self.permissions = Permissions(journal, RulesFile(rules), timedelta(seconds=300))
        settle_in(db, journal)
        journal.append(db, facts.TurnStarted(WORKER, "go"))
        flags.set_mode(db, "remote")

    def see(self, dialog: Dialog) -> Request:
        """Have its screen read; return the request that comes of it."""
        session = sessions.get(self.db, WORKER)
        screen_dialogs.note(self.db, self.permissions, session, dialog)
        (found,) = self.open
        return found

    def hear(self, call: Call, *, at: float = 0.0) -> Ruling:
        """Have its hook come, which ran at a moment."""
        ran = self.journal.clock.now() + timedelta(seconds=at)
        key = f"{int(ran.timestamp() * 1e9):020d}-{'0' * 16}"
        session = sessions.get(self.db, WORKER)
        return self.permissions.consider(self.db, session, call, hook=key, can_ask=True)

    def answer(self, request: Request, verdict: Verdict) -> None:
        self.permissions.answer(self.db, requests.get(self.db, request.id), verdict)

    @property
    def open(self) -> list[Request]:
        return requests.open_of(self.db, WORKER)

    @property
    def decisions(self) -> list[str]:
        return [each.decision for each in audit.decided(self.db, limit=9)]


@pytest.fixture
def make_bench(db: Connection, clock: FakeClock, tmp_path: Path) -> Callable[[str], Bench]:
    def make(rules: str) -> Bench:
        (tmp_path / "rules.toml").write_text(rules)
        bench = Bench(db, Journal("here", clock, readers={}), tmp_path / "rules.toml")
        if reading := bench.permissions.rules_file.look():
            bench.permissions.rules_file.adopt(reading)
        return bench

    return make


@pytest.fixture
def bench(make_bench: Callable[[str], Bench]) -> Bench:
    return make_bench("")


@pytest.mark.spec("D5")
@pytest.mark.parametrize(("call", "dialog"), [(MAKE, MAKE_DIALOG), (ASK, ASK_DIALOG)])
def test_a_hook_takes_over_the_request_that_was_read_off_the_screen(
    bench: Bench, call: Call, dialog: Dialog
) -> None:
    seen = bench.see(dialog)

    ruling = bench.hear(call)

    (found,) = bench.open
    assert ruling == WaitForAnswer(seen.id)
    assert (found.id, found.source, found.by_keys) == (seen.id, "hook", False)
    assert (found.tool, found.kind, found.questions) == (call.tool, call.kind, call.questions)
    assert found.deadline
    assert sessions.get(bench.db, WORKER).reason == call.summary
    assert bench.decisions == []


@pytest.mark.spec("D5")
def test_a_hook_that_was_spooled_takes_over_its_dialog_as_well(bench: Bench) -> None:
    seen = bench.see(MAKE_DIALOG)

    bench.permissions.note(bench.db, sessions.get(bench.db, WORKER), MAKE)

    (found,) = bench.open
    assert (found.id, found.source, found.by_keys) == (seen.id, "hook", True)


@pytest.mark.spec("D5")
def test_a_hook_of_another_call_is_another_request(bench: Bench) -> None:
    seen = bench.see(MAKE_DIALOG)

    bench.hear(Call("Bash", {"command": "make clean"}))

    assert {each.source for each in bench.open} == {"screen", "hook"}
    assert seen.id in {each.id for each in bench.open}


@pytest.mark.spec("D2", "D5")
def test_an_answer_that_was_given_before_its_hook_came_is_the_one(
    bench: Bench, clock: FakeClock
) -> None:
    seen = bench.see(MAKE_DIALOG)
    bench.answer(seen, Verdict(Outcome.ALLOWED, "anna"))

    ruling = bench.hear(MAKE)

    assert ruling == Pass()
    assert bench.open == []
    due = request_keys.next_press(bench.db, WORKER)
    assert due
    assert due.id == seen.id
    clock.advance(2)
    bench.permissions.note_press(bench.db, due)
    assert bench.hear(MAKE, at=-3) == Pass()
    assert bench.open == []


@pytest.mark.spec("D2", "D5")
def test_the_same_call_that_is_asked_about_again_is_a_request_of_its_own(
    bench: Bench, clock: FakeClock
) -> None:
    seen = bench.see(MAKE_DIALOG)
    bench.answer(seen, Verdict(Outcome.DENIED, "anna"))
    bench.permissions.note_press(bench.db, requests.get(bench.db, seen.id))
    clock.advance(1)

    ruling = bench.hear(MAKE)

    (found,) = bench.open
    assert ruling == WaitForAnswer(found.id)
    assert found.id != seen.id


@pytest.mark.spec("D1", "D4", "D5")
def test_a_rule_decides_although_the_screen_was_read_before(
    make_bench: Callable[[str], Bench],
) -> None:
    bench = make_bench('[[deny]]\nname = "no make"\ntool = "Bash"\n')
    bench.see(MAKE_DIALOG)

    ruling = bench.hear(MAKE)

    assert isinstance(ruling, Verdict)
    assert ruling.outcome is Outcome.DENIED
    assert bench.open == []
    assert bench.decisions == ["denied"]
    assert sessions.get(bench.db, WORKER).activity == "working"


@pytest.mark.spec("D1", "D5")
def test_a_dialog_that_a_rule_has_closed_is_no_new_one_while_it_is_still_drawn(
    make_bench: Callable[[str], Bench], clock: FakeClock
) -> None:
    bench = make_bench('[[deny]]\nname = "no make"\ntool = "Bash"\n')
    bench.hear(MAKE)

    now, later = (
        clock.now(),
        clock.now() + timedelta(seconds=screen_dialogs.LINGERING_SECONDS + 1),
    )

    assert screen_dialogs.is_lingering(bench.db, WORKER, MAKE_DIALOG, now)
    assert not screen_dialogs.is_lingering(bench.db, WORKER, ASK_DIALOG, now)
    assert not screen_dialogs.is_lingering(bench.db, WORKER, MAKE_DIALOG, later)
