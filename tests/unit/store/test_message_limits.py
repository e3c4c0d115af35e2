"""What waits for one session, and the sessions that hooks bring, have limits."""

from __future__ import annotations

from sqlite3 import Connection

import pytest

from rookery.coordination import notices, relays
from rookery.model import facts
from rookery.model.errors import BacklogFull
from rookery.model.facts import SessionId
from rookery.model.messages import MAX_MESSAGE_BYTES
from rookery.store import message_limits
from rookery.store import relays as known
from rookery.store.journal import Journal
from rookery.store.message_limits import StoredLimits
from tests.support.relays import LIMITS, answer, heard, talk
from tests.support.rows import ANNA, BERT, WORKER
from tests.support.team import Office

pytestmark = pytest.mark.spec("K5")


@pytest.fixture
def office(db: Connection, journal: Journal) -> Office:
    return Office(db, journal)


def waiting(office: Office) -> int:
    found = office.db.execute("select count(*) from messages where recipient = ?", (BERT,))
    return int(found.fetchone()[0])


def test_only_so_many_messages_wait_for_one_session(office: Office) -> None:
    message_limits.put(office.db, StoredLimits(queued_messages=3))
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
        office.say(None, BERT, "x" * MAX_MESSAGE_BYTES)

    with pytest.raises(BacklogFull, match="16,000,000 bytes wait already"):
        office.say(None, BERT, "y")


def test_an_answer_is_not_relayed_to_one_for_whom_too_much_waits(office: Office) -> None:
    message_limits.put(office.db, StoredLimits(queued_messages=2))
    relay = talk(office, ANNA, BERT, WORKER)
    for number in range(2):
        office.say(None, BERT, f"Message {number}.")

    answer(office, ANNA, "It is done.")

    assert [to for to, _ in heard(office, relay)] == [WORKER]
    assert known.get(office.db, relay.id).stayed == "2 messages wait already for bert"


def told_to_bert(office: Office) -> list[str]:
    rows = office.db.execute(
        "select words from messages where recipient = ? and envelope <> '' order by id", (BERT,)
    )
    return [line for row in rows for line in row["words"].splitlines()]


def stop(office: Office, session: SessionId, how: facts.How = "finished") -> None:
    office.happen(facts.TurnStarted(session, "go"), facts.TurnEnded(session, "Done.", how))


@pytest.mark.spec("E6")
@pytest.mark.parametrize(
    "full", [StoredLimits(queued_messages=2), StoredLimits(queued_bytes=100)]
)
def test_news_is_told_also_to_one_for_whom_too_much_waits(
    office: Office, full: StoredLimits
) -> None:
    message_limits.put(office.db, full)
    for _ in range(2):
        office.say(None, BERT, "x" * 50)
    relay = relays.join_pair(office.db, office.journal, (BERT, ANNA), limits=LIMITS)
    office.listen(BERT, WORKER)

    stop(office, WORKER)
    relays.close(office.db, office.journal, relay.id, by="person", reason="closed")

    finished, closed = told_to_bert(office)
    assert "finished its turn" in finished
    assert closed.endswith("The relay is closed: closed.")


@pytest.mark.spec("E6")
def test_news_keeps_nobodys_words_from_a_session(office: Office) -> None:
    message_limits.put(office.db, StoredLimits(queued_messages=2))
    office.listen(BERT, WORKER, repeat=True)
    for _ in range(5):
        stop(office, WORKER)

    office.say(None, BERT, "There is room.")


@pytest.mark.spec("E6")
def test_much_news_is_merged_and_says_each_thing_once(office: Office) -> None:
    message_limits.put(office.db, StoredLimits(queued_messages=2))
    office.listen(BERT, WORKER, repeat=True)
    made = [talk(office, ANNA, BERT) for _ in range(3)]

    for how in ("finished", "finished", "interrupted", "finished", "interrupted"):
        stop(office, WORKER, how)
    for each in made:
        relays.close(office.db, office.journal, each.id, by="person", reason="closed")
    stop(office, WORKER)

    *_, merged = office.paste(BERT).words.split("[rookery]")
    envelope, *lines = merged.splitlines()
    assert waiting(office) == 3
    assert envelope == " Rookery to bert: what you wait for, and your relays"
    assert [line.split(" ")[0] for line in lines] == ["Session", *["relay"] * 3, "Session"]
    assert "interrupted" in lines[0]
    assert lines[1] == f"relay {made[0].id}: The relay is closed: closed."
    assert "finished" in lines[-1]


@pytest.mark.spec("E6")
def test_merged_news_has_an_end_and_says_so(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "MAX_MERGED_LINES", 3)
    message_limits.put(office.db, StoredLimits(queued_messages=1))
    office.listen(BERT, WORKER, repeat=True)

    for number in range(8):
        failed = facts.TurnEnded(WORKER, f"Failure {number}", "failed")
        office.happen(facts.TurnStarted(WORKER, "go"), failed)

    first, left_out, *last = told_to_bert(office)
    assert "Failure 0" in first
    assert left_out == notices.LEFT_OUT
    assert [line.partition("Failure ")[2][:1] for line in last] == ["5", "6", "7"]


def test_the_limits_are_those_that_were_set_last(db: Connection) -> None:
    usual = message_limits.get(db)
    message_limits.put(db, StoredLimits(1, 2, 3))
    message_limits.put(db, StoredLimits(4, 5, 6))

    assert usual == StoredLimits(1_000, 16_000_000, 500)
    assert message_limits.get(db) == StoredLimits(4, 5, 6)
