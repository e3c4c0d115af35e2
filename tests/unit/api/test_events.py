"""What is told of a fact, as those read it who follow."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from sqlite3 import Connection
from typing import Any

import anyio
import pytest

from rookery.api import events
from rookery.api.events import (
    CALLED,
    CHUNK_CHARS,
    KEPT,
    MAX_CHUNK_ENTRIES,
    MAX_RING_BYTES,
    PAGE,
    RecentEvents,
    StreamEvent,
    _event,
    _page,
    follow,
    recall,
)
from rookery.model.facts import KINDS, InputAsked, Noted, OverlapFound, RelayJoined
from rookery.model.scopes import Identity
from rookery.operations.context import Caller
from rookery.store.journal import Journal
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import PERSON, Desk, session_caller
from tests.support.rows import ANNA, WORKER, settle_in


@pytest.mark.spec("I4")
def test_an_event_names_its_kind_also_where_its_fact_has_one(
    db: Connection, journal: Journal
) -> None:
    settle_in(db, journal)
    journal.append(db, InputAsked(WORKER, "permission", "May it?", "r1"))

    event = _event(db.execute("select * from entries order by seq desc").fetchone())

    told = json.loads(event.text)
    assert (event.name, told["kind"], told["asks"]) == (
        *("input-asked", "input-asked", "permission"),
    )


@pytest.mark.spec("I4")
def test_no_field_of_a_fact_hides_one_of_its_event() -> None:
    named = {CALLED.get(name, name) for fact in KINDS.values() for name in fact.__match_args__}

    assert not named & {"seq", "at", "kind"}


@pytest.mark.anyio
@pytest.mark.spec("I4", "K4")
async def test_events_with_long_texts_do_not_fill_the_memory(
    database: ObservedDatabase, journal: Journal
) -> None:
    count, text = 400, "é" * 60_000

    def begin(db: Connection) -> None:
        settle_in(db, journal)
        journal.append(db, *(Noted(WORKER, text) for _ in range(count)))

    await database.write(begin)
    ring, seq, read = RecentEvents(database), 0, 0
    while found := await ring.after(seq):
        seq, read = found[-1].seq, read + len(found)

    assert read >= count
    assert 0 < ring.size <= MAX_RING_BYTES


@pytest.mark.anyio
@pytest.mark.spec("I4", "K4")
async def test_who_asks_for_the_distant_past_does_not_have_all_of_it_read_at_once(
    database: ObservedDatabase, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(db: Connection) -> None:
        settle_in(db, journal)
        journal.append(db, *(Noted(WORKER, "it") for _ in range(3 * KEPT)))

    await database.write(begin)
    read: list[int] = []

    def page(db: Connection, after: int) -> list[StreamEvent]:
        found = _page(db, after)
        read.append(len(found))
        return found

    monkeypatch.setattr(events, "_page", page)
    found = await RecentEvents(database).after(0)

    assert [found[0].seq, len(found)] == [1, PAGE]
    assert sum(read) <= KEPT + 2 * PAGE


class LateRing(RecentEvents):
    """Between its first read and the answer to it, another entry is committed."""

    def __init__(self, database: ObservedDatabase, journal: Journal) -> None:
        super().__init__(database)
        self.late = [lambda db: journal.append(db, Noted(WORKER, "late"))]

    async def after(self, seq: int) -> list[StreamEvent]:
        found = await super().after(seq)
        if not found and self.late:
            await self.database.write(self.late.pop())
        return found


@pytest.mark.anyio
@pytest.mark.spec("I4")
async def test_an_entry_that_is_committed_right_after_the_read_is_not_missed(
    database: ObservedDatabase, journal: Journal
) -> None:
    await database.write(lambda db: settle_in(db, journal))
    last = (await RecentEvents(database).after(0))[-1].seq
    ring, desk = LateRing(database, journal), Desk(database, journal)

    with anyio.fail_after(5):
        event = await anext(follow(desk.context, ring, Caller(PERSON), last))

    assert (event.seq, event.name) == (last + 1, "noted")


class Past:
    """What is told of the past: the chunks, and the entries in them."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.chunks: list[bytes] = []

    async def recall(self, caller: Identity = PERSON) -> list[dict[str, Any]]:
        context = self.desk.context
        self.chunks = [each async for each in recall(context, Caller(caller), 0)]
        lines = b"".join(self.chunks).decode().split("\r\n")
        return [json.loads(each[6:]) for each in lines if each.startswith("data: ")]


