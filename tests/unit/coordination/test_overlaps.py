from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection

import pytest

from rookery.coordination import overlaps
from rookery.coordination.overlaps import note_edits
from rookery.model.facts import SessionEnded, SessionId
from rookery.model.overlaps import FileInRepository
from rookery.store import flags
from rookery.store import overlaps as stored
from rookery.store.journal import Journal
from tests.support.rows import ANNA, BERT, settle_in
from tests.support.waiting import kinds

FILE = FileInRepository("/repository/.git", "src/app.py")


@pytest.fixture
def journal_of(db: Connection, journal: Journal) -> Journal:
    with_reader = Journal(journal.computer, journal.clock, {"overlaps": overlaps.READER})
    settle_in(db, with_reader)
    while with_reader.show_page("overlaps", db):
        pass
    with_reader._caught_up.add("overlaps")  # noqa: SLF001 - as catch_up() does it
    return with_reader


def edit(
    db: Connection, journal: Journal, session: SessionId, files: Sequence[FileInRepository]
) -> None:
    note_edits(db, journal, session, files, at=journal.clock.now())


def found(db: Connection) -> list[str]:
    return [each for each in kinds(db) if each == "overlap-found"]


@pytest.mark.spec("L4")
def test_an_overlap_is_recorded_once_for_each_pair_and_file(
    db: Connection, journal_of: Journal
) -> None:
    edit(db, journal_of, ANNA, [FILE])
    assert found(db) == []
    for _ in range(3):
        edit(db, journal_of, BERT, [FILE])
        edit(db, journal_of, ANNA, [FILE])
    assert len(found(db)) == 1

    edit(db, journal_of, BERT, [FileInRepository(FILE.repository, "other.py")])
    edit(db, journal_of, ANNA, [FileInRepository(FILE.repository, "other.py")])

    assert len(found(db)) == 2


@pytest.mark.spec("L4")
def test_another_file_or_another_repository_is_no_overlap(
    db: Connection, journal_of: Journal
) -> None:
    edit(db, journal_of, ANNA, [FILE])
    edit(db, journal_of, BERT, [FileInRepository("/elsewhere/.git", FILE.path)])
    edit(db, journal_of, BERT, [FileInRepository(FILE.repository, "src/other.py")])

    assert found(db) == []


@pytest.mark.spec("L4")
def test_a_session_that_has_ended_overlaps_with_no_other(
    db: Connection, journal_of: Journal
) -> None:
    edit(db, journal_of, ANNA, [FILE])
    journal_of.append(db, SessionEnded(ANNA, "done"))

    edit(db, journal_of, BERT, [FILE])

    assert found(db) == []
    assert (
        db.execute("select count(*) from edits where session = ?", (ANNA,)).fetchone()[0] == 0
    )


@pytest.mark.spec("L4")
def test_the_list_names_the_other_session_and_the_file(
    db: Connection, journal_of: Journal
) -> None:
    for path in ("a.py", "b.py", "c.py"):
        for each in (ANNA, BERT):
            edit(db, journal_of, each, [FileInRepository(FILE.repository, path)])

    notes = stored.notes(db)

    assert notes[BERT].endswith("also changed a.py and 2 more")
    assert set(notes) == {ANNA, BERT}
    journal_of.append(db, SessionEnded(ANNA, "done"))
    assert stored.notes(db) == {}


@pytest.mark.spec("L4")
@pytest.mark.parametrize("tells", [False, True])
def test_agents_are_told_if_that_is_configured(
    db: Connection, journal_of: Journal, *, tells: bool
) -> None:
    flags.tell_agents_of_overlaps(db, on=tells)

    edit(db, journal_of, ANNA, [FILE])
    edit(db, journal_of, BERT, [FILE])

    rows = db.execute("select recipient, words, kind from messages order by recipient")
    told = [(row["recipient"], row["kind"]) for row in rows]
    assert told == ([(ANNA, "news"), (BERT, "news")] if tells else [])
    words = [row["words"] for row in db.execute("select words from messages")]
    assert all("src/app.py" in each and "Another session" in each for each in words)
