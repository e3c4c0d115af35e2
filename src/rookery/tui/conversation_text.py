"""A conversation as text: prompts, tool calls and answers in their order."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rookery.client.live_views import ConversationInfo
from rookery.client.sessions import SessionInfo
from rookery.client.turns import TurnInfo
from rookery.model.code_blocks import markdown_parts
from rookery.presentation.denials import denial
from rookery.presentation.texts import count, one_line
from rookery.presentation.tool_lines import DENIED_CALL, call_text
from rookery.presentation.turns import outcome_note
from rookery.tui.styled import StyledLine, line, paragraph

#: Parts that stand together without an empty line between them.
_TOOL_KINDS = frozenset({"call", "result"})

#: Characters of a tool call's result that are shown.
MAX_RESULT_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class _ShownPart:
    at: str
    kind: str
    text: str
    note: str = ""  #: by whom or what a call was denied; empty if it was not
    failed: bool = False  #: of a result


def conversation_lines(conversation: ConversationInfo, width: int) -> list[StyledLine]:
    """Return the end of a conversation, wrapped to a width."""
    lines = [*_earlier(conversation.session, width)]
    if conversation.omitted:
        lines += [line(f"({count(conversation.omitted, 'earlier turn')})", "faint"), line("")]
    before = ""
    for part in sorted(_parts(conversation), key=lambda each: datetime.fromisoformat(each.at)):
        if before in _TOOL_KINDS and part.kind not in _TOOL_KINDS:
            lines.append(line(""))
        lines += _lines_of(part, width)
        before = part.kind
    while lines and lines[-1] == line(""):
        lines.pop()
    return lines


def _earlier(session: SessionInfo, width: int) -> Iterator[StyledLine]:
    """Yield how to read the conversation that a session continues."""
    if session.continues:
        command = f"rookery logs {shlex.quote(session.name)} --whole"
        text = f"It continues an earlier session. Show that, too:  {command}"
        yield from paragraph(text, width, "faint")
        yield line("")


def _parts(conversation: ConversationInfo) -> Iterator[_ShownPart]:
    for passage in conversation.transcript:
        note = denial(passage.denied_by, passage.rule)
        if passage.kind != "interruption":
            yield _ShownPart(passage.at, passage.kind, passage.text, note, passage.failed)
        elif not _is_interrupted(conversation.turns, passage.at):
            yield _ShownPart(passage.at, passage.kind, "interrupted")
    for turn in conversation.turns:
        yield from _turn_parts(turn)


def _is_interrupted(turns: Sequence[TurnInfo], at: str) -> bool:
    """Return whether the turn at a time was interrupted; its own end then reports that."""
    moment = datetime.fromisoformat(at)
    begun = [each for each in turns if datetime.fromisoformat(each.started_at) <= moment]
    return bool(begun) and begun[-1].how == "interrupted"


def _turn_parts(turn: TurnInfo) -> Iterator[_ShownPart]:
    if turn.prompt:
        yield _ShownPart(turn.started_at, "prompt", turn.prompt)
    if turn.ended_at:
        if turn.answer:
            kind = "error" if turn.how == "failed" else "words"
            yield _ShownPart(turn.ended_at, kind, turn.answer)
        if turn.how == "interrupted":
            yield _ShownPart(turn.ended_at, "interruption", outcome_note(turn))


def _lines_of(part: _ShownPart, width: int) -> list[StyledLine]:
    match part.kind:
        case "prompt":
            return [*paragraph(part.text, width, "prompt", first="❯ ", rest="  "), line("")]
        case "call":
            call = one_line(" ".join(call_text(part.text).split()))
            sign, style = (DENIED_CALL, "failed") if part.note else ("⚒", "call")
            lines = [*paragraph(call, width, style, first=f"  {sign} ", rest="    ")][:3]
            note = f"({one_line(part.note)})" if part.note else ""
            rest = paragraph(note, width, "failed", first="    ", rest="    ")
            return [*lines, *rest] if note else lines
        case "result":
            text = part.text.strip()[:MAX_RESULT_CHARACTERS]
            style, first = ("failed", "  ✗ ") if part.failed else ("faint", "  │ ")
            return [*paragraph(text, width, style, first=first, rest="  │ ")][:4]
        case "error":
            return [*paragraph(part.text, width, "failed", first="✗ ", rest="  "), line("")]
        case "interruption":
            note = f"({one_line(part.text)})"
            return [*paragraph(note, width, "failed", first="  ", rest="  "), line("")]
        case _:
            return [*_answer(part.text, width), line("")]


def _answer(text: str, width: int) -> Iterator[StyledLine]:
    """Yield an answer; blocks of code stand out."""
    for part in markdown_parts(text):
        style = "code" if part.is_code else ""
        for each in part.lines:
            yield from paragraph(each, width, style, first="  ", rest="  ")


def last_answer(conversation: ConversationInfo) -> str:
    """Return the last answer of a session; empty if there is none."""
    answers = (turn.answer for turn in reversed(conversation.turns) if turn.answer)
    return next(answers, "")
