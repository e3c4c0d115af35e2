"""The conversation of a session without a transcript has the tool calls of its output."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rookery.model.blocks import Block, BlockKind
from rookery.model.facts import SessionId, TurnEnded, TurnStarted
from rookery.store import audit, blocks
from rookery.store.audit import Decided
from rookery.store.journal import Journal
from rookery.tracking.transcript_reader import TranscriptReader
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I7", "G4")]

ANNA = SessionId("anna")


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock) -> Desk:
    """Give a session with a turn in which one of two calls was denied."""
    desk = Desk(database, Journal("here", clock, readers={}))
    await desk.settle(ANNA)
    desk.context = replace(desk.context, conversations=TranscriptReader({}, clock))
    now = clock.now()
    said = [
        Block(BlockKind.TEXT, "I will look."),
        Block(BlockKind.TOOL_CALL, "rm -rf x", "Bash"),
        Block(BlockKind.TOOL_CALL, "a.md", "Read"),
        Block(BlockKind.TOOL_RESULT, "The text", "Read"),
        Block(BlockKind.TOOL_RESULT, "", "Read"),
    ]
    denied = Decided(now, ANNA, "demo", "Bash", {"command": "rm -rf x"}, "denied", "person")
    await database.write(lambda db: desk.journal.append(db, TurnStarted(ANNA, "go")))
    await database.write(lambda db: blocks.append(db, ANNA, said, at=now))
    await database.write(lambda db: audit.keep(db, denied))
    await database.write(lambda db: desk.journal.append(db, TurnEnded(ANNA, "ok")))
    return desk


async def test_calls_and_results_come_from_the_output(desk: Desk) -> None:
    found = await desk.ask("data", session=ANNA)

    assert [(each.kind, each.text, each.denied_by) for each in found.transcript] == [
        ("call", "Bash rm -rf x", "person"),
        ("call", "Read a.md", ""),
        ("result", "The text", ""),
    ]


async def test_the_last_of_them_are_kept_within_the_room(desk: Desk) -> None:
    found = await desk.ask("data", session=ANNA, tail_chars=20)

    assert [each.text for each in found.transcript] == ["Read a.md", "The text"]
