"""Read the transcripts of Gemini CLI."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from rookery.agents.gemini.settings import HOME, user_folder
from rookery.agents.shared.transcript_lines import (
    call_of,
    name_of,
    number_of,
    result_of,
    text_of,
)
from rookery.ports.transcript import (
    FolderSources,
    Line,
    Said,
    Tokens,
    TranscriptDialect,
    Usage,
    UsageLines,
)


def read(line: Line) -> Said:
    match line:
        case {"type": "user", "content": content}:
            text = text_of(content)
            if not text.startswith("<session_context>"):  # which it says to itself
                yield "prompt", text
        # Without tokens it is an old answer, written down again after a refusal.
        case {"type": "gemini", "content": content, "tokens": dict()}:
            yield "words", text_of(content)
            for call in line.get("toolCalls") or ():
                yield from _read_call(call)
        case {"type": "error", "content": content}:
            yield "error", text_of(content)
        case {"type": "info", "content": "Request cancelled." as text}:
            yield "interruption", text
        case _:
            return


def _read_call(call: Line) -> Said:
    match call:
        case {"name": str(name), "args": given}:
            yield "call", call_of(name, given)
            for part in call.get("result") or ():
                yield "result", result_of(_output(part))
        case _:
            return


def _output(part: Line) -> Line:
    match part:
        case {"functionResponse": {"response": {"output": output} | {"error": output}}}:
            return output
        case _:
            return ""


def _read_usage(line: Line) -> Usage | None:
    match line:
        case {"type": "gemini", "id": str(id_), "timestamp": str(at), "tokens": dict(usage)}:
            used = Tokens(
                number_of(usage, "input") + number_of(usage, "tool"),
                number_of(usage, "output") + number_of(usage, "thoughts"),
                number_of(usage, "cached"),
            )
            return Usage(id_, datetime.fromisoformat(at), name_of(line, "model"), used)
        case _:
            return None


def folders(sources: FolderSources) -> Iterable[str]:
    """Return its folders where its user starts it, and where Rookery does."""
    ours = {**sources.login, **sources.shared, **sources.own}
    for each in (sources.login, ours):
        if home := each.get(HOME) or each.get("HOME"):
            yield str(user_folder(each, Path(home)))


TRANSCRIPT = TranscriptDialect(
    name=r"session-.+-{head}\.jsonl",
    read=read,
    place="tmp/*/chats/session-*-{head}.jsonl",
    folders=folders,
    usage=UsageLines(b'"tokens"', _read_usage),
)
