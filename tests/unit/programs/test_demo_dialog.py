"""The demo agent's dialogs."""

from __future__ import annotations

import pytest

from rookery.programs.demo import dialog
from rookery.programs.demo.dialog import ChoiceDialog
from rookery.programs.demo.hooks import Decision, HookCall, Ruling
from rookery.programs.demo.input import InputEvent, KeyPress, Pasted, Typed


def pressed(dialog: ChoiceDialog, *events: InputEvent) -> Decision | None:
    for event in events:
        dialog.press(event)
    return dialog.decision


def heard(dialog: ChoiceDialog, decision: Decision) -> Decision | None:
    """Return what the dialog makes of its hook's decision."""
    dialog.hook = HookCall(decision)
    return dialog.decision


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


def test_the_first_choice_is_final() -> None:
    assert pressed(dialog.permission("Bash", "ls"), Typed("2"), Typed("3")) == Decision(
        Ruling.ALWAYS
    )


def test_a_hook_answers_a_question_by_its_label() -> None:
    asked = dialog.question("Which?", ("Red", "Blue"))

    answer = heard(asked, Decision(Ruling.ALLOW, answers={"Which?": "Red"}))

    assert answer == Decision(Ruling.ALLOW, "Red")


@pytest.mark.parametrize(
    "decision",
    [Decision(), Decision(Ruling.ALLOW), Decision(Ruling.ALLOW, answers={"What?": "x"})],
)
def test_a_question_stands_until_it_is_answered(decision: Decision) -> None:
    assert heard(dialog.question("Which?", ("Red", "Blue")), decision) is None


def test_a_hook_decides_a_permission() -> None:
    denied = Decision(Ruling.DENY, "no")

    assert heard(dialog.permission("Bash", "ls"), denied) == denied
    assert heard(dialog.permission("Bash", "ls"), Decision()) is None
