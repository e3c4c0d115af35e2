"""Choose the keys that answer a dialog, for dialogs that hooks cannot answer. No I/O.

No key is better than a wrong one: a dialog whose text is not as expected is left to the user at
the terminal. Each call returns one step; the screen is read again before the next.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rookery.agents.shared.dialog_subjects import asked_in, flat, is_review
from rookery.model.permissions import DIALOG, Call, Outcome, Question, Verdict
from rookery.model.screens import Dialog, Press, squeeze

#: A checkbox before an option of a multiple-choice question.
_TICK = re.compile(r"\[(?P<tick>[ ✔x])\] +(?P<text>.*)")

#: The option that accepts free text, as each agent names it.
_FREE = re.compile(r"Type something\.?|Type your own answer|Enter a custom value")


@dataclass(frozen=True, slots=True)
class DialogKeys:
    """The keys for yes and no, and patterns for the options that they choose.

    A key is pressed only if the first option matches ``yes_pattern``, or the last one
    ``no_pattern``.
    """

    yes: str
    yes_pattern: re.Pattern[str]
    no: str
    no_pattern: re.Pattern[str]
    #: Whether questions accept free text, and one dialog may ask several of them.
    accepts_free_text: bool = False
    #: Whether the key for "no" works even if the last option is cut off.
    no_works_if_cut: bool = False

    def keys_for(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        """Return the next step that enters a verdict in a dialog; None if unclear."""
        if verdict.outcome is Outcome.ANSWERED:
            return _answer_question(dialog, call, verdict)
        if verdict.outcome not in {Outcome.ALLOWED, Outcome.DENIED}:
            return None
        if call.questions and call.tool != DIALOG and verdict.outcome is Outcome.DENIED:
            return Press(("escape",)) if dialog.options else None
        return self.decide(dialog, call, verdict) if dialog.kind == "permission" else None

    def decide(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        """Return the next step that allows or denies a permission."""
        first, last = (dialog.options[0], dialog.options[-1]) if dialog.options else ("", "")
        if verdict.outcome is Outcome.ALLOWED:
            return Press((self.yes,)) if self.yes_pattern.fullmatch(first) else None
        is_hidden = self.no_works_if_cut and dialog.is_cut
        is_no = is_hidden or self.no_pattern.fullmatch(last) is not None
        return Press((self.no,)) if is_no else None

    def reason_note(self, call: Call) -> str:
        return (
            "The agent did not receive your reason: this dialog has no field for one. Send it"
            " as a message."
        )

    def can_enter(self, call: Call, answers: Mapping[str, tuple[str, ...]]) -> bool:
        """Return whether keys can enter these answers.

        A dialog that is known only from the screen needs the name of an option. Several
        questions need names of options, and an agent that accepts free text. One question
        needs one of the two.
        """
        options = {each.text: each.options for each in call.questions}
        are_options = all(
            {*chosen} <= {*options.get(text, ())} for text, chosen in answers.items()
        )
        if call.tool == DIALOG:
            return are_options
        if len(call.questions) > 1:
            return are_options and self.accepts_free_text
        return are_options or self.accepts_free_text


def _answer_question(  # noqa: PLR0911 - one return for each kind of dialog
    dialog: Dialog, call: Call, verdict: Verdict
) -> Press | None:
    if is_review(dialog):
        return _submit_reviewed(dialog, verdict)
    if call.tool == DIALOG:
        return _choose_named(dialog, verdict)
    question = asked_in(dialog, call)
    if question is None or question.text not in verdict.answers:
        return None
    answers = verdict.answers[question.text]
    if any(_TICK.fullmatch(each) for each in dialog.options):
        return _tick(dialog, answers)
    if len(answers) != 1:
        return None
    answer = answers[0]
    names = [each.strip() for each in dialog.options]
    if answer in question.options and answer in names:
        return choose(dialog, names.index(answer), is_last=len(call.questions) == 1)
    if answer in question.options and any(each.startswith(answer) for each in names):
        return None  # already chosen and marked, as in "Blue ✓": there is nothing to type
    return _type_answer(dialog, question, answer)


def _submit_reviewed(dialog: Dialog, verdict: Verdict) -> Press | None:
    """Submit a page that lists all answers, if it shows exactly the answers of the verdict."""
    if not all(_is_reviewed(dialog, answers) for answers in verdict.answers.values()):
        return None
    return choose(dialog, 0) if dialog.options else Press(("enter",))


def _choose_named(dialog: Dialog, verdict: Verdict) -> Press | None:
    """Choose an option of a dialog that is known from the screen only."""
    names = [each for answers in verdict.answers.values() for each in answers]
    if len(names) != 1 or dialog.options.count(names[0]) != 1:
        return None
    return choose(dialog, dialog.options.index(names[0]))


def _is_reviewed(dialog: Dialog, answers: tuple[str, ...]) -> bool:
    return squeeze(", ".join(answers)) in squeeze(" ".join(dialog.subjects))


def _tick(dialog: Dialog, answers: tuple[str, ...]) -> Press | None:
    """Toggle one option that differs from ``answers``; if none does, go to the next page."""
    ticks = [_TICK.fullmatch(each) for each in dialog.options]
    names = [each["text"] for each in ticks if each]
    if not {*answers} <= {*names}:
        return None
    for number, each in enumerate(ticks):
        if each and (each["tick"] != " ") != (each["text"] in answers):
            return choose(dialog, number, is_last=False)
    return Press(("right",), is_last=False)


def _type_answer(dialog: Dialog, question: Question, text: str) -> Press | None:
    free_text_index = len(question.options)
    if free_text_index >= len(dialog.options):
        return None
    option = dialog.options[free_text_index]
    if dialog.chosen != free_text_index:
        is_empty = _FREE.fullmatch(option)
        return choose(dialog, free_text_index, is_last=False) if is_empty else None
    if _FREE.fullmatch(option):
        return Press(words=one_line(text), is_last=False)
    return Press(("enter",)) if shows_text(option, text) else None


def choose(dialog: Dialog, number: int, *, is_last: bool = True) -> Press | None:
    """Return the next step that chooses an option, counted from 0."""
    if not 0 <= number < len(dialog.options):
        return None
    if dialog.is_numbered and number < 9:  # noqa: PLR2004 - there is no key 10
        return Press((str(number + 1),), is_last=is_last)
    if dialog.chosen is None:
        return None
    if dialog.chosen == number:
        return Press(("enter",), is_last=is_last)
    return Press(towards(dialog, number), is_last=False)


def towards(dialog: Dialog, number: int) -> tuple[str, ...]:
    """Return the keys that move the selection one step towards an option."""
    return ("down",) if dialog.chosen is None or dialog.chosen < number else ("up",)


def shows_text(shown: str, text: str) -> bool:
    """Return whether the shown text equals ``text``, ignoring all whitespace."""
    return flat(shown) == flat(text)


def one_line(text: str) -> str:
    """Return the text as one line: a line break would act as Enter and answer the dialog."""
    return " ".join(text.split())
