"""What is told of a fact, as those read it who follow."""

from __future__ import annotations

import json
from sqlite3 import Connection

import pytest

from rookery.gateway import events
from rookery.gateway.events import (
    CALLED,
    KEPT,
    MAX_RING_BYTES,
    PAGE,
    Event,
    Ring,
    _event,
    _page,
)
from rookery.model.facts import KINDS, InputAsked, Noted
from rookery.store.journal import Journal
from tests.fakes.database import ObservedDatabase
from tests.sessions import WORKER, settle_in


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
    ring, seq, read = Ring(database), 0, 0
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

    def page(db: Connection, after: int) -> list[Event]:
        found = _page(db, after)
        read.append(len(found))
        return found

    monkeypatch.setattr(events, "_page", page)
    found = await Ring(database).after(0)

    assert [found[0].seq, len(found)] == [1, PAGE]
    assert sum(read) <= KEPT + 2 * PAGE
