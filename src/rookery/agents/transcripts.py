"""Parse transcript lines of any agent, which is selected by name."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import PurePath

from rookery.agents.catalog import AGENTS
from rookery.agents.shared.transcript_lines import MAX_NAME_CHARS
from rookery.ports.transcript import Line, Passage, TranscriptDialect, TranscriptEntry, Usage

#: A prompt that follows an interruption within this time is repeated by the agent: no person
#: types so fast.
MAX_REPEAT_DELAY = timedelta(milliseconds=50)


def _dialect(agent: str) -> TranscriptDialect | None:
    return AGENTS[agent].transcript if agent in AGENTS else None


def read_line(agent: str, line: bytes) -> TranscriptEntry | None:
    """Return the content of a line; ``None`` if it has none or cannot be parsed."""
    dialect = _dialect(agent)
    if dialect is None or not line:
        return None
    try:
        parsed: Line = json.loads(line)
        at = datetime.fromisoformat(parsed["timestamp"])
        texts = [(kind, _encodable(text).strip()) for kind, text in dialect.read(parsed)]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    if at.tzinfo is None:
        return None
    passages = tuple(
        Passage(at, "result", text, failed=True)
        if kind == "failure"
        else Passage(at, kind, text)
        for kind, text in texts
        if text
    )
    # Only some agents give a line an id. A later line with the same id replaces this line, even
    # if its texts are blank. So an entry may have no passages.
    id_ = parsed.get("id")
    return TranscriptEntry(id_ if isinstance(id_, str) else "", passages) if texts else None


def _encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text.encode(errors="replace").decode()


def transcript_glob(agent: str, native_id: str) -> str:
    """Return the glob pattern of a session's transcript in its agent's folder.

    Empty if the location is unknown, or if the id could act as a wildcard.
    """
    dialect = _dialect(agent)
    if dialect is None or not native_id.replace("-", "").isalnum():
        return ""
    return dialect.place.format(id=native_id, head=native_id[:8])


def read_usage(agent: str, line: bytes) -> Usage | None:
    """Return the token counts of a line; ``None`` if it has none or cannot be parsed."""
    dialect = _dialect(agent)
    parser = dialect.usage if dialect else None
    # Most lines have no token counts and some are megabytes long, so lines without the marker
    # are not parsed.
    if parser is None or parser.marker not in line:
        return None
    try:
        usage = parser.read(json.loads(line))
    except (ValueError, RecursionError):
        return None
    return usage if usage and usage.at.tzinfo and len(usage.id) <= MAX_NAME_CHARS else None


def is_named_after(agent: str, path: str, native_id: str) -> bool:
    """Return whether a file has the name of the session's transcript."""
    if (dialect := _dialect(agent)) is None or not native_id:
        return False
    name = dialect.name.format(id=re.escape(native_id), head=re.escape(native_id[:8]))
    return path.startswith("/") and bool(re.fullmatch(name, PurePath(path).name))


def without_repeats(agent: str, passages: Sequence[Passage]) -> list[Passage]:
    """Return passages in their order, without prompts that the agent repeats."""
    dialect = _dialect(agent)
    if dialect is None or not dialect.repeats_prompts:
        return [*passages]
    interrupted = [each.at for each in passages if each.kind == "interruption"]
    return [
        each
        for each in passages
        if each.kind != "prompt"
        or not any(timedelta(0) <= each.at - at <= MAX_REPEAT_DELAY for at in interrupted)
    ]


def is_of_subagent(agent: str, path: str) -> bool:
    """Return whether a transcript belongs to a subagent, not to the session itself."""
    dialect = _dialect(agent)
    names = dialect.subagents if dialect else None
    return names is not None and bool(names.fullmatch(PurePath(path).name))


def folder_of_subagents(agent: str, path: str) -> PurePath | None:
    """Return the folder with the transcripts of subagents; ``None`` if the agent has none."""
    dialect = _dialect(agent)
    has_own = dialect is not None and dialect.subagents is not None
    return PurePath(path).with_suffix("") / "subagents" if has_own else None
