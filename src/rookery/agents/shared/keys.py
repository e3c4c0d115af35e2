"""Choose the keys that answer a dialog where no hook can return the answer. Pure.

No key is better than a wrong one: a dialog that does not read as expected is left to the person
at the terminal. Each call returns one step; the screen is read again before the next.
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

#: The option that takes free text, as each agent names it.
_FREE = re.compile(r"Type something\.?|Type your own answer|Enter a custom value")


@dataclass(frozen=True, slots=True)
class DialogKeys:
    """The keys for yes and no, and patterns for the options they choose: first and last."""

    yes: str
    reads_yes: re.Pattern[str]
    no: str
    reads_no: re.Pattern[str]
    takes_words: bool = False  #: questions accept free text and several answers at once
    hides_no: bool = False  #: the last option may be cut off; the key for no works anyway

    def keys_for(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        """Return the next step that enters a verdict in a dialog; None if it is not certain."""
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
            return Press((self.yes,)) if self.reads_yes.fullmatch(first) else None
        is_no = (self.hides_no and dialog.is_cut) or self.reads_no.fullmatch(last)
        return Press((self.no,)) if is_no else None

    def reason_note(self, call: Call) -> str:
        return "The reason is not delivered: its dialog takes none."

    def takes(self, call: Call, answers: Mapping[str, tuple[str, ...]]) -> bool:
        options = {each.text: each.options for each in call.questions}
        named = all({*given} <= {*options.get(text, ())} for text, given in answers.items())
        if call.tool == DIALOG:
            return named
        if len(call.questions) > 1:
            return named and self.takes_words
        return named or self.takes_words


def _answer_question(  # noqa: PLR0911 - a table
    dialog: Dialog, call: Call, verdict: Verdict
) -> Press | None:
    if is_review(dialog):
        is_ours = all(_is_reviewed(dialog, given) for given in verdict.answers.values())
        hand_in = choose(dialog, 0) if dialog.options else Press(("enter",))
        return hand_in if is_ours else None
    if call.tool == DIALOG:
        return _choose_named(dialog, verdict)
    question = asked_in(dialog, call)
    if question is None or question.text not in verdict.answers:
        return None
    given = verdict.answers[question.text]
    if any(_TICK.fullmatch(each) for each in dialog.options):
        return _tick(dialog, given)
    if len(given) != 1:
        return None
    names = [each.strip() for each in dialog.options]
    if given[0] in question.options and given[0] in names:
        return choose(dialog, names.index(given[0]), is_last=len(call.questions) == 1)
    if given[0] in question.options and any(each.startswith(given[0]) for each in names):
        return None  # already chosen and marked, as in "Blue ✓": there is nothing to type
    return _type_answer(dialog, question, given[0])


def _choose_named(dialog: Dialog, verdict: Verdict) -> Press | None:
    """Choose an option of a dialog that is known from the screen only."""
    given = [each for answers in verdict.answers.values() for each in answers]
    if len(given) != 1 or dialog.options.count(given[0]) != 1:
        return None
    return choose(dialog, dialog.options.index(given[0]))


def _is_reviewed(dialog: Dialog, given: tuple[str, ...]) -> bool:
    return squeeze(", ".join(given)) in squeeze(" ".join(dialog.subjects))


def _tick(dialog: Dialog, wanted: tuple[str, ...]) -> Press | None:
    """Toggle one option that differs from ``wanted``; if none does, go to the next page."""
    ticks = [_TICK.fullmatch(each) for each in dialog.options]
    names = [each["text"] for each in ticks if each]
    if not {*wanted} <= {*names}:
        return None
    for number, each in enumerate(ticks):
        if each and (each["tick"] != " ") != (each["text"] in wanted):
            return choose(dialog, number, is_last=False)
    return Press(("right",), is_last=False)


def _type_answer(dialog: Dialog, question: Question, words: str) -> Press | None:
    place = len(question.options)
    if place >= len(dialog.options):
        return None
    told = dialog.options[place]
    if dialog.chosen != place:
        return choose(dialog, place, is_last=False) if _FREE.fullmatch(told) else None
    if _FREE.fullmatch(told):
        return Press(words=one_line(words), is_last=False)
    return Press(("enter",)) if is_said(told, words) else None


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
    """Return the key that moves the mark towards an option."""
    return ("down",) if dialog.chosen is None or dialog.chosen < number else ("up",)


def is_said(shown: str, words: str) -> bool:
    """Return whether a dialog shows this text, regardless of line breaks."""
    return flat(shown) == flat(words)


def one_line(words: str) -> str:
    """Return the text as one line: a line break would act as Enter and answer the dialog."""
    return " ".join(words.split())
