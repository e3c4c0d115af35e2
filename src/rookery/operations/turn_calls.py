"""Read the tool calls of turns, with who denied them and why they failed."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.sessions import Turn
from rookery.operations.denied_calls import mark_calls, mark_failures
from rookery.store import audit, blocks, tool_calls
from rookery.store.tool_calls import ToolCall

#: Tool calls that are listed at once; earlier ones are left out.
MAX_TOOL_CALLS = 5_000


def calls_since(db: Connection, session: SessionId, of_turns: Sequence[Turn]) -> list[ToolCall]:
    """Return the tool calls from the first of some turns on."""
    first = of_turns[0].number if of_turns else 0
    calls = tool_calls.since(db, session, turn=first, limit=MAX_TOOL_CALLS)
    if not calls:
        return []
    marked = mark_calls(calls, audit.denied_since(db, session, calls[0].at))
    return mark_failures(marked, blocks.failures(db, session))
