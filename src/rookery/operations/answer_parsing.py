"""Parse answers to questions: options by their number, name or prefix, or free text."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from rookery.model.errors import BadInput
from rookery.model.names import SHOWN_NAME_CHARACTERS
from rookery.model.permissions import Question, Request

#: Digits of a number that are read; no question has so many options.
_MAX_DIGITS = 9


def given_answers(
    request: Request, given: tuple[str, ...], *, own_words: bool
) -> dict[str, tuple[str, ...]]:
    """Return the answers by question: an option by its name or number, or free text."""
    choose = _named if own_words else chosen
    if len(request.questions) > 1 and len(given) != len(request.questions):
        each = " ".join(f"ANSWER{number}" for number in range(1, len(request.questions) + 1))
        raise BadInput(
            f"it asks {len(request.questions)} questions; answer all of them, in order:"
            f"  rookery answer NAME {each}"
        )
    if not given:
        raise BadInput("an answer is missing.")
    if len(request.questions) == 1:
        (question,) = request.questions
        if len(given) > 1 and not question.takes_several:
            raise BadInput("it takes one answer; put an answer of several words in quotes.")
        return {question.text: tuple(choose(question.options, each) for each in given)}
    return {
        question.text: _several(question, each, choose)
        for question, each in zip(request.questions, given, strict=True)
    }


def _several(
    question: Question, given: str, choose: Callable[[tuple[str, ...], str], str]
) -> tuple[str, ...]:
    """Parse the answer to one question: if it takes several options, commas separate them."""
    if not question.takes_several or _matched(question.options, given):
        return (choose(question.options, given),)
    return tuple(choose(question.options, each.strip()) for each in given.split(","))


def chosen(options: tuple[str, ...], given: str) -> str:
    """Return the option that a text names: by its number, its name, or a unique prefix.

    Raises ``BadInput`` if it names no option, or several: free text must be marked as such.
    """
    if not options:
        return given
    if found := _matched(options, given):
        return found
    shown = " ".join(given.split())[:SHOWN_NAME_CHARACTERS]
    meant = _meant(options, given)
    which = "may be the one or the other" if len(meant) > 1 else "is none of the options"
    own = f"rookery answer NAME --text {shlex.quote(shown)}"
    raise BadInput(f"{shown} {which}: {_in_order(options)}. To give it as free text:  {own}")


def _matched(options: tuple[str, ...], given: str) -> str:
    """Return the one option that a text names; empty if it names none, or several."""
    meant = _meant(options, given)
    return meant.pop() if len(meant) == 1 else ""


def _meant(options: tuple[str, ...], given: str) -> set[str]:
    words = given.strip().lower()
    if not words:
        return set()
    named = {each for each in options if each.lower() == words}
    if words.isdecimal():
        number = int(words[:_MAX_DIGITS])
        return {*options[number - 1 : number], *named} if number else named
    return named or {each for each in options if each.lower().startswith(words)}


def listed(question: Question) -> str:
    return _in_order(question.options)


def _in_order(options: tuple[str, ...]) -> str:
    shorts = (" ".join(each.split())[:SHOWN_NAME_CHARACTERS] for each in options)
    return ", ".join(f"{place}. {each}" for place, each in enumerate(shorts, 1))


def _named(options: tuple[str, ...], given: str) -> str:
    return next((each for each in options if each.lower() == given.lower()), given)


def spoken_answers(request: Request, words: str) -> dict[str, tuple[str, ...]]:
    """Parse a text into answers: an option by its name or number, else free text."""
    params = request.questions
    lines = [each.strip() for each in words.splitlines() if each.strip()]
    given = lines if len(params) > 1 else [words.strip()]
    if len(given) != len(params) or not all(given):
        count = len(params)
        raise BadInput(f"it asks {count} questions; answer each on a line of its own.")
    return {
        question.text: (_matched(question.options, each) or each,)
        for question, each in zip(params, given, strict=True)
    }
