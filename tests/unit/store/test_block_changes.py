"""The blocks of sessions in terminals follow from their facts, and say each thing once."""

from __future__ import annotations

from sqlite3 import Connection

import pytest

from rookery.model.blocks import Block, BlockKind
from rookery.model.facts import (
    Fact,
    PromptFound,
    SessionEnded,
    SessionId,
    SessionStarted,
    ToolCalled,
    ToolUsed,
    TurnEnded,
    TurnPaused,
    TurnStarted,
    UsageReported,
)
from rookery.store import blocks, sessions
from rookery.store.journal import Journal
from tests.support.facts import FACTS
from tests.support.fakes.clock import FakeClock
from tests.support.rows import WORKER, make, settle_in

PROMPT, TEXT = BlockKind.PROMPT, BlockKind.TEXT


@pytest.fixture(autouse=True)
def _settled(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)


def told(db: Connection) -> list[tuple[str, str]]:
    return [(each.kind, each.text) for each in blocks.last(db, WORKER, 100)]


def test_a_turn_becomes_one_stream_of_blocks(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    journal.append(db, TurnStarted(WORKER, "Build it."), ToolCalled(WORKER, "Bash", "make"))
    clock.advance(3)
    journal.append(db, ToolUsed(WORKER, "Bash", call_id="c1"), TurnEnded(WORKER, "Built."))
    journal.append(db, UsageReported(WORKER, 700, 20, 1_500))

    found = blocks.last(db, WORKER, 100)
    used = {"input_tokens": 700, "output_tokens": 20, "cost": 1_500}
    assert [
        Block(each.kind, each.text, each.tool, each.call_id, each.data) for each in found
    ] == [
        Block(PROMPT, "Build it."),
        Block(BlockKind.TOOL_CALL, "make", "Bash"),
        Block(BlockKind.TOOL_RESULT, "", "Bash", "c1"),
        Block(TEXT, "Built."),
        Block(BlockKind.USAGE, data=used),
    ]
    assert [each.number for each in found] == [1, 2, 3, 4, 5]
    assert (found[2].at - found[1].at).total_seconds() == 3


@pytest.mark.parametrize(
    ("facts", "texts"),
    [
        # Seen on the screen, then reported by a hook.
        ([TurnStarted(WORKER, ""), TurnStarted(WORKER, "go")], ["go"]),
        ([TurnStarted(WORKER, "go"), TurnStarted(WORKER, "go", turn="t1")], ["go"]),
        # Found in the transcript.
        ([TurnStarted(WORKER, ""), PromptFound(WORKER, "go")], ["go"]),
        ([TurnStarted(WORKER, "go"), PromptFound(WORKER, "go ")], ["go"]),
        # The same prompt again is another turn.
        (
            [
                *(TurnStarted(WORKER, "go"), TurnEnded(WORKER, "", "interrupted")),
                TurnStarted(WORKER, "go"),
            ],
            ["go", "go"],
        ),
        # Without a prompt: a background task has reported to the agent.
        ([TurnStarted(WORKER, "<task done>", resumes=True)], []),
        # An end that was seen before the agent reported its answer.
        (
            [
                *(TurnStarted(WORKER, "go"), TurnEnded(WORKER, "", "interrupted")),
                TurnEnded(WORKER, "Done."),
                TurnEnded(WORKER, "Done."),
            ],
            ["go", "Done."],
        ),
        # A late report of a turn that another source has ended.
        (
            [
                *(TurnStarted(WORKER, "go", "t1"), TurnEnded(WORKER, "Done.")),
                *(TurnStarted(WORKER, "on", "t2"), TurnEnded(WORKER, "Done.", turn="t1")),
            ],
            ["go", "Done.", "on"],
        ),
        # An agent that pauses says what it said before, or more.
        (
            [
                *(TurnStarted(WORKER, "go"), TurnPaused(WORKER, "Soon.", subagents=1)),
                TurnEnded(WORKER, "Soon."),
            ],
            ["go", "Soon."],
        ),
        (
            [
                *(TurnStarted(WORKER, "go"), TurnPaused(WORKER, "Soon.", subagents=1)),
                *(TurnStarted(WORKER, "", resumes=True), TurnEnded(WORKER, "Done.")),
            ],
            ["go", "Soon.", "Done."],
        ),
    ],
)
def test_several_reports_of_one_thing_are_one_block(
    db: Connection, journal: Journal, facts: list[Fact], texts: list[str]
) -> None:
    journal.append(db, *facts)

    assert [text for _, text in told(db)] == texts


def test_the_last_usage_is_kept_although_the_session_is_over(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, TurnStarted(WORKER, "go"), SessionEnded(WORKER, "exit 0"))

    journal.append(db, ToolCalled(WORKER, "Bash", "late"), UsageReported(WORKER, 1, 2))

    assert told(db) == [("prompt", "go"), ("usage", "")]


def test_a_driven_session_has_only_the_blocks_of_its_stream(
    db: Connection, journal: Journal
) -> None:
    session = SessionId("driven")
    sessions.add(db, make(journal, session, runtime="sdk"))
    journal.append(db, SessionStarted(session), TurnStarted(session, "go"))
    journal.append(db, ToolCalled(session, "Bash"), TurnEnded(session, "Done."))

    assert blocks.count(db, session) == 0


@pytest.mark.parametrize("fact", FACTS, ids=lambda each: type(each).__name__)
def test_a_fact_adds_at_most_one_block(db: Connection, journal: Journal, fact: Fact) -> None:
    sessions.add(db, make(journal, fact.session, name="it"))

    journal.append(db, SessionStarted(fact.session), fact)

    assert blocks.count(db, fact.session) <= 1


def test_why_a_call_failed_is_found_by_its_id(db: Connection, journal: Journal) -> None:
    for call_id, failure in (("c1", ""), ("c2", "Exit code 2"), ("", "unknown")):
        journal.append(db, ToolUsed(WORKER, "Bash", call_id=call_id, failure=failure))

    assert blocks.failures(db, WORKER) == {"c2": "Exit code 2"}
