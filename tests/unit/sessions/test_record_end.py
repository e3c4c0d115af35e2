"""How the end of a session is recorded."""

from __future__ import annotations

import json
from sqlite3 import Connection

import pytest

from rookery.model.facts import EndRequested
from rookery.sessions import record_end
from rookery.store.journal import Journal
from tests.support.rows import WORKER, settle_in


def recorded(db: Connection) -> tuple[str, bool]:
    """Return the outcome in the fact, and whether the session counts as lost."""
    row = db.execute("select body from entries where kind = 'session-ended'").fetchone()
    body = json.loads(row["body"])
    return body["outcome"], body.get("lost", False)


@pytest.mark.spec("A4", "A5")
def test_a_session_that_was_asked_to_end_was_killed_however_its_program_ended(
    db: Connection, journal: Journal
) -> None:
    settle_in(db, journal)
    journal.append(db, EndRequested(WORKER, "bert"))

    record_end.end(db, journal, WORKER, outcome="failed", reason="signal 9", lost=True)

    assert recorded(db) == ("killed", False)


@pytest.mark.spec("A5")
def test_a_session_that_ended_by_itself_has_the_outcome_of_its_program(
    db: Connection, journal: Journal
) -> None:
    settle_in(db, journal)

    record_end.end(db, journal, WORKER, outcome="failed", reason="lost", lost=True)

    assert recorded(db) == ("failed", True)
