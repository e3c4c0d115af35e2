"""Anna, Bert and a worker, and what happens to them."""

from __future__ import annotations

from sqlite3 import Connection

from rookery.coordination import listeners, relays
from rookery.coordination.listeners import listen
from rookery.model.facts import Fact, SessionId
from rookery.model.listeners import Listener, Until
from rookery.model.messages import MessageId, Parcel, Words
from rookery.sessions.commands import MessageSender, send
from rookery.store import message_batches, session_families
from rookery.store.journal import Journal
from tests.support.rows import settle_in

READERS = {"listeners": listeners.READER, "relays": relays.READER}


class Office:
    """All of them are idle at first."""

    def __init__(self, db: Connection, journal: Journal) -> None:
        self.db = db
        self.journal = Journal(journal.computer, journal.clock, READERS)
        settle_in(db, self.journal)
        session_families.trust_all(db, on=True)  # they are no family, and may read each other
        self.take_over()

    def take_over(self) -> None:
        """Do what a daemon does when it comes up."""
        self.journal = Journal(self.journal.computer, self.journal.clock, READERS)
        for reader in READERS:
            while self.journal.show_page(reader, self.db):
                pass
            self.journal._caught_up.add(reader)  # noqa: SLF001 - as catch_up() does it

    def happen(self, *happened: Fact) -> int:
        return self.journal.append(self.db, *happened)

    def listen(
        self,
        caller: SessionId,
        target: SessionId,
        until: Until = Until.STOP,
        *,
        message: MessageId | None = None,
        repeat: bool = False,
    ) -> bool:
        wanted = Listener(
            caller=caller, target=target, until=until, message=message, is_lasting=repeat
        )
        return listen(self.db, self.journal, wanted)

    def say(self, speaker: SessionId | None, target: SessionId, words: str) -> MessageId:
        """Give words to a session; nobody is a person."""
        name = f"session {speaker}" if speaker else "person"
        by = MessageSender(name, speaker)
        return send(self.db, self.journal, speaker=by, recipient=target, words=Words(words, 0))

    def ask(self, caller: SessionId, target: SessionId, words: str) -> MessageId:
        message = self.say(caller, target, words)
        self.listen(caller, target, message=message)
        return message

    def paste(self, session: SessionId) -> Parcel:
        parcel = message_batches.claim(self.db, session, self.journal.clock.now())
        assert parcel
        return parcel

    def told(self, author: str = "listeners") -> list[tuple[str, str]]:
        rows = self.db.execute(
            "select recipient, words from messages where author = ? order by id", (author,)
        )
        return [(row["recipient"], row["words"]) for row in rows]
