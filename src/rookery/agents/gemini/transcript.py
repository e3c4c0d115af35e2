"""Read the transcripts of Gemini CLI."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from rookery.agents.gemini.settings import HOME, user_folder
from rookery.agents.shared.transcript_lines import (
    format_call,
    result_of,
    short_string,
    text_of,
    token_count,
)
from rookery.ports.transcript import (
    FolderSources,
    Line,
    PassageTexts,
    Tokens,
    TranscriptDialect,
    Usage,
    UsageParser,
)


def read(line: Line) -> PassageTexts:
    match line:
        case {"type": "user", "content": content}:
            text = text_of(content)
            if not text.startswith("<session_context>"):  # Gemini's own note
                yield "prompt", text
        # An entry without tokens is an old answer that is repeated after a denial.
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


def _read_call(call: Line) -> PassageTexts:
    match call:
        case {"name": str(name), "args": tool_input}:
            yield "call", format_call(name, tool_input)
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
                token_count(usage, "input") + token_count(usage, "tool"),
                token_count(usage, "output") + token_count(usage, "thoughts"),
                token_count(usage, "cached"),
            )
            context = used.input + used.output
            model = short_string(line, "model")
            return Usage(id_, datetime.fromisoformat(at), model, used, context)
        case _:
            return None


def folders(sources: FolderSources) -> Iterable[str]:
    """Yield Gemini's folders: for sessions that the user starts, and for those of Rookery."""
    ours = {**sources.login, **sources.shared, **sources.own}
    for each in (sources.login, ours):
        if home := each.get(HOME) or each.get("HOME"):
            yield str(user_folder(each, Path(home)))


TRANSCRIPT = TranscriptDialect(
    name=r"session-.+-{head}\.jsonl",
    read=read,
    place="tmp/*/chats/session-*-{head}.jsonl",
    folders=folders,
    usage=UsageParser(b'"tokens"', _read_usage),
    repeats_prompts=True,  # Gemini CLI 0.61, after a refusal at the keyboard
)
