"""The demo agent's dialogs."""

from __future__ import annotations

import pytest

from rookery.programs.demo import dialog
from rookery.programs.demo.dialog import Dialog
from rookery.programs.demo.keys import Event, Key, Pasted, Typed
from rookery.programs.demo.verdicts import Ruling, Verdict


def pressed(shown: Dialog, *events: Event) -> Dialog | Verdict:
    outcome: Dialog | Verdict = shown
    for event in events:
        assert isinstance(outcome, Dialog)
        outcome = outcome.pressed(event)
    return outcome


@pytest.mark.parametrize(
    ("events", "ruling"),
    [
        ([Key.ENTER], Ruling.ALLOW),
        ([Typed("1")], Ruling.ALLOW),
        ([Typed("2")], Ruling.ALWAYS),
        ([Key.DOWN, Key.ENTER], Ruling.ALWAYS),
        ([Typed("3")], Ruling.REFUSE),
        ([Key.UP, Key.ENTER], Ruling.REFUSE),
        ([Key.ESCAPE], Ruling.REFUSE),
        ([Key.CANCEL], Ruling.REFUSE),
        ([Pasted("2"), Typed("fix bug 3")], Ruling.REFUSE),
        ([Typed("no!"), Key.BACKSPACE, Typed("9"), Key.ENTER], Ruling.ALLOW),
    ],
)
def test_keys_choose(events: list[Event], ruling: Ruling) -> None:
    assert pressed(dialog.permission("Bash", "ls"), *events) == Verdict(ruling)


def test_the_option_chosen_is_the_answer_to_a_question() -> None:
    asked = dialog.question("Which?", ("Red", "Blue"))

    assert pressed(asked, Typed("2")) == Verdict(Ruling.ALLOW, "Blue")


def test_a_hook_answers_a_question_by_its_label() -> None:
    asked = dialog.question("Which?", ("Red", "Blue"))

    assert asked.heard(Verdict(Ruling.ALLOW, answers={"Which?": "Red"})) == Verdict(
        Ruling.ALLOW, "Red"
    )


@pytest.mark.parametrize(
    "verdict", [Verdict(), Verdict(Ruling.ALLOW), Verdict(Ruling.ALLOW, answers={"What?": "x"})]
)
def test_a_question_stands_until_it_is_answered(verdict: Verdict) -> None:
    assert dialog.question("Which?", ("Red", "Blue")).heard(verdict) is None


def test_a_hook_decides_a_permission() -> None:
    asked = dialog.permission("Bash", "ls")

    assert asked.heard(Verdict(Ruling.DENY, "no")) == Verdict(Ruling.DENY, "no")
    assert asked.heard(Verdict()) is None
