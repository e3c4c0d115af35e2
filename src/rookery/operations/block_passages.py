"""Read the tool calls of a session without a transcript from the blocks of its output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sqlite3 import Connection

from rookery.model.blocks import BlockKind, StoredBlock
from rookery.model.facts import SessionId
from rookery.model.short_texts import shortened
from rookery.operations.denied_calls import mark_calls
from rookery.ports.transcript import Passage
from rookery.store import audit, blocks
from rookery.store.audit import Decided
from rookery.store.tool_calls import ToolCall
from rookery.tracking.transcript_files import TimeSpan

#: Blocks that are searched, and characters of each that are returned.
MAX_BLOCKS, MAX_BLOCK_CHARACTERS = 400, 2_000

_KINDS = (BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT)


def read_passages(
    db: Connection, session: SessionId, span: TimeSpan, *, room: int
) -> list[Passage]:
    """Return the last tool calls in a time span and their results, oldest first.

    They have at most ``room`` characters together.
    """
    stored = blocks.last(db, session, MAX_BLOCKS, kinds=_KINDS)
    found = [each for each in stored if span.since <= each.at <= span.until]
    denials = audit.denied_since(db, session, found[0].at) if found else []
    passages = passages_of(found, denials)
    kept = list[Passage]()
    for passage in reversed(passages):
        room -= len(passage.text)
        if room < 0:
            break
        kept.append(passage)
    return kept[::-1]


def passages_of(found: Sequence[StoredBlock], denials: Iterable[Decided]) -> list[Passage]:
    """Return blocks of calls and results as parts of a conversation, with who denied calls."""
    calls = [
        ToolCall(each.number, 0, each.at, each.tool, each.text)
        for each in found
        if each.kind is BlockKind.TOOL_CALL
    ]
    marked = {each.number: each for each in mark_calls(calls, denials)}
    passages = list[Passage]()
    for each in found:
        text = shortened(each.text.strip(), MAX_BLOCK_CHARACTERS)
        if call := marked.get(each.number):
            told = f"{call.tool} {text}".rstrip()
            passages.append(Passage(each.at, "call", told, call.denied_by, call.rule))
        elif text or each.failed:
            result = text or "failed"
            passages.append(Passage(each.at, "result", result, failed=each.failed))
    return passages
