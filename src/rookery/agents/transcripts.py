"""Read the transcripts of any agent, by its name: a line in, what it says out."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import PurePath

from rookery.agents.catalog import AGENTS
from rookery.agents.shared.transcript_lines import MAX_NAME_CHARS
from rookery.ports.transcript import Line, Passage, TranscriptDialect, Usage, Written


def _dialect(agent: str) -> TranscriptDialect | None:
    return AGENTS[agent].transcript if agent in AGENTS else None


def read_line(agent: str, line: bytes) -> Written | None:
    """Read a line. ``None`` if it says nothing, or cannot be read."""
    dialect = _dialect(agent)
    if dialect is None or not line:
        return None
    try:
        found: Line = json.loads(line)
        at = datetime.fromisoformat(found["timestamp"])
        told = [(kind, _whole(text).strip()) for kind, text in dialect.read(found)]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    if at.tzinfo is None:
        return None
    passages = tuple(Passage(at, kind, text) for kind, text in told if text)
    # Only some agents give a line an id, under which they write it again.
    id_ = found.get("id")
    return Written(id_ if isinstance(id_, str) else "", passages) if told else None


def _whole(text: str) -> str:
    """Replace halves of characters, which cannot be encoded."""
    return text.encode(errors="replace").decode()


def place_of(agent: str, native_id: str) -> str:
    """Return the glob pattern of a session's transcript in its agent's folder.

    Empty where it is unknown, and for an id that could be a pattern itself.
    """
    dialect = _dialect(agent)
    if dialect is None or not native_id.replace("-", "").isalnum():
        return ""
    return dialect.place.format(id=native_id, head=native_id[:8])


def read_usage(agent: str, line: bytes) -> Usage | None:
    """Read a line. ``None`` if it tells nothing of tokens, or cannot be read."""
    dialect = _dialect(agent)
    lines = dialect.usage if dialect else None
    # Most lines tell nothing, and some have megabytes: those are not even parsed.
    if lines is None or lines.word not in line:
        return None
    try:
        usage = lines.read(json.loads(line))
    except (ValueError, RecursionError):
        return None
    return usage if usage and usage.at.tzinfo and len(usage.id) <= MAX_NAME_CHARS else None


def is_named_after(agent: str, path: str, native_id: str) -> bool:
    """Return whether a file is called as the agent calls the transcript of that session."""
    if (dialect := _dialect(agent)) is None or not native_id:
        return False
    name = dialect.name.format(id=re.escape(native_id), head=re.escape(native_id[:8]))
    return path.startswith("/") and bool(re.fullmatch(name, PurePath(path).name))


def is_of_subagent(agent: str, path: str) -> bool:
    """Return whether a transcript is that of a session's subagent, not its own."""
    dialect = _dialect(agent)
    names = dialect.subagents if dialect else None
    return names is not None and bool(names.fullmatch(PurePath(path).name))


def folder_of_subagents(agent: str, path: str) -> PurePath | None:
    """Return where the transcripts of a session's subagents are, if they have their own."""
    dialect = _dialect(agent)
    has_own = dialect is not None and dialect.subagents is not None
    return PurePath(path).with_suffix("") / "subagents" if has_own else None
