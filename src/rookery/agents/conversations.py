"""What agents' transcripts say of a conversation: a line in, what was said in it out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from rookery.agents.claude import transcript_lines as claude_lines

#: An ``error`` is what the program itself says of why it stopped.
Kind: TypeAlias = Literal["prompt", "words", "call", "result", "error", "interruption"]

#: Characters kept of what a tool was given, and of what it gave back.
LONGEST_CALL, LONGEST_RESULT = 500, 1_000


@dataclass(frozen=True, slots=True)
class Passage:
    """One thing that was said or done in a conversation."""

    at: datetime
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """What one line says. A later line of the same id says it again, and more."""

    id: str
    passages: tuple[Passage, ...]


#: How Claude writes down that a person has stopped it, also "for tool use".
_INTERRUPTED = "[Request interrupted by user"

Line: TypeAlias = Any  #: JSON of others
Said: TypeAlias = Iterator[tuple[Kind, str]]


def read_line(agent: str, line: bytes) -> Written | None:
    """Read a line. ``None`` if it says nothing, or cannot be read."""
    dialect = _DIALECTS.get(agent)
    if dialect is None or not line:
        return None
    try:
        found: Line = json.loads(line)
        at = datetime.fromisoformat(found["timestamp"])
        told = [(kind, _whole(text).strip()) for kind, text in dialect(found)]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    if at.tzinfo is None:
        return None
    passages = tuple(Passage(at, kind, text) for kind, text in told if text)
    # Codex and Claude write each thing once; what names a line is only where it stands.
    id_ = found.get("id")
    return Written(id_ if isinstance(id_, str) else "", passages) if told else None


def _whole(text: str) -> str:
    """Take halves of characters out, which nobody can write down."""
    return text.encode(errors="replace").decode()


def _read_claude(line: Line) -> Said:
    match line:
        case {"isApiErrorMessage": True, "message": {"content": content}}:
            yield "error", _text(content)
        case {"isMeta": True} | {"isSidechain": True} | {"isCompactSummary": True}:
            return
        case {"type": "user", "message": {"content": str(text)}}:
            yield from claude_lines.read(text)
        case {"type": "system", "subtype": "local_command", "content": str(text)}:
            yield from claude_lines.read(text)
        case {"type": "user" | "assistant" as by, "message": {"content": list(blocks)}}:
            for block in blocks:
                yield from _read_block(block, "words" if by == "assistant" else "prompt")
        case _:
            return


def _read_block(block: Line, kind: Kind) -> Said:
    match block:
        case {"type": "text", "text": str(text)} if text.startswith(_INTERRUPTED):
            yield "interruption", text
        case {"type": "text", "text": str(text)}:
            yield kind, text
        case {"type": "tool_use", "name": str(name), "input": given}:
            yield "call", _call(name, given)
        case {"type": "tool_result", "content": content}:
            yield "result", _shortened(_text(content), LONGEST_RESULT)
        case _:
            return


def _read_codex(line: Line) -> Said:
    match line["payload"]:
        case {
            "type": "item_completed",
            "item": {"type": "UserMessage", "content": content},
        }:
            yield "prompt", _text(content)
        case {"type": "message", "role": "assistant", "content": content}:
            yield "words", _text(content)
        case {"type": "function_call", "name": str(name), "arguments": given}:
            yield "call", _call(name, given)
        case {"type": "custom_tool_call", "name": str(name), "input": given}:
            yield "call", _call(name, given)
        case {"type": "function_call_output" | "custom_tool_call_output", "output": output}:
            yield "result", _shortened(_text(output), LONGEST_RESULT)
        case {"type": "turn_aborted", "reason": str(reason)}:
            yield "interruption", reason
        case {"type": "task_complete", "error": {"message": str(text)}}:
            yield "error", text
        case _:
            return


def _read_demo(line: Line) -> Said:
    kinds: Mapping[str, Kind] = {
        "user": "prompt",
        "assistant": "words",
        "error": "error",
        "interrupted": "interruption",
    }
    match line:
        case {"type": str(kind), "text": str(text)} if kind in kinds:
            yield kinds[kind], text or kind
        case _:
            return


def _read_gemini(line: Line) -> Said:
    match line:
        case {"type": "user", "content": content}:
            text = _text(content)
            if not text.startswith("<session_context>"):  # which it says to itself
                yield "prompt", text
        # Without tokens it is an old answer, written down again after a refusal.
        case {"type": "gemini", "content": content, "tokens": dict()}:
            yield "words", _text(content)
            for call in line.get("toolCalls") or ():
                yield from _read_gemini_call(call)
        case {"type": "error", "content": content}:
            yield "error", _text(content)
        case {"type": "info", "content": "Request cancelled." as text}:
            yield "interruption", text
        case _:
            return


def _read_gemini_call(call: Line) -> Said:
    match call:
        case {"name": str(name), "args": given}:
            yield "call", _call(name, given)
            for part in call.get("result") or ():
                yield "result", _shortened(_text(_output(part)), LONGEST_RESULT)
        case _:
            return


def _output(part: Line) -> Line:
    match part:
        case {"functionResponse": {"response": {"output": output} | {"error": output}}}:
            return output
        case _:
            return ""


def _text(content: Line) -> str:
    """Join what is text of a content, which may be one or in parts."""
    return content if isinstance(content, str) else "\n".join(_texts(content))


def _texts(parts: Line) -> Iterator[str]:
    for part in parts if isinstance(parts, list) else ():
        match part:
            case {"text": str(text)} | str(text):
                yield text
            case _:
                continue


def _call(name: str, given: Line) -> str:
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return f"{name} {_shortened(text, LONGEST_CALL)}"


def _shortened(text: str, longest: int) -> str:
    text = text.strip()
    if len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(text) - longest:,} characters more)"


_DIALECTS: Mapping[str, Callable[[Line], Said]] = {
    "claude": _read_claude,
    "codex": _read_codex,
    "gemini": _read_gemini,
    "demo": _read_demo,
}

#: Where an agent keeps its transcripts, in its own folder: a pattern.
_PLACES: Mapping[str, str] = {
    "claude": "projects/*/{id}.jsonl",
    "gemini": "tmp/*/chats/session-*-{head}.jsonl",
}


def place_of(agent: str, native_id: str) -> str:
    """Say where the transcript of a session is, in its agent's folder: a pattern.

    Empty where nobody can tell. It is for texts that are no pattern themselves.
    """
    pattern = _PLACES.get(agent, "")
    is_plain = native_id.replace("-", "").isalnum()
    return pattern.format(id=native_id, head=native_id[:8]) if is_plain else ""
