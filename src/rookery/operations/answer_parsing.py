"""Parse answers to questions: options by their number, name or prefix, or free text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import partial

from rookery.model.errors import BadInput
from rookery.model.names import SHOWN_NAME_CHARACTERS
from rookery.model.permissions import Question, Request

#: Digits of a number that are read; no question has more options than that.
_MAX_DIGITS = 9

#: Stands for a comma in the name of an option while an answer is split.
_COMMA = "\0"


def given_answers(
    request: Request, answers: tuple[str, ...], *, own_words: bool
) -> dict[str, tuple[str, ...]]:
    """Return the answers by question: an option by its name or number, or free text.

    If the request does not take free text, no error suggests it.
    """
    strictly = partial(chosen, request=request.id, takes_text=request.takes_text)
    choose = _as_option if own_words else strictly
    if len(request.questions) > 1 and len(answers) != len(request.questions):
        each = " ".join(f"ANSWER{number}" for number in range(1, len(request.questions) + 1))
        raise BadInput(
            f"it asks {len(request.questions)} questions; answer all of them, in order:"
            f"  rookery answer {request.id} {each}"
        )
    if not answers:
        raise BadInput("an answer is missing.")
    if len(request.questions) == 1:
        (question,) = request.questions
        if len(answers) > 1 and not question.takes_several:
            raise BadInput("it takes one answer; put an answer of several words in quotes.")
        return {question.text: tuple(choose(question.options, each) for each in answers)}
    return {
        question.text: _several(question, each, choose)
        for question, each in zip(request.questions, answers, strict=True)
    }


def _several(
    question: Question, answer: str, choose: Callable[[tuple[str, ...], str], str]
) -> tuple[str, ...]:
    """Parse the answer to one question: if it takes several options, commas separate them."""
    if not question.takes_several or _matched(question.options, answer):
        return (choose(question.options, answer),)
    parts = _split(question.options, answer)
    return tuple(choose(question.options, each.strip()) for each in parts)


def _split(options: tuple[str, ...], answer: str) -> list[str]:
    """Split an answer at its commas, but not at those in the name of an option."""
    for name in sorted(options, key=len, reverse=True):
        named = rf"(?:^|,)\s*{re.escape(name)}\s*(?=,|$)"
        answer = re.sub(named, _protected, answer, flags=re.IGNORECASE)
    return [each.replace(_COMMA, ",") for each in answer.split(",")]


def _protected(named: re.Match[str]) -> str:
    """Return an option that was named in an answer, with a stand-in for its own commas."""
    return named[0][:1] + named[0][1:].replace(",", _COMMA)


def chosen(
    options: tuple[str, ...], answer: str, *, request: str, takes_text: bool = True
) -> str:
    """Return the option that a text names: by its number, its name, or a unique prefix.

    Raises ``BadInput`` if it names no option, or several: free text must be marked as such.
    The error shows the command for that, which names the request.
    """
    if not options:
        return answer
    if option := _matched(options, answer):
        return option
    shown = " ".join(answer.split())[:SHOWN_NAME_CHARACTERS]
    matching = _matching(options, answer)
    which = "may be the one or the other" if len(matching) > 1 else "is none of the options"
    command = f"rookery answer {request}"
    free = f"To give it as free text:  {command} --text {shlex.quote(shown)}"
    how = free if takes_text else f"Choose one:  {command} NUMBER"
    raise BadInput(f"{shown} {which}: {_in_order(options)}. {how}")


def _matched(options: tuple[str, ...], answer: str) -> str:
    """Return the one option that a text names; empty if it names none, or several."""
    matching = _matching(options, answer)
    return matching.pop() if len(matching) == 1 else ""


def _matching(options: tuple[str, ...], answer: str) -> set[str]:
    text = answer.strip().lower()
    if not text:
        return set()
    equal = {each for each in options if each.lower() == text}
    if text.isdecimal():
        number = int(text[:_MAX_DIGITS])
        return {*options[number - 1 : number], *equal} if number else equal
    return equal or {each for each in options if each.lower().startswith(text)}


def how_to_answer(request: Request) -> str:
    """Return the options of a request with one question, and the command that answers it."""
    command = f"rookery answer {request.id}"
    options = request.questions[0].options if len(request.questions) == 1 else ()
    return f"{_in_order(options)}:  {command} NUMBER" if options else f"{command} WORDS"


def listed(question: Question) -> str:
    return _in_order(question.options)


def _in_order(options: tuple[str, ...]) -> str:
    shorts = (" ".join(each.split())[:SHOWN_NAME_CHARACTERS] for each in options)
    return ", ".join(f"{place}. {each}" for place, each in enumerate(shorts, 1))


def _as_option(options: tuple[str, ...], answer: str) -> str:
    return next((each for each in options if each.lower() == answer.lower()), answer)


def spoken_answers(request: Request, text: str) -> dict[str, tuple[str, ...]]:
    """Parse a text into answers: an option by its name or number, else free text."""
    questions = request.questions
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    answers = lines if len(questions) > 1 else [text.strip()]
    if len(answers) != len(questions) or not all(answers):
        count = len(questions)
        raise BadInput(f"it asks {count} questions; answer each on a line of its own.")
    return {
        question.text: (_matched(question.options, each) or each,)
        for question, each in zip(questions, answers, strict=True)
    }
