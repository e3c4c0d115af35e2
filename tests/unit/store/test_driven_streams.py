from __future__ import annotations

from sqlite3 import Connection

import pytest

from rookery.model.facts import SessionId
from rookery.store import driven_streams, sessions
from rookery.store.journal import Journal
from tests.support.rows import make


@pytest.mark.spec("A11", "G2")
@pytest.mark.parametrize(
    ("totals", "cost"),
    [([], 0), ([("one", 4)], 4), ([("two", 5)], 5), ([("one", 4), ("two", 5)], 5)],
)
def test_a_conversation_goes_on_from_the_last_total_that_was_reported(
    db: Connection, journal: Journal, totals: list[tuple[str, int]], cost: int
) -> None:
    for name, before in (("one", None), ("two", "one"), ("three", "two")):
        continues = SessionId(before) if before else None
        sessions.add(db, make(journal, name, continues=continues))
    for name, total in totals:
        driven_streams.note_total_cost(db, SessionId(name), total)

    third = sessions.get(db, SessionId("three"))

    assert driven_streams.earlier_cost(db, third) == cost
