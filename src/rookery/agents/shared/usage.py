"""What agents' transcripts say of tokens: a line in, what one response used out.

Claude counts what came from its cache beside the rest, Codex and Gemini among it. Here it is
always among it: tokens that went in are all that went in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any, NamedTuple, TypeAlias

#: Files of Claude's subagents, in a folder beside the transcript.
SUBAGENT = re.compile(r"agent-[0-9A-Za-z_-]{1,100}\.jsonl")

#: Characters of an id and of a model's name.
_LONGEST = 200

#: Tokens of one response; nobody has used that many.
_MOST = 10**9


class Tokens(NamedTuple):
    """What was used. Of what went in, some may have come from a cache or gone to one."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """What one response of a model used, as its agent wrote it down."""

    id: str  #: of the response; its agent may write it down more than once, as it grows
    at: datetime
    model: str  #: empty where the line does not name it
    tokens: Tokens


def read_usage(agent: str, line: bytes) -> Usage | None:
    """Read a line. ``None`` if it tells nothing of tokens, or cannot be read."""
    dialect = _DIALECTS.get(agent)
    # Most lines tell nothing, and some have megabytes: those are not even parsed.
    if dialect is None or dialect.word not in line:
        return None
    try:
        usage = dialect.read(json.loads(line))
    except (ValueError, RecursionError):
        return None
    return usage if usage and usage.at.tzinfo and len(usage.id) <= _LONGEST else None


def is_named_after(agent: str, path: str, native_id: str) -> bool:
    """Whether a file is called as the agent calls the transcript of that session."""
    if (pattern := _NAMES.get(agent)) is None or not native_id:
        return False
    name = pattern.format(id=re.escape(native_id), head=re.escape(native_id[:8]))
    return path.startswith("/") and bool(re.fullmatch(name, PurePath(path).name))


def is_of_subagent(path: str) -> bool:
    """Whether a transcript is that of a session's subagent, not its own."""
    return bool(SUBAGENT.fullmatch(PurePath(path).name))


def folder_of_subagents(agent: str, path: str) -> PurePath | None:
    """Say where the transcripts of a session's subagents are, if they have their own."""
    return PurePath(path).with_suffix("") / "subagents" if agent == "claude" else None


Line: TypeAlias = Any  #: JSON of others


def _read_claude(line: Line) -> Usage | None:
    match line:
        case {
            "type": "assistant",
            "timestamp": str(at),
            "message": {"id": str(id_), "usage": dict(usage)} as message,
        }:
            read = _number(usage, "cache_read_input_tokens")
            written = _number(usage, "cache_creation_input_tokens")
            fresh = _number(usage, "input_tokens")
            used = Tokens(
                fresh + read + written, _number(usage, "output_tokens"), read, written
            )
            return Usage(id_, datetime.fromisoformat(at), _name(message, "model"), used)
        case _:
            return None


def _read_codex(line: Line) -> Usage | None:
    match line:
        case {
            "type": "token_usage_record",
            "timestamp": str(at),
            "payload": {"response_id": str(id_), "usage": dict(usage)},
        }:
            used = Tokens(
                _number(usage, "input_tokens"),
                _number(usage, "output_tokens"),
                _number(usage, "cached_input_tokens"),
                _number(usage, "cache_write_input_tokens"),
            )
            return Usage(id_, datetime.fromisoformat(at), "", used)
        case _:
            return None


def _read_gemini(line: Line) -> Usage | None:
    match line:
        case {"type": "gemini", "id": str(id_), "timestamp": str(at), "tokens": dict(usage)}:
            used = Tokens(
                _number(usage, "input") + _number(usage, "tool"),
                _number(usage, "output") + _number(usage, "thoughts"),
                _number(usage, "cached"),
            )
            return Usage(id_, datetime.fromisoformat(at), _name(line, "model"), used)
        case _:
            return None


def _number(usage: Mapping[str, object], name: str) -> int:
    """Read a number of tokens; none is 0. Raises ``ValueError`` for what is no such number."""
    number = usage.get(name)
    if number is None:
        return 0
    if type(number) is not int or not 0 <= number <= _MOST:
        raise ValueError(name)
    return number


def _name(line: Mapping[str, object], field: str) -> str:
    name = line.get(field)
    return name[:_LONGEST] if isinstance(name, str) else ""


@dataclass(frozen=True, slots=True)
class _Dialect:
    name: str  #: of the file: a pattern, in which the native id or its beginning is to be put
    word: bytes  #: what every line has that tells of tokens
    read: Callable[[Line], Usage | None]


_DIALECTS: Mapping[str, _Dialect] = {
    "claude": _Dialect(r"{id}\.jsonl", b'"usage"', _read_claude),
    "codex": _Dialect(r"rollout-.+-{id}\.jsonl", b'"token_usage_record"', _read_codex),
    "gemini": _Dialect(r"session-.+-{head}\.jsonl", b'"tokens"', _read_gemini),
}

#: The demo agent writes down what is said, and uses no tokens.
_NAMES = {**{agent: each.name for agent, each in _DIALECTS.items()}, "demo": r"{id}\.jsonl"}
