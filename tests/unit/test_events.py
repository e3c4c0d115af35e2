"""What is told of a fact, as those read it who follow."""

from __future__ import annotations

import json
from sqlite3 import Connection

import pytest

from rookery.gateway.events import CALLED, _event
from rookery.model.facts import KINDS, InputAsked
from rookery.store.journal import Journal
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
