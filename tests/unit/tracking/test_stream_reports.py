"""What the streams of driven sessions report as used: counted once, in micro-dollars."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from sqlite3 import Connection

import anyio
import pytest

from rookery.agents.catalog import AGENTS
from rookery.config import Price
from rookery.model.facts import SessionId, SessionStarted, UsageReported
from rookery.permissions.decisions import Permissions
from rookery.permissions.rules_file import RulesFile
from rookery.ports.sightings import (
    AgentAsked,
    AgentStoppedAsking,
    Reported,
    ReportedTogether,
    TextsReported,
)
from rookery.store import blocks, requests, sessions, statistics
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.hook_reader import HookReader
from rookery.tracking.protocol_requests import ProtocolRequests
from rookery.tracking.screen_reader import ScreenReader
from rookery.tracking.screen_watch import ScreenWatch
from rookery.tracking.stream_reports import StreamReports
from rookery.tracking.transcript_reader import TranscriptReader
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.stream_runtime import StreamRuntime
from tests.support.rows import make

pytestmark = [pytest.mark.anyio, pytest.mark.spec("G6", "A11")]

FIRST, NEXT = SessionId("first"), SessionId("next")


class CountedName(str):
    """The id of a session that counts how often it is worded."""

    __slots__ = ("worded",)

    def __repr__(self) -> str:
        self.worded = getattr(self, "worded", 0) + 1
        return super().__repr__()


@pytest.fixture
async def streams(journal: Journal, database: Database) -> StreamReports:
    """Have a driven session and one that continues it."""

    def prepare(db: Connection) -> None:
        sessions.add(db, make(journal, FIRST, runtime="sdk"))
        sessions.add(db, make(journal, NEXT, runtime="sdk", continues=FIRST))

    await database.write(prepare)
    rules = RulesFile(database.path.with_name("rules.toml"))
    permissions = Permissions(journal, rules, timedelta(minutes=5))
    reader = HookReader(
        database, journal.clock, AGENTS, rules, TranscriptReader({}, journal.clock)
    )
    asking = ProtocolRequests(database, StreamRuntime(), AGENTS, permissions, reader)
    prices = {"cheap-*": Price(input=1, output=2)}
    return StreamReports(database, journal, asking, prices)


async def test_an_event_that_is_read_again_is_counted_once(streams: StreamReports) -> None:
    told = [
        Reported(FIRST, (UsageReported(FIRST, 100, 10, 500),), number=1, total_cost=500),
        Reported(FIRST, (UsageReported(FIRST, 100, 10, 200),), number=2, total_cost=700),
    ]

    for report in (*told, *told, told[1]):
        await streams.record(report)

    found = await streams.database.read(statistics.count)
    assert (found.cost, found.input_tokens, found.launched) == (700, 200, 2)


async def test_a_resumed_session_adds_what_came_on_top(streams: StreamReports) -> None:
    first = UsageReported(FIRST, 100, 10, 500)
    await streams.record(Reported(FIRST, (first,), number=1, total_cost=500))

    # The agent's own total goes on; its driver reports the difference.
    on_top = UsageReported(NEXT, 50, 5, 300)
    await streams.record(Reported(NEXT, (on_top,), number=1, total_cost=800))

    found = await streams.database.read(statistics.count)
    assert found.cost == 800
    assert (found.most_expensive and found.most_expensive.name) == "first"


async def test_tokens_without_a_cost_are_priced_by_the_model(streams: StreamReports) -> None:
    told = (SessionStarted(FIRST, "cheap-1"), UsageReported(FIRST, 100, 10))

    await streams.record(Reported(FIRST, told, number=1))

    found = await streams.database.read(statistics.count)
    assert (found.cost, found.estimated_cost) == (120, 120)


async def test_reports_are_worded_only_if_they_cannot_be_recorded(
    streams: StreamReports, database: ObservedDatabase
) -> None:
    runtime, session = StreamRuntime(), CountedName(FIRST)
    held = (database, streams.journal, runtime)
    permissions = streams.requests.permissions
    conversations = TranscriptReader({}, streams.journal.clock)
    screens = ScreenReader(*held, AGENTS, conversations, permissions)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ScreenWatch(*held, screens, streams).watch)
        runtime.tell(SessionId(session), SessionStarted(FIRST, "recorded"))
        await database.rest()
        tasks.cancel_scope.cancel()

    found = await database.read(partial(sessions.get, session=FIRST))
    assert (found.model, repr(session), session.worded) == ("recorded", "'first'", 1)


async def test_texts_that_are_read_again_with_more_are_recorded_once(
    streams: StreamReports,
) -> None:
    at = streams.journal.clock.now()
    await streams.record(TextsReported(FIRST, ("a", "b"), 2, at))

    again = TextsReported(FIRST, ("a", "b", "c"), 3, at)
    await streams.record(ReportedTogether((again, TextsReported(FIRST, ("d",), 4, at))))
    await streams.record(again)

    found = await streams.database.read(lambda db: blocks.after(db, FIRST, 0, 9))
    told = [(each.number, each.kind, each.text, each.at) for each in found]
    assert told == [(n, "text", text, at) for n, text in enumerate("abcd", 1)]


@pytest.mark.spec("D1")
async def test_what_an_agent_no_longer_asks_when_it_is_considered_is_no_request(
    streams: StreamReports,
) -> None:
    await streams.record(AgentStoppedAsking(FIRST, "1"))
    with anyio.fail_after(5):
        await streams.record(AgentAsked(FIRST, "1", "Bash", {"command": "ls"}))

    assert await streams.database.read(partial(requests.open_of, session=FIRST)) == []