@pytest.fixture
async def past(database: ObservedDatabase, journal: Journal) -> Past:
    desk = Desk(database, journal)
    await database.write(lambda db: settle_in(db, journal))
    return Past(desk)


#: Facts as they are stored in every way: renamed fields, half characters, long texts.
FACTS = (
    InputAsked(WORKER, "permission", "May it?", "r1"),
    Noted(WORKER, 'a "quoted"\n\u2028 line \x9b and \ud800'),
    Noted(WORKER, "é" * 70_000),
    RelayJoined(WORKER, "r1", "Ann", 1),
)


@pytest.mark.anyio
@pytest.mark.spec("I4")
async def test_the_past_is_told_in_the_same_events_as_the_present(
    past: Past, database: ObservedDatabase, journal: Journal
) -> None:
    await database.write(lambda db: journal.append(db, *FACTS))

    told = await past.recall()

    present = await RecentEvents(database).after(0)
    assert told == [json.loads(each.text) for each in present]
    asked, noted, long, joined = told[-4:]
    assert (asked["kind"], asked["asks"]) == ("input-asked", "permission")
    assert noted["event"] == FACTS[1].event
    assert long["event"].endswith("… (6000 more characters)")
    assert (joined["relay"], joined["number"]) == ("r1", 1)


@pytest.mark.anyio
@pytest.mark.spec("I4", "K4")
async def test_the_past_is_read_in_small_parts(
    past: Past, database: ObservedDatabase, journal: Journal
) -> None:
    many = [Noted(WORKER, str(number)) for number in range(3 * MAX_CHUNK_ENTRIES)]
    long = [Noted(WORKER, "x" * 30_000) for _ in range(20)]
    await database.write(lambda db: journal.append(db, *many, *long))

    told = await past.recall()

    seqs = [each["seq"] for each in told]
    assert seqs == [*range(1, seqs[-1] + 1)]
    assert len(seqs) > len(many) + len(long)
    assert max(map(len, past.chunks)) < 4 * CHUNK_CHARS


@pytest.mark.anyio
@pytest.mark.spec("I4", "K5")
async def test_the_past_of_others_is_not_told(
    past: Past, database: ObservedDatabase, journal: Journal
) -> None:
    many = [Noted(WORKER, str(number)) for number in range(2 * MAX_CHUNK_ENTRIES)]
    await database.write(lambda db: journal.append(db, *many, Noted(ANNA, "mine")))

    told = await past.recall(session_caller(ANNA))

    assert [each["session"] for each in told] == [ANNA, ANNA]


@pytest.mark.anyio
@pytest.mark.spec("I4", "K5")
async def test_a_session_does_not_learn_the_id_of_a_stranger_that_changes_the_same_file(
    database: ObservedDatabase, journal: Journal
) -> None:
    context = Desk(database, journal).context

    def overlap(db: Connection) -> None:
        settle_in(db, journal)
        journal.append(db, OverlapFound(WORKER, ANNA, "a.py", "/repo"))

    await database.write(overlap)
    ring, own = RecentEvents(database), Caller(session_caller(WORKER))
    past = [each async for each in recall(context, own, 0)]
    with anyio.fail_after(20):
        stream = follow(context, ring, own, 0)
        live = [event async for event in _until(stream, "overlap-found")]
        stream = follow(context, ring, Caller(PERSON), 0)
        whole = [event async for event in _until(stream, "overlap-found")]

    assert ANNA not in b"".join(past).decode()
    assert json.loads(live[-1].text)["path"] == "a.py"
    assert "other" not in json.loads(live[-1].text)
    assert json.loads(whole[-1].text)["other"] == ANNA


async def _until(stream: AsyncIterator[StreamEvent], name: str) -> AsyncIterator[StreamEvent]:
    async for event in stream:
        yield event
        if event.name == name:
            return
