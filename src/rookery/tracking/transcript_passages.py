"""Read the latest passages of a conversation's transcripts for which there is room."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rookery.ports.transcript import Passage
from rookery.tracking.transcript_files import ALL, TimeSpan, passages

#: Characters to count for a passage in addition to its text.
PASSAGE_OVERHEAD_CHARACTERS = 20


@dataclass(frozen=True, slots=True)
class TranscriptRange:
    """The requested part of a conversation."""

    span: TimeSpan
    room: int  #: characters; the latest passages are kept first
    without: frozenset[str] = frozenset()  #: texts to leave out


def read_latest(agent: str, paths: Sequence[str], requested: TranscriptRange) -> list[Passage]:
    """Return the latest passages of some files for which there is room, the oldest first."""
    by_file = (passages(agent, path, requested.span, limit=ALL) for path in paths)
    latest = heapq.merge(*by_file, key=lambda each: each.at, reverse=True)
    return list(_fitting(latest, requested))[::-1]


def _fitting(passages: Iterable[Passage], requested: TranscriptRange) -> Iterator[Passage]:
    """Yield the passages for which there is room."""
    room = requested.room
    for passage in passages:
        if room <= 0:
            return
        if passage.text not in requested.without:
            yield replace(passage, text=end_of(passage.text, room))
            room -= len(passage.text) + PASSAGE_OVERHEAD_CHARACTERS


def end_of(text: str, room: int) -> str:
    """Return the end of a text for which there is room, with a note on what is missing."""
    if len(text) <= room:
        return text
    return f"({len(text) - room:,} characters before) …{text[len(text) - room :]}"
