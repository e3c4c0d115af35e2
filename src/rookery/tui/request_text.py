"""A permission request or questions, in full and with the keys that answer it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rookery.client.permissions import QuestionInfo, RequestInfo
from rookery.model.permissions import DIALOG
from rookery.model.tool_inputs import telling
from rookery.presentation.texts import count, one_line
from rookery.tui.answering import (
    MAX_KEYS,
    AnswerDraft,
    can_allow,
    can_write,
    takes_one_key,
)
from rookery.tui.styled import Span, StyledLine, line, paragraph

_MARGIN = "  "


def request_lines(request: RequestInfo, width: int) -> list[StyledLine]:
    """Return everything that a request asks for; nothing is left out."""
    if request.questions and request.kind == "question":
        return [*_questions(AnswerDraft(request), width, is_draft=False)]
    if plan := request.input.get("plan"):
        return [line("May it carry out its plan?", "strong"), *paragraph(str(plan), width)]
    if request.tool == DIALOG:
        return [*_dialog(request, width)]
    return [*_call(request, width)]


def _call(request: RequestInfo, width: int) -> Iterator[StyledLine]:
    """Yield the tool, its most telling input, then all other input."""
    yield line(one_line(request.tool), "strong")
    main = telling(request.input, request.tool)
    yield from paragraph(main, width, "command", first=_MARGIN, rest=_MARGIN)
    for name, value in request.input.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if text and text != main:
            margin = _MARGIN * 2
            label = f"{_MARGIN}{one_line(name)}: "
            yield from paragraph(text, width, "faint", first=label, rest=margin)


def _dialog(request: RequestInfo, width: int) -> Iterator[StyledLine]:
    """Yield a dialog that is known from the agent's screen only."""
    yield from paragraph(request.message, width, "command")
    for question in request.questions:
        yield from _options(question, [], width)


def _questions(draft: AnswerDraft, width: int, *, is_draft: bool) -> Iterator[StyledLine]:
    questions = draft.request.questions
    for place, question in enumerate(questions):
        if place:
            yield line("")
        is_current = is_draft and place == draft.current
        number = f"{place + 1}) " if len(questions) > 1 else ""
        style = "current" if is_current else "strong"
        yield from paragraph(question.text, width, style, first=number, rest=" " * len(number))
        yield from _options(question, draft.chosen.get(place, []), width)
        if text := draft.written.get(place):
            yield from paragraph(text, width, "chosen", first="  » ", rest="    ")


def draft_lines(draft: AnswerDraft, width: int) -> list[StyledLine]:
    """Return all questions, with what is chosen so far."""
    return [*_questions(draft, width, is_draft=True)]


def _options(question: QuestionInfo, chosen: list[int], width: int) -> Iterator[StyledLine]:
    for number, option in enumerate(question.options, 1):
        sign = "✓" if number in chosen else " "
        key = str(number) if number <= MAX_KEYS else " "
        style = "chosen" if number in chosen else ""
        yield from paragraph(option, width, style, first=f" {sign}{key}. ", rest=" " * 5)
        if number <= len(question.descriptions) and question.descriptions[number - 1]:
            about = question.descriptions[number - 1]
            yield from paragraph(about, width, "faint", first=" " * 5, rest=" " * 5)


def keys_line(request: RequestInfo, *, hidden_lines: int = 0) -> StyledLine:
    """Return the keys that answer a request, after the one that shows its hidden lines."""
    more = [("o", f"… {count(hidden_lines, 'more line')}")] if hidden_lines else []
    return tuple(
        span
        for key, label in [*more, *answer_keys(request)]
        for span in (Span(f" {key} ", "key"), Span(f" {label}  "))
    )


def answer_keys(request: RequestInfo) -> list[tuple[str, str]]:
    """Return the keys that answer a request, each with what it does."""
    keys: list[tuple[str, str]] = []
    if can_allow(request):
        keys += [("a", "allow"), ("A", "for the session"), ("d", "deny")]
    if request.questions and request.takes_options:
        last = min(max(len(each.options) for each in request.questions), MAX_KEYS)
        if last:
            label = "choose" if takes_one_key(request) else "answer"
            keys.append((f"1-{last}" if last > 1 else "1", label))
    if can_write(request):
        keys.append(("t", "answer in your words"))
    return keys or [("enter", "answer it in its terminal")]


def title_of(request: RequestInfo, waiting: int) -> str:
    """Return the headline of a request; ``waiting`` requests of the session are open."""
    asks = "asks for permission" if request.kind == "permission" else "asks a question"
    if len(request.questions) > 1:
        asks = f"asks {len(request.questions)} questions"
    return f"{asks} (1 of {waiting})" if waiting > 1 else asks
