"""A backup that is restored: its rows come back, and nothing that it asks for is done."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path

import pytest

from rookery.home import Home, find_home
from rookery.model.errors import BadInput
from rookery.model.scopes import Identity, Scope
from rookery.model.sessions import Badge
from rookery.restore_backup import restore
from rookery.store import hook_calls, migrations, requests, senders, sessions, tokens
from rookery.store.connections import open_file
from rookery.store.journal import Journal
from rookery.store.migrations import migrate
from tests.support.fakes.clock import FakeClock
from tests.support.rows import ANNA, BERT, WORKER, make, settle_in

pytestmark = pytest.mark.spec("K1", "I5")

OWNER = Identity(Scope.OWNER, "unix")

#: What a message has in every test; only its step matters.
MESSAGE = "insert into messages (id, recipient, words, author, cause, written_at, step, parcel)"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = find_home({"ROOKERY_HOME": str(tmp_path / "home")})
    home.prepare()
    return home


@pytest.fixture
def backup(tmp_path: Path, journal: Journal) -> Path:
    """Make a backup with three sessions that run."""
    file = tmp_path / "backup.db"
    with closing(open_file(file)) as db:
        migrate(db)
        db.execute("begin")
        settle_in(db, journal)
        db.commit()
    file.chmod(0o600)
    return file


def write(file: Path, work: Callable[[sqlite3.Connection], object]) -> None:
    with closing(open_file(file)) as db:
        db.execute("begin")
        work(db)
        db.commit()


def run(file: Path, *statements: str) -> None:
    write(file, lambda db: [db.execute(each) for each in statements])


@pytest.fixture
def taken(home: Home, clock: FakeClock) -> Iterator[Callable[[Path], sqlite3.Connection]]:
    """Restore a file, and open what became of it."""
    opened: list[sqlite3.Connection] = []

    def take(file: Path) -> sqlite3.Connection:
        restore(home, file, ["reader"], clock)
        opened.append(open_file(home.database))
        return opened[-1]

    yield take
    for each in opened:
        each.close()


Take = Callable[[Path], sqlite3.Connection]


def test_what_was_kept_is_there_again(taken: Take, backup: Path) -> None:
    db = taken(backup)

    assert {each.id for each in sessions.live(db)} == {ANNA, BERT, WORKER}
    (entries,) = db.execute("select count(*) from entries").fetchone()
    assert entries == 3


def test_the_old_database_is_kept_and_nothing_else_is_left(
    home: Home, backup: Path, clock: FakeClock
) -> None:
    with closing(open_file(home.database)) as db:
        migrate(db)
        db.execute("insert into bookmarks values ('before', 1)")

    aside = restore(home, backup, [], clock)

    assert aside
    with closing(open_file(aside)) as db:
        assert db.execute("select reader from bookmarks").fetchone()[0] == "before"
    assert aside.stat().st_mode & 0o777 == home.database.stat().st_mode & 0o777 == 0o600
    left = {each.name for each in home.state.iterdir() if each.is_file()}
    assert left == {"rookery.db", aside.name}


def test_the_file_of_another_user_is_refused(
    home: Home, backup: Path, clock: FakeClock
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a file to another user")
    os.chown(backup, 65534, 65534)

    with pytest.raises(BadInput, match="belongs to another user"):
        restore(home, backup, [], clock)


def test_a_file_that_others_can_change_is_refused(
    home: Home, backup: Path, clock: FakeClock
) -> None:
    backup.chmod(0o620)

    with pytest.raises(BadInput, match="chmod go-w"):
        restore(home, backup, [], clock)


def test_what_is_no_file_is_refused(home: Home, tmp_path: Path, clock: FakeClock) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)

    with pytest.raises(BadInput, match="is not a file"):
        restore(home, pipe, [], clock)


@pytest.mark.parametrize(
    "planted",
    [
        "create trigger t after insert on entries begin delete from sessions; end",
        "create view v as select 1",
        "create table more (x)",
        "create virtual table searched using fts5(x)",
        "create index i on entries (body)",
    ],
)
def test_a_schema_that_is_not_ours_is_refused(
    home: Home, backup: Path, clock: FakeClock, planted: str
) -> None:
    run(backup, planted)

    with pytest.raises(BadInput, match="that Rookery did not make"):
        restore(home, backup, [], clock)
    assert not home.database.exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("drop table audit", "is missing"),
        ("alter table switches rename column value to other", "not a backup of Rookery"),
        (f"{MESSAGE} values (1, 'nobody', 'x', 'x', 1, 'x', 'pending', null)", "refers to"),
        ("update sessions set id = '../../x' where id = 'bert'", "with the id"),
        ("pragma user_version = 999", "newer Rookery"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(
    home: Home, backup: Path, clock: FakeClock, change: str, said: str
) -> None:
    with closing(sqlite3.connect(backup)) as db:
        db.execute(change)
        db.commit()

    with pytest.raises(BadInput, match=said):
        restore(home, backup, [], clock)


def test_the_schema_of_a_file_is_not_taken_over(taken: Take, backup: Path) -> None:
    run(backup, "drop table switches", "create table switches (name, value)")

    (made,) = (
        taken(backup)
        .execute("select sql from sqlite_schema where name = 'switches'")
        .fetchone()
    )

    assert "strict" in made


def test_every_token_is_void_and_a_badge_still_proves_a_hook(
    taken: Take, backup: Path, clock: FakeClock
) -> None:
    badges: list[Badge] = []

    def plant(db: sqlite3.Connection) -> None:
        for scope in (Scope.OWNER, Scope.READER):
            tokens.mint(db, f"planted {scope}", scope, by=OWNER, at=clock.now())
        badges.append(tokens.give_badge(db, ANNA, at=clock.now()))

    write(backup, plant)
    db = taken(backup)

    assert tokens.valid(db) == []
    for secret in ("planted owner", "planted reader", *badges):
        assert tokens.find(db, tokens.digest(secret)) is None
    assert not tokens.keep_owner(db, "planted owner", at=clock.now())
    assert senders.get(db, ANNA).has_badge(badges[0])
    assert not senders.get(db, ANNA).has_badge(Badge("another"))


def test_a_badge_of_a_backup_is_gone_once_its_session_is_given_another(
    taken: Take, backup: Path, clock: FakeClock
) -> None:
    old: list[Badge] = []
    write(backup, lambda db: old.append(tokens.give_badge(db, ANNA, at=clock.now())))
    db = taken(backup)

    tokens.give_badge(db, ANNA, at=clock.now())

    assert not senders.get(db, ANNA).has_badge(old[0])


@pytest.mark.spec("K3")
def test_no_message_of_a_backup_is_delivered(taken: Take, backup: Path) -> None:
    run(
        backup,
        *(
            f"{MESSAGE} values ({number}, '{to}', 'x', 'x', {number}, 'x', '{step}', {parcel})"
            for number, to, step, parcel in (
                (1, ANNA, "pending", "null"),
                (2, ANNA, "sending", 2),
                (3, BERT, "pasted", 3),
                (4, WORKER, "submitted", 4),
            )
        ),
    )

    rows = taken(backup).execute("select step from messages order by id").fetchall()

    assert [row["step"] for row in rows] == ["failed", "unsure", "unsure", "unsure"]


def test_no_session_of_a_backup_is_started_or_looked_for_elsewhere(
    taken: Take, backup: Path, journal: Journal
) -> None:
    def plant(db: sqlite3.Connection) -> None:
        sessions.add(db, make(journal, "waiting"), launch={"command": ["/bin/sh"]})
        for name, runtime in (("watched", "observed"), ("alone", "headless")):
            sessions.add(db, make(journal, name, runtime=runtime, tmux_server="/tmp/evil"))  # noqa: S108 - a name in a row
            db.execute(
                "update sessions set status = 'running', activity = 'idle' where id = ?",
                (name,),
            )

    write(backup, plant)
    db = taken(backup)

    ended = {each: sessions.get(db, make(journal, each).id) for each in ("waiting", "watched")}
    assert {each.status for each in ended.values()} == {"failed"}
    assert {each.reason for each in ended.values()} == {
        "the database was restored from a backup"
    }
    assert {each.id for each in sessions.live(db)} == {ANNA, BERT, WORKER}


def test_a_driven_session_of_a_backup_goes_on_and_its_questions_are_decided_anew(
    taken: Take, backup: Path, journal: Journal
) -> None:
    def plant(db: sqlite3.Connection) -> None:
        sessions.add(db, make(journal, "driven", runtime="acp"))
        db.execute(
            "update sessions set status = 'running', activity = 'permission',"
            " handle = 'driven:driven' where id = 'driven'"
        )
        db.execute("insert into hooks (key, at) values ('driven driven 1-x', 'x')")
        db.execute(
            "insert into requests (id, session, kind, tool, input, message, digest, asked_at,"
            " answered_at, outcome, hook) values ('one', 'driven', 'permission', 'B', '{}', '',"
            " '', 'x', 'x', 'allowed', 'driven driven 1-x')"
        )

    write(backup, plant)
    db = taken(backup)

    assert sessions.get(db, make(journal, "driven").id).status == "running"
    assert requests.of_hook(db, "driven driven 1-x") is None
    assert hook_calls.add(db, "driven driven 1-x", at=journal.clock.now())


def test_nothing_that_was_allowed_stays_allowed_and_no_key_is_pressed(
    taken: Take, backup: Path
) -> None:
    columns = "(id, session, kind, tool, input, message, digest, asked_at, keys, outcome, {})"
    request = f"insert into requests {columns.format('answered_at')}"
    run(
        backup,
        "insert into grants values ('anna', 'any', 'one')",
        f"{request} values ('one', 'anna', 'permission', 'B', '{{}}', '', '', 'x', 'due',"
        " 'allowed', 'x')",
        f"{request} values ('two', 'bert', 'permission', 'B', '{{}}', '', '', 'x', 'none',"
        " 'open', null)",
    )
    db = taken(backup)

    assert db.execute("select count(*) from grants").fetchone()[0] == 0
    rows = db.execute("select keys, outcome from requests order by id").fetchall()
    assert [tuple(row) for row in rows] == [("none", "allowed"), ("none", "gone")]


@pytest.mark.spec("I2")
def test_no_permission_mode_of_a_backup_is_resumed(taken: Take, backup: Path) -> None:
    run(backup, "update sessions set permission_mode = 'bypassPermissions'")

    db = taken(backup)

    assert {sessions.get(db, each).permission_mode for each in (ANNA, BERT)} == {""}


def test_no_reader_is_shown_what_a_backup_says_happened(
    taken: Take, backup: Path, journal: Journal
) -> None:
    run(backup, "insert into bookmarks values ('known', 1)")
    write(backup, lambda db: sessions.add(db, make(journal, "waiting")))

    db = taken(backup)

    found = dict(db.execute("select reader, seq from bookmarks").fetchall())
    rows = db.execute("select kind from entries where seq > 3").fetchall()
    assert found == {"known": 3, "reader": 3}
    assert [row["kind"] for row in rows] == ["session-ended"]


def test_numbers_that_were_given_are_not_given_again(taken: Take, backup: Path) -> None:
    run(backup, "insert into entries values (900, 'x', 'anna', 'session-found', '{}')")
    run(backup, "delete from entries where seq = 900")

    (last,) = (
        taken(backup)
        .execute("select seq from sqlite_sequence where name = 'entries'")
        .fetchone()
    )

    assert last == 900


def test_a_backup_of_an_earlier_version_is_brought_up_to_date(
    taken: Take, tmp_path: Path
) -> None:
    file, (first, *_) = (
        tmp_path / "old.db",
        sorted(
            (
                each
                for each in resources.files(migrations).iterdir()
                if each.name.endswith(".sql")
            ),
            key=lambda each: each.name,
        ),
    )
    with closing(sqlite3.connect(file)) as old:
        old.executescript(first.read_text(encoding="utf-8"))
        old.execute("insert into bookmarks values ('somebody', 7)")
        old.execute("pragma user_version = 1")
        old.commit()
    file.chmod(0o600)

    db = taken(file)

    assert db.execute("select reader from bookmarks order by reader").fetchone()[0] == "reader"
    assert db.execute("select count(*) from relays").fetchone()[0] == 0


@pytest.mark.spec("H4")
def test_no_notification_of_a_backup_is_sent(taken: Take, backup: Path) -> None:
    run(
        backup,
        "insert into notifications (session, kind, subject, channel, text, at, due_at, state)"
        " select 'anna', 'failed', value, 'command', 'x', '2026', '2026', value"
        """ from json_each('["waiting", "sending", "sent"]')""",
    )

    db = taken(backup)

    found = db.execute("select subject, state from notifications order by id")
    assert [tuple(row) for row in found] == [
        ("waiting", "skipped"),
        ("sending", "skipped"),
        ("sent", "sent"),
    ]


@pytest.mark.spec("L3")
def test_no_worktree_of_a_backup_is_made_or_removed(taken: Take, backup: Path) -> None:
    def add(db: sqlite3.Connection) -> None:
        for state in ("requested", "ready", "removing", "removed"):
            db.execute(
                "insert into workspaces (path, session, repository, source, branch,"
                " is_new_branch, base, base_commit, state, is_discarded, process, created_at)"
                " values (?, ?, '/r', '', ?, 1, 'main', 'c', ?, 1, '1:1', 'now')",
                (f"/home/anna/{state}", ANNA, state, state),
            )

    write(backup, add)

    db = taken(backup)

    rows = db.execute("select path, state, is_discarded, process from workspaces")
    found = {Path(row["path"]).name: tuple(row)[1:] for row in rows}
    assert found == {
        "requested": ("kept", 0, ""),
        "ready": ("kept", 0, ""),
        "removing": ("kept", 0, ""),
        "removed": ("removed", 0, ""),
    }
