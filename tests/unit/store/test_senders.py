from __future__ import annotations

from sqlite3 import Connection

import pytest

from rookery.model.errors import SessionUnknown
from rookery.model.facts import SessionId
from rookery.model.sessions import Badge, NativeId, Sender
from rookery.sessions import record_end
from rookery.store import evidence, senders, session_bindings, sessions, tokens
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.rows import make

OLD, NEW = SessionId("old"), SessionId("new")


def sender(event: str = "Stop", native_id: str = "n1") -> Sender:
    return Sender("demo", NativeId(native_id), "/", event, is_new=event == "SessionStart")


def end(db: Connection, journal: Journal, session: SessionId) -> None:
    record_end.end(db, journal, session, outcome="failed", reason="x")


@pytest.mark.spec("A2", "C4")
@pytest.mark.parametrize("event", ["Stop", "SessionStart"])
def test_a_sender_is_the_live_session_of_its_native_id_before_one_that_is_over(
    db: Connection, journal: Journal, clock: FakeClock, event: str
) -> None:
    found = []
    for session in (OLD, NEW):
        row = make(journal, session, native_id=NativeId("n1"), process=f"7:{session}")
        sessions.add(db, row)
        found.append(senders.known(db, sender(event)))
        clock.advance(1.0)
        end(db, journal, session)
        found.append(senders.known(db, sender(event)))
        assert getattr(found[-1], "session", None) == session_bindings.known(db, sender(event))

    told = [(each.session, each.process) if each else None for each in found]
    late = [None, None] if event == "SessionStart" else [(OLD, None), (NEW, None)]
    assert told == [(OLD, "7:old"), late[0], (NEW, "7:new"), late[1]]


def test_whom_nobody_knows_is_no_sender(db: Connection) -> None:
    assert senders.known(db, sender(native_id="nobody")) is None
    with pytest.raises(SessionUnknown):
        senders.get(db, SessionId("nobody"))


@pytest.mark.spec("C4")
def test_only_the_badge_that_a_session_has_now_is_worn(
    db: Connection, journal: Journal
) -> None:
    now = journal.clock.now()
    sessions.add(db, make(journal, OLD))
    bare = senders.get(db, OLD)
    first = tokens.give_badge(db, OLD, at=now)
    second = tokens.give_badge(db, OLD, at=now)
    known = senders.get(db, OLD)

    assert bare.badge is None
    assert not bare.has_badge(first)
    assert [known.has_badge(each) for each in (None, Badge("x"), first, second)] == [
        *(False, False, False),
        True,
    ]
    tokens.void_all(db, at=now)  # as after a restore: it still tells whose hook it is
    assert senders.get(db, OLD).has_badge(second)


def test_what_a_source_says_of_a_session_replaces_what_it_said_before(
    db: Connection, journal: Journal
) -> None:
    now = journal.clock.now()
    sessions.add(db, make(journal, OLD))
    for detail in ("SessionStart", "Stop"):
        evidence.note_state(db, OLD, "hook", at=now, detail=detail)
    evidence.note_state(db, OLD, "screen", at=now, detail="a dialog")
    end(db, journal, OLD)
    evidence.note_state(db, OLD, "hook", at=now, detail="SessionEnd")
    evidence.note_state(db, SessionId("nobody"), "hook", at=now, detail="Stop")

    found = {each.source: (each.claim, each.detail) for each in evidence.of_session(db, OLD)}
    assert found == {"hook": ("failed", "SessionEnd"), "screen": ("starting", "a dialog")}
    assert evidence.of_session(db, SessionId("nobody")) == []
