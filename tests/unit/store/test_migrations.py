from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from rookery.model.errors import StoreBroken
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity, Status
from rookery.ports.runtime import RuntimeHandle
from rookery.runtimes.tmux.places import Place
from rookery.store import counters, migrations, sessions, statistics
from rookery.store.connections import open_file
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.migrations import migrate
from tests.support.fakes.clock import FakeClock
from tests.support.rows import add_to_older, make

STEPS = sorted(
    (each for each in resources.files(migrations).iterdir() if each.name.endswith(".sql")),
    key=lambda each: each.name,
)
LATEST = len(STEPS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rookery.db"


@pytest.fixture
def file(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_file(path)) as db:
        yield db


def version(db: sqlite3.Connection) -> int:
    (number,) = db.execute("pragma user_version").fetchone()
    return int(number)


def tables(db: sqlite3.Connection) -> set[str]:
    rows = db.execute("select name from sqlite_schema where type = 'table'")
    return {row[0] for row in rows}


def make_old(db: sqlite3.Connection) -> None:
    """Bring a file to where an earlier version left it, with something in it."""
    db.executescript(STEPS[0].read_text(encoding="utf-8"))
    db.execute("insert into bookmarks values ('somebody', 7)")
    db.execute("pragma user_version = 1")


def test_a_file_is_migrated_once(file: sqlite3.Connection, path: Path) -> None:
    migrate(file, path)
    first = version(file)
    migrate(file, path)

    assert first == version(file) == LATEST
    assert {"sessions", "entries", "messages", "turns"} <= tables(file)


def schema_of(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
    found = db.execute(
        "select type, name, tbl_name, sql from sqlite_schema order by type, name"
    )
    return [tuple(row) for row in found]


def count_rows(db: sqlite3.Connection) -> dict[str, int]:
    queries = {each: f"select count(*) from {each}" for each in tables(db)}  # noqa: S608 - ours
    del queries["sqlite_sequence"]
    return {each: db.execute(query).fetchone()[0] for each, query in queries.items()}


def test_a_new_file_is_as_if_all_migrations_had_run() -> None:
    """If this fails after a new migration, type: make docs."""
    with closing(open_file(":memory:")) as new, closing(open_file(":memory:")) as old:
        migrate(new)
        migrate(old, until=LATEST)

        assert schema_of(new) == schema_of(old)
        assert version(new) == version(old)
        assert set(count_rows(old).values()) == {0}


def test_an_older_file_is_copied_before_it_is_changed(
    file: sqlite3.Connection, path: Path
) -> None:
    make_old(file)

    migrate(file, path)

    copy = path.with_name(f"rookery.db.before-{LATEST}")
    with closing(sqlite3.connect(copy)) as before:
        assert version(before) == 1
        assert "messages" not in tables(before)
        assert before.execute("select * from bookmarks").fetchall() == [("somebody", 7)]
    assert version(file) == LATEST
    assert tuple(file.execute("select * from bookmarks").fetchone()) == ("somebody", 7)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_a_copy_that_an_earlier_attempt_left_is_replaced(
    file: sqlite3.Connection, path: Path
) -> None:
    make_old(file)
    copy = path.with_name(f"rookery.db.before-{LATEST}")
    copy.write_text("half a copy")

    migrate(file, path)

    with closing(sqlite3.connect(copy)) as before:
        assert version(before) == 1


def test_a_copy_of_an_older_schema_is_kept_when_an_upgrade_is_continued(
    file: sqlite3.Connection, path: Path
) -> None:
    make_old(file)
    copy = path.with_name(f"rookery.db.before-{LATEST}")
    with closing(sqlite3.connect(copy)) as before:
        file.backup(before)
    migrate(file, until=2)  # the daemon was killed after this step

    migrate(file, path)

    with closing(sqlite3.connect(copy)) as before:
        assert version(before) == 1
    with closing(sqlite3.connect(copy.with_name(f"{copy.name}.from-2"))) as between:
        assert version(between) == 2
    assert version(file) == LATEST


def test_a_new_file_leaves_no_copy(file: sqlite3.Connection, path: Path) -> None:
    migrate(file, path)

    assert list(path.parent.glob("*.before-*")) == []


def test_a_step_that_fails_leaves_the_file_as_it_was(
    file: sqlite3.Connection, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [path.with_name("0001.sql"), path.with_name("0002.sql")]
    steps[0].write_text("create table a (b)")
    steps[1].write_text("create table c (d); create table a (b)")
    monkeypatch.setattr(migrations, "_steps", lambda: steps)

    with pytest.raises(sqlite3.OperationalError):
        migrate(file, path, until=2)
    file.rollback()

    assert version(file) == 1
    assert tables(file) == {"a"}


@pytest.mark.spec("K4")
def test_a_file_of_a_newer_version_is_refused_and_not_touched(
    file: sqlite3.Connection, path: Path
) -> None:
    file.execute("pragma user_version = 99")

    with pytest.raises(StoreBroken, match="newer"):
        migrate(file, path)

    assert version(file) == 99
    assert tables(file) == set()


@pytest.mark.anyio
@pytest.mark.spec("K1")
async def test_a_new_file_is_for_its_owner_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        async with Database(path, FakeClock()):
            modes = {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    finally:
        os.umask(before)

    assert modes == {0o600}


#: The last version without handles.
BEFORE_HANDLES = 13
BEFORE_STATISTICS = next(
    at for at, step in enumerate(STEPS) if step.name.endswith("_statistics.sql")
)
BEFORE_TURNS_IN_ORDER = next(
    at for at, step in enumerate(STEPS) if step.name.endswith("_turns_in_order.sql")
)
BEFORE_LABELS = next(at for at, step in enumerate(STEPS) if "labels" in step.name)


def test_live_sessions_of_an_older_file_get_the_handles_of_their_panes(
    file: sqlite3.Connection, path: Path, journal: Journal
) -> None:
    migrate(file, until=BEFORE_HANDLES)
    up: dict[str, Any] = {"status": Status.RUNNING, "activity": Activity.IDLE}
    over: dict[str, Any] = {"status": Status.COMPLETED, "ended_at": journal.clock.now()}
    pane: dict[str, Any] = {"tmux_session": "rk_1111", "tmux_pane": "%7"}
    kept = [
        make(journal, "1111-ours", **up, **pane),
        make(journal, "2222-not-started", tmux_session="rk_2222"),
        make(journal, "3333-users", **up, **pane, tmux_server="/run/own", runtime="observed"),
        make(journal, "4444-headless", **up, runtime="headless"),
        make(journal, "5555-over", **over, **pane),
    ]
    for each in kept:
        add_to_older(file, each)

    migrate(file, path)

    handles = {each.id: sessions.handle_of(file, each.id) for each in kept}
    ours = handles.pop(SessionId("1111-ours"))
    assert ours == RuntimeHandle("tmux", '{"name":"rk_1111","pane":"%7"}')
    assert Place.read(ours) == Place("rk_1111", "%7")
    assert set(handles.values()) == {None}
    seen = [replace(each, seen_at=each.last_activity_at) for each in kept]
    assert [sessions.get(file, each.id) for each in kept] == seen


@pytest.mark.spec("A10")
def test_sessions_of_an_older_file_that_were_lost_are_known_as_lost(
    file: sqlite3.Connection, path: Path, journal: Journal
) -> None:
    migrate(file, until=BEFORE_LABELS)
    failed: dict[str, Any] = {"status": Status.FAILED, "ended_at": journal.clock.now()}
    for name, reason in (
        ("away", "lost while the daemon was away"),
        ("gone", "its tmux pane is gone"),
        ("crashed", "it was killed by SIGSEGV"),
    ):
        add_to_older(file, make(journal, name, **failed, reason=reason))

    migrate(file, path)

    names = [SessionId(each) for each in ("away", "gone", "crashed")]
    assert [sessions.get(file, each).lost for each in names] == [True, True, False]


@pytest.mark.spec("A11", "G6")
def test_an_older_file_gets_daily_sums_of_all_that_is_known(
    file: sqlite3.Connection, path: Path, journal: Journal
) -> None:
    migrate(file, until=BEFORE_STATISTICS)
    used: dict[str, Any] = {"input_tokens": 30, "output_tokens": 3, "cost": 300}
    add_to_older(file, make(journal, "one", **used))
    file.executescript("""
        insert into turns (session, started_by, prompt, started_at)
            values ('one', 2, 'go', '2026-11-03T10:00:00+00:00');
        insert into entries (at, session, kind, body) values
            ('2026-11-03T10:00:00+00:00', 'one', 'usage-reported',
                '{"session": "one", "input_tokens": 10, "output_tokens": 1, "cost": 100}'),
            ('2026-11-03T10:00:00+00:00', 'one', 'message-written', '{"sender": "person"}');
        insert into tallies (day, agent, status, sessions, launched, seconds, turns,
                input_tokens, output_tokens, cost, dearest, dearest_cost, dearest_tokens)
            values ('2026-10-01', 'codex', 'failed', 2, 1, 60, 4, 500, 50, null, 'x', null, 9);
    """)

    migrate(file, path)

    found = statistics.count(file)
    days = [(each.label, each.turns, each.tokens, each.cost) for each in found.days]
    assert days == [
        ("2026-10-01", 4, 550, None),
        ("2026-11-01", 0, 22, 200),  # its entries were deleted
        ("2026-11-03", 1, 11, 100),
    ]
    assert (found.launched, found.found) == (2, 1)
    assert (found.by_status, found.total_seconds) == ({"failed": 2, "starting": 1}, 60)
    assert counters.read(file) == {("messages_written", ""): 1}


def test_the_turns_of_an_older_file_are_kept_with_all_that_is_known_of_them(
    file: sqlite3.Connection, path: Path, journal: Journal
) -> None:
    migrate(file, until=BEFORE_TURNS_IN_ORDER)
    for name in ("one", "two"):
        add_to_older(file, make(journal, name))
    file.executescript("""
        insert into turns (session, started_by, prompt, started_at, native_id, queued)
            values ('one', 7, 'and this', '2026-11-03T10:02:00+00:00', 't1', 'waiting');
        insert into turns values ('one', 5, 'go', 'Done.', 'failed',
            '2026-11-03T10:00:00+00:00', '2026-11-03T10:01:00+00:00',
            3, 10, 20, 300, 2, 't1', 'taken_in', 1, 100);
        insert into turns (session, started_by, prompt, started_at)
            values ('two', 6, 'go', '2026-11-03T10:00:00+00:00');
    """)
    before = turns_in(file)

    migrate(file, path)

    assert len(before) == 3
    assert turns_in(file) == before


def turns_in(db: sqlite3.Connection) -> list[dict[str, Any]]:
    return [dict(row) for row in db.execute("select * from turns order by started_by")]
