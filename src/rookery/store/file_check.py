"""Has SQLite check the database file, beside a daemon that uses it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from rookery.store.migrations import check_version

#: What SQLite says of a file without faults.
OK = "ok"


def check_tables(file: Path) -> str:
    """Return what SQLite says of the tables. Raises ``StoreBroken`` for a newer schema.

    Two at a time, which takes half as long as the whole file: that a page is used twice, or
    both used and free, is only seen there.
    """
    with _opened(file) as db:
        rows = db.execute("select name from sqlite_schema where type = 'table'").fetchall()

    def check(table: str) -> str:
        with _opened(file) as db:
            checked = db.execute("select quick_check from pragma_quick_check(?)", (table,))
            (found,) = checked.fetchone()
        return str(found)

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(check, (name for (name,) in rows)))
    return next((each for each in found if each != OK), OK)


def check_whole_file(file: Path) -> str:
    """Return what SQLite says of the whole file, its indexes included."""
    with _opened(file) as db:
        (found,) = db.execute("pragma integrity_check(1)").fetchone()
    return str(found)


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as db:
        (version,) = db.execute("pragma user_version").fetchone()
        check_version(version)
        yield db
