from __future__ import annotations

from datetime import UTC, datetime
from sqlite3 import Connection

import pytest

from rookery.model.facts import SessionId
from rookery.model.permissions import RequestId
from rookery.store import audit
from rookery.store.audit import Decided

AT = datetime(2026, 11, 1, tzinfo=UTC)
ANNA = SessionId("anna")


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("decisions", "denied"),
    [
        ([("r1", "denied"), ("r2", "denied")], ["r1", "r2"]),
        ([("r1", "denied"), ("r2", "denied"), ("r1", "undelivered")], ["r2"]),
        ([("r1", "denied"), ("r1", "undelivered"), ("r1", "denied")], ["r1"]),
        ([("r1", "denied"), ("r1", "undelivered"), ("r1", "allowed")], []),
        ([(None, "denied"), ("r1", "denied"), ("r1", "undelivered")], [None]),
    ],
)
def test_a_denial_that_was_not_delivered_counts_as_none(
    db: Connection, decisions: list[tuple[str | None, str]], denied: list[str | None]
) -> None:
    for request, decision in decisions:
        number = RequestId(request) if request else None
        kept = Decided(AT, ANNA, "codex", "apply_patch", {}, decision, "person", request=number)
        audit.keep(db, kept)

    found = audit.denied_since(db, ANNA, AT)

    assert [each.request for each in found] == denied
