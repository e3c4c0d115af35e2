"""What waits for one session, and the sessions that hooks bring, have limits."""

from __future__ import annotations

from sqlite3 import Connection

import pytest

from rookery import relays
from rookery.model import facts
from rookery.model.errors import BacklogFull
from rookery.model.messages import LONGEST
from rookery.store import limits
from rookery.store import relays as known
from rookery.store.journal import Journal
from rookery.store.limits import Limits
from tests.office import Office
from tests.sessions import ANNA, BERT, WORKER
from tests.unit.test_relays import LIMITS, answer, heard, talk

pytestmark = pytest.mark.spec("K5")


@pytest.fixture
def office(db: Connection, journal: Journal) -> Office:
    return Office(db, journal)


def waiting(office: Office) -> int:
    found = office.db.execute("select count(*) from messages where recipient = ?", (BERT,))
    return int(found.fetchone()[0])


def test_only_so_many_messages_wait_for_one_session(office: Office) -> None:
    limits.put(office.db, Limits(queued_messages=3))
    for number in range(3):
        office.say(None, BERT, f"Message {number}.")

    with pytest.raises(BacklogFull, match=r"3 messages wait already for bert\. .*inbox bert"):
        office.say(ANNA, BERT, "One more.")
    office.say(None, ANNA, "Elsewhere there is room.")
    answer(office, BERT, "Done.")

    office.say(None, BERT, "Again there is room.")
    assert waiting(office) == 4


def test_only_so_many_bytes_wait_for_one_session(office: Office) -> None:
    for _ in range(16):
        office.say(None, BERT, "x" * LONGEST)

    with pytest.raises(BacklogFull, match="16,000,000 bytes wait already"):
        office.say(None, BERT, "y")


def test_an_answer_is_not_relayed_to_one_for_whom_too_much_waits(office: Office) -> None:
    limits.put(office.db, Limits(queued_messages=2))
    relay = talk(office, ANNA, BERT, WORKER)
    for number in range(2):
        office.say(None, BERT, f"Message {number}.")

    answer(office, ANNA, "It is done.")

    assert [to for to, _ in heard(office, relay)] == [WORKER]
    assert known.get(office.db, relay.id).stayed == "2 messages wait already for bert"


def test_news_is_not_queued_without_end(office: Office) -> None:
    limits.put(office.db, Limits(queued_messages=2))
    office.listen(BERT, WORKER, repeat=True)
    made = relays.join_pair(office.db, office.journal, (BERT, ANNA), limits=LIMITS)

    for number in range(5):
        office.happen(facts.TurnStarted(WORKER, "go"), facts.TurnEnded(WORKER, str(number)))
    relays.close(office.db, office.journal, made.id, by="person", reason="closed")

    assert waiting(office) == 2


def test_the_limits_are_those_that_were_set_last(db: Connection) -> None:
    usual = limits.get(db)
    limits.put(db, Limits(1, 2, 3))
    limits.put(db, Limits(4, 5, 6))

    assert usual == Limits(1_000, 16_000_000, 500)
    assert limits.get(db) == Limits(4, 5, 6)
