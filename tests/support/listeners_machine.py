"""Listeners against the simplest thing that could be meant by them."""

from __future__ import annotations

from sqlite3 import Connection
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rookery.model import facts
from rookery.model.facts import SessionId
from rookery.store import listeners, message_batches
from rookery.store.connections import open_file
from rookery.store.journal import Journal
from rookery.store.migrations import migrate
from tests.support.fakes.clock import FakeClock
from tests.support.rows import ANNA, BERT, WORKER
from tests.support.team import Office

EVERYBODY = (ANNA, BERT, WORKER)
anybody = st.sampled_from(EVERYBODY)

#: That they wait for each other is said besides; see the tests of rings.
TOLD = (
    "select recipient from messages where author = 'listeners'"
    " and words not like 'These sessions wait%' order by id"
)


class ListenersMachine(RuleBasedStateMachine):
    steps: ClassVar[int] = 0  #: of all that ever ran

    def __init__(self) -> None:
        super().__init__()
        self.db = open_file(":memory:")
        migrate(self.db)
        self.db.execute("begin")
        self.office = Office(self.db, Journal("here", FakeClock(), {}))
        self.alive = set(EVERYBODY)
        self.told: list[SessionId] = []
        #: Who waits for whom, and what must come before the stop that counts.
        self.waits: dict[tuple[SessionId, SessionId], str] = {}
        #: What stands in the input boxes.
        self.boxes: dict[SessionId, str] = {}
        self.requests = 0

    def teardown(self) -> None:
        self.db.close()

    def callers_of(self, session: SessionId) -> list[SessionId]:
        return sorted(caller for caller, awaited in self.waits if awaited == session)

    @rule(caller=anybody, other=anybody)
    def wait(self, caller: SessionId, other: SessionId) -> None:
        if caller != other and {caller, other} <= self.alive:
            is_first = (caller, other) not in self.waits
            assert self.office.listen(caller, other) == is_first
            self.waits.setdefault((caller, other), "nothing")

    @rule(caller=anybody, other=anybody)
    def ask(self, caller: SessionId, other: SessionId) -> None:
        if caller != other and {caller, other} <= self.alive:
            self.office.ask(caller, other, "Build it.")
            self.waits.setdefault((caller, other), "paste")

    @rule(caller=anybody, other=anybody)
    def give_up(self, caller: SessionId, other: SessionId) -> None:
        did_wait = self.waits.pop((caller, other), None) is not None
        removed = listeners.remove(self.db, caller=caller, target=other)
        assert (removed is not None) == did_wait

    @rule(session=anybody)
    def paste(self, session: SessionId) -> None:
        if session in self.boxes:
            return
        if parcel := message_batches.claim(self.db, session, self.office.journal.clock.now()):
            self.boxes[session] = parcel.words
            self.go_on(session, "paste", "prompt")

    @rule(session=anybody)
    def acknowledge(self, session: SessionId) -> None:
        if session in self.boxes:
            self.office.happen(facts.TurnStarted(session, self.boxes.pop(session)))
            self.go_on(session, "prompt", "nothing")

    def go_on(self, session: SessionId, before: str, after: str) -> None:
        for caller in self.callers_of(session):
            if self.waits[caller, session] == before:
                self.waits[caller, session] = after

    @rule(session=anybody)
    def hear_a_person(self, session: SessionId) -> None:
        self.office.happen(facts.TurnStarted(session, "A person's words."))

    @rule(session=anybody)
    def stop(self, session: SessionId) -> None:
        self.office.happen(facts.TurnEnded(session))
        for caller in self.callers_of(session):
            if self.waits[caller, session] == "nothing":
                del self.waits[caller, session]
                self.told.append(caller)

    @rule(session=anybody)
    def need_input(self, session: SessionId) -> None:
        self.requests += 1
        request = f"request {self.requests}"
        self.office.happen(facts.InputAsked(session, "permission", "May it?", request))
        self.told += self.callers_of(session)

    @rule(session=anybody)
    def end(self, session: SessionId) -> None:
        self.office.happen(facts.SessionEnded(session, "exit"))
        self.alive.discard(session)
        self.boxes.pop(session, None)
        self.told += [caller for caller in self.callers_of(session) if caller != session]
        self.waits = {who: what for who, what in self.waits.items() if session not in who}

    @rule()
    def restart(self) -> None:
        """Let another daemon take over: all it has are the rows."""
        self.db.commit()
        self.db.execute("begin")
        self.office.take_over()

    @invariant()
    def the_same_wait_and_the_same_were_told(self) -> None:
        type(self).steps += 1
        waiting = rows(self.db, "select caller, target from listeners")

        assert sorted(waiting) == sorted(self.waits)
        assert rows(self.db, TOLD) == [(caller,) for caller in self.told]
        assert rows(self.db, "select error from parked") == []


def rows(db: Connection, query: str) -> list[tuple[str, ...]]:
    return [tuple(row) for row in db.execute(query)]
