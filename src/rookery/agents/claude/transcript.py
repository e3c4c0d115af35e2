"""Read the transcripts of Claude Code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from rookery.agents.claude import transcript_lines
from rookery.agents.claude.session_files import SESSION_FILES
from rookery.agents.claude.settings import CONFIG_DIR
from rookery.agents.shared.transcript_lines import (
    call_of,
    name_of,
    number_of,
    result_of,
    text_of,
)
from rookery.ports.transcript import (
    FolderSources,
    Kind,
    Line,
    Said,
    Tokens,
    TranscriptDialect,
    Usage,
    UsageLines,
)

#: How it writes down that a person has stopped it, also "for tool use".
_INTERRUPTED = "[Request interrupted by user"


def read(line: Line) -> Said:
    match line:
        case {"isApiErrorMessage": True, "message": {"content": content}}:
            yield "error", text_of(content)
        case {"isMeta": True} | {"isSidechain": True} | {"isCompactSummary": True}:
            return
        case {"type": "user", "message": {"content": str(text)}}:
            yield from transcript_lines.read(text)
        case {"type": "system", "subtype": "local_command", "content": str(text)}:
            yield from transcript_lines.read(text)
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
            yield "call", call_of(name, given)
        case {"type": "tool_result", "content": content}:
            yield "result", result_of(content)
        case _:
            return


def _read_usage(line: Line) -> Usage | None:
    match line:
        case {
            "type": "assistant",
            "timestamp": str(at),
            "message": {"id": str(id_), "usage": dict(usage)} as message,
        }:
            read = number_of(usage, "cache_read_input_tokens")
            written = number_of(usage, "cache_creation_input_tokens")
            fresh = number_of(usage, "input_tokens")
            used = Tokens(
                fresh + read + written, number_of(usage, "output_tokens"), read, written
            )
            return Usage(id_, datetime.fromisoformat(at), name_of(message, "model"), used)
        case _:
            return None


def folders(sources: FolderSources) -> Iterable[str]:
    """Return the usual folder of settings, and those that are set or listed."""
    yield str(Path(sources.login.get("HOME") or Path.home()) / ".claude")
    given = (each.get(CONFIG_DIR) for each in (sources.login, sources.shared, sources.own))
    yield from filter(None, given)
    yield from sources.listed


TRANSCRIPT = TranscriptDialect(
    name=r"{id}\.jsonl",
    read=read,
    place="projects/*/{id}.jsonl",
    folders=folders,
    usage=UsageLines(b'"usage"', _read_usage),
    subagents=re.compile(r"agent-[0-9A-Za-z_-]{1,100}\.jsonl"),
    session_files=SESSION_FILES,
)
