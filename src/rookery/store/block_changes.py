"""Apply facts to the blocks of a session, as far as its hooks and its transcript tell."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model import facts
from rookery.model.blocks import Block, BlockKind
from rookery.model.facts import Fact, SessionId
from rookery.store import blocks

#: The facts that add to the output of a session.
PROJECTED: frozenset[type[Fact]] = frozenset(
    {
        *(facts.TurnStarted, facts.PromptFound, facts.ToolCalled, facts.ToolUsed),
        *(facts.TurnPaused, facts.TurnEnded, facts.UsageReported),
    }
)


def project(db: Connection, fact: Fact, *, at: datetime, is_of_turn: bool) -> None:
    """Append the block that ``fact`` tells of.

    ``is_of_turn``: a turn took its prompt or its answer. If none did, it was known before.
    """
    block = _of_turn(db, fact) if is_of_turn else _of_tools(fact)
    if block is not None:
        blocks.append_one(db, fact.session, block, at=at)


def _of_turn(db: Connection, fact: Fact) -> Block | None:
    match fact:
        case facts.TurnStarted(prompt=prompt) | facts.PromptFound(prompt=prompt) if prompt:
            return Block(BlockKind.PROMPT, prompt)
        case facts.TurnPaused(session, words) | facts.TurnEnded(session, words) if words:
            if _last_text(db, session) == blocks.bounded(words):
                return None  # an agent that paused may stop with the same text again
            has_failed = isinstance(fact, facts.TurnEnded) and fact.how == "failed"
            return Block(BlockKind.TEXT, words, failed=has_failed)
        case _:
            return None


def _of_tools(fact: Fact) -> Block | None:
    match fact:
        case facts.ToolCalled(_, tool, argument, call_id):
            return Block(BlockKind.TOOL_CALL, argument, tool, call_id)
        case facts.ToolUsed(_, tool, call_id=call_id, failure=failure):
            failed = bool(failure)
            return Block(BlockKind.TOOL_RESULT, failure, tool, call_id, failed=failed)
        case facts.UsageReported(_, input_tokens, output_tokens, cost):
            used = {"input_tokens": input_tokens, "output_tokens": output_tokens, "cost": cost}
            return Block(BlockKind.USAGE, data=used)
        case _:
            return None


def _last_text(db: Connection, session: SessionId) -> str:
    """Return the last text since the last prompt; empty if there is none."""
    last = db.execute(_LAST_SAID, (session,)).fetchone()
    return str(last["text"]) if last and last["kind"] == BlockKind.TEXT else ""


_LAST_SAID = f"""
    select kind, text from blocks where session = ?
        and kind in ('{BlockKind.PROMPT}', '{BlockKind.TEXT}') order by number desc limit 1
"""
