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
    format_call,
    result_of,
    short_string,
    text_of,
    token_count,
)
from rookery.ports.transcript import (
    FolderSources,
    Kind,
    Line,
    PassageTexts,
    Tokens,
    TranscriptDialect,
    Usage,
    UsageParser,
)

#: The start of the text that records an interruption; "]" or " for tool use]" follows.
_INTERRUPTED = "[Request interrupted by user"


def read(line: Line) -> PassageTexts:
    match line:
        case {"isMeta": True} | {"isSidechain": True} | {"isCompactSummary": True}:
            return
        case {"isApiErrorMessage": True, "message": {"content": content}}:
            yield "error", text_of(content)
        case {"type": "user", "message": {"content": str(text)}}:
            yield from transcript_lines.read(text)
        case {"type": "system", "subtype": "local_command", "content": str(text)}:
            yield from transcript_lines.read(text)
        case {"type": "user" | "assistant" as by, "message": {"content": list(blocks)}}:
            for block in blocks:
                yield from _read_block(block, "words" if by == "assistant" else "prompt")
        case _:
            return


def _read_block(block: Line, kind: Kind) -> PassageTexts:
    match block:
        case {"type": "text", "text": str(text)} if text.startswith(_INTERRUPTED):
            yield "interruption", text
        case {"type": "text", "text": str(text)}:
            yield kind, text
        case {"type": "tool_use", "name": str(name), "input": tool_input}:
            yield "call", format_call(name, tool_input)
        case {"type": "tool_result", "content": content, "is_error": True}:
            yield "failure", result_of(content)
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
            cache_read = token_count(usage, "cache_read_input_tokens")
            cache_write = token_count(usage, "cache_creation_input_tokens")
            given = token_count(usage, "input_tokens") + cache_read + cache_write
            used = Tokens(given, token_count(usage, "output_tokens"), cache_read, cache_write)
            context = 0 if line.get("isSidechain") else used.input + used.output
            model = short_string(message, "model")
            return Usage(id_, datetime.fromisoformat(at), model, used, context)
        case _:
            return None


def folders(sources: FolderSources) -> Iterable[str]:
    """Yield Claude Code's own folders: the default, those of environments, configured ones."""
    yield str(Path(sources.login.get("HOME") or Path.home()) / ".claude")
    environments = (sources.login, sources.shared, sources.own)
    yield from filter(None, (each.get(CONFIG_DIR) for each in environments))
    yield from sources.listed


TRANSCRIPT = TranscriptDialect(
    name=r"{id}\.jsonl",
    read=read,
    place="projects/*/{id}.jsonl",
    folders=folders,
    usage=UsageParser(b'"usage"', _read_usage),
    subagents=re.compile(r"agent-[0-9A-Za-z_-]{1,100}\.jsonl"),
    session_files=SESSION_FILES,
)
