"""The demo agent's dialogs."""

from __future__ import annotations

import pytest

from rookery.programs.demo import dialog
from rookery.programs.demo.dialog import ChoiceDialog
from rookery.programs.demo.hooks import Decision, Ruling
from rookery.programs.demo.input import InputEvent, KeyPress, Pasted, Typed


def pressed(shown: ChoiceDialog, *events: InputEvent) -> ChoiceDialog | Decision:
    outcome: ChoiceDialog | Decision = shown
    for event in events:
        assert isinstance(outcome, ChoiceDialog)
        outcome = outcome.pressed(event)
    return outcome


@pytest.mark.parametrize(
    ("events", "ruling"),
    [
        ([KeyPress.ENTER], Ruling.ALLOW),
        ([Typed("1")], Ruling.ALLOW),
        ([Typed("2")], Ruling.ALWAYS),
        ([KeyPress.DOWN, KeyPress.ENTER], Ruling.ALWAYS),
        ([Typed("3")], Ruling.REFUSE),
        ([KeyPress.UP, KeyPress.ENTER], Ruling.REFUSE),
        ([KeyPress.ESCAPE], Ruling.REFUSE),
        ([KeyPress.CANCEL], Ruling.REFUSE),
        ([Pasted("2"), Typed("fix bug 3")], Ruling.REFUSE),
        ([Typed("no!"), KeyPress.BACKSPACE, Typed("9"), KeyPress.ENTER], Ruling.ALLOW),
    ],
)
def test_keys_choose(events: list[InputEvent], ruling: Ruling) -> None:
    assert pressed(dialog.permission("Bash", "ls"), *events) == Decision(ruling)


def test_the_option_chosen_is_the_answer_to_a_question() -> None:
    asked = dialog.question("Which?", ("Red", "Blue"))

    assert pressed(asked, Typed("2")) == Decision(Ruling.ALLOW, "Blue")


def test_a_hook_answers_a_question_by_its_label() -> None:
    asked = dialog.question("Which?", ("Red", "Blue"))

    assert asked.heard(Decision(Ruling.ALLOW, answers={"Which?": "Red"})) == Decision(
        Ruling.ALLOW, "Red"
    )


@pytest.mark.parametrize(
    "decision",
    [Decision(), Decision(Ruling.ALLOW), Decision(Ruling.ALLOW, answers={"What?": "x"})],
)
def test_a_question_stands_until_it_is_answered(decision: Decision) -> None:
    assert dialog.question("Which?", ("Red", "Blue")).heard(decision) is None


def test_a_hook_decides_a_permission() -> None:
    asked = dialog.permission("Bash", "ls")

    assert asked.heard(Decision(Ruling.DENY, "no")) == Decision(Ruling.DENY, "no")
    assert asked.heard(Decision()) is None
