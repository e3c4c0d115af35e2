"""Copy the rows of a backup, which is not trusted, to a new database, and disarm them.

The file may contain anything. So its schema is not used, only its rows, which are checked
again when they are inserted; and nothing in it leads to an action.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from sqlite3 import Connection

from rookery.model.errors import BadInput
from rookery.model.facts import SessionId
from rookery.model.sessions import HEADLESS, OBSERVED
from rookery.store import tokens
from rookery.store.connections import open_file
from rookery.store.migrations import migrate
from rookery.store.timestamps import stamp

#: Tables whose rows would decide about tool calls; they are not restored from a backup.
DECIDING = ("grants", "valid_rules")

REASON = "the database was restored from a backup"


def rebuild(source: Path, target: Path) -> None:
    """Create a database at ``target`` with the rows of ``source``. Raises ``BadInput``."""
    with closing(open_file(target)) as db:
        db.execute("attach ? as source", (str(source),))
        for setting in ("trusted_schema = off", "source.cell_size_check = on"):
            db.execute(f"pragma {setting}")
        _check_whole(db)
        (version,) = db.execute("pragma source.user_version").fetchone()
        migrate(db, until=version)
        _check_schema(db)
        db.execute("pragma foreign_keys = off")
        db.execute("begin immediate")
        for table in _tables(db):
            _copy_rows(db, table)
        _check_rows(db)
        db.commit()
        db.execute("detach source")
        migrate(db)


def disarm(db: Connection, readers: Iterable[str], *, at: datetime) -> list[SessionId]:
    """Prevent actions from old rows. Return the sessions that have to be ended.

    These are sessions that would be started, and sessions outside Rookery's own tmux server
    and driver host: the name of a server's socket is not trusted either.
    """
    tokens.void_all(db, at=at)
    tables = set(_column(db, "select name from main.sqlite_schema where type = 'table'"))
    for table in tables.intersection(DECIDING):
        db.execute(f"delete from {table}")
    now = {"at": stamp(at), "reason": REASON}
    for change in _CHANGES.split(";"):
        db.execute(change, now)
    _skip_history(db, readers)
    return [SessionId(each) for each in _column(db, _TO_END, (OBSERVED, HEADLESS))]


#: Stops all deliveries, key presses, open requests, relays, readings of transcripts,
#: notifications, and the removal of worktrees. What a driven agent still asks is decided anew:
#: a row of the backup must not answer it. A resumed session gets its agent's own
#: permission mode.
_CHANGES = """
update sessions set permission_mode = '';
update messages set step = 'failed', waits_for = :reason, blocked_code = ''
    where step = 'pending';
update messages set step = 'unsure', waits_for = :reason, blocked_code = ''
    where step in ('sending', 'pasted', 'submitted');
update requests set keys = 'none' where keys = 'due';
update requests set outcome = 'gone', answered_by = 'restore', answered_at = :at
    where outcome = 'open';
update requests set hook = null where hook like 'driven %';
delete from hooks where key like 'driven %';
update relay_members set left_at = :at where left_at is null;
update relays set closed_at = :at, reason = :reason where closed_at is null;
update transcripts set due = null;
update notifications set state = 'skipped', reason = :reason, settled_at = :at
    where state in ('waiting', 'sending');
update workspaces set state = iif(state = 'removed', state, 'kept'), reason = :reason,
    is_discarded = 0, process = ''
"""

_TO_END = (
    "select id from sessions where status = 'starting' or (status in ('running', 'closing')"
    " and (runtime in (?, ?) or tmux_server is not null))"
)


def _skip_history(db: Connection, readers: Iterable[str]) -> None:
    """Set the bookmarks of all readers to the end of the journal."""
    last = "(select coalesce(max(seq), 0) from entries)"
    db.execute(f"update bookmarks set seq = {last}")
    for reader in readers:
        db.execute(f"insert or ignore into bookmarks values (?, {last})", (reader,))


def _check_whole(db: Connection) -> None:
    (result,) = db.execute("pragma source.quick_check(1)").fetchone()
    if result != "ok":
        raise BadInput(f"it is damaged: {result}")


def _check_schema(db: Connection) -> None:
    """Refuse triggers, views and all else that no version of Rookery has created."""
    question = (
        "select type, name, tbl_name from {}.sqlite_schema"
        " where name <> 'sqlite_sequence' and name not like 'sqlite_stat%'"
    )
    ours, found = (
        {tuple(row) for row in db.execute(question.format(schema))}
        for schema in ("main", "source")
    )
    for kind, name, _ in sorted(found - ours):
        raise BadInput(f"it has a {kind} that Rookery did not make: {name!r}")
    for _, name, _ in sorted(ours - found):
        raise BadInput(f"it is not a backup of Rookery: {name!r} is missing")


def _tables(db: Connection) -> Iterator[str]:
    # First, so that the numbers of deleted rows are not used again.
    yield "sqlite_sequence"
    yield from _column(
        db,
        "select name from main.sqlite_schema where type = 'table' and name not like 'sqlite%'",
    )


def _copy_rows(db: Connection, table: str) -> None:
    columns = ", ".join(_column(db, f"select name from pragma_table_info('{table}', 'main')"))
    db.execute(f"delete from main.{table}")
    db.execute(f"insert into main.{table} ({columns}) select {columns} from source.{table}")


def _check_rows(db: Connection) -> None:
    if broken := db.execute("pragma main.foreign_key_check").fetchone():
        raise BadInput(f"it is damaged: a row of {broken[0]} refers to nothing")
    # A session's id is the name of its folder: it must not lead elsewhere.
    strange = db.execute(
        "select id from main.sessions where id glob '*[^-0-9A-Za-z_]*' or id = ''"
    ).fetchone()
    if strange:
        raise BadInput(f"it has a session with the id {strange[0]!r}")


def _column(db: Connection, question: str, values: tuple[object, ...] = ()) -> list[str]:
    return [str(row[0]) for row in db.execute(question, values)]


def is_unreadable(error: sqlite3.Error) -> bool:
    """Return whether SQLite cannot read the file, and a retry would not help."""
    damaged = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
    return getattr(error, "sqlite_errorcode", None) in damaged
