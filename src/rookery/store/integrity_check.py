"""Run SQLite's check of the database file while the daemon uses it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from rookery.store.migrations import check_version

#: SQLite's report on a file without faults.
OK = "ok"


def check_tables(file: Path) -> str:
    """Return SQLite's report on the tables. Raises ``StoreBroken`` for a newer schema.

    Two tables at a time, in half the time of the whole file. Only ``check_whole_file`` finds
    pages that are used twice, or both used and free.
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
    """Return SQLite's report on the whole file, including its indexes."""
    with _opened(file) as db:
        (found,) = db.execute("pragma integrity_check(1)").fetchone()
    return str(found)


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as db:
        (version,) = db.execute("pragma user_version").fetchone()
        check_version(version)
        yield db
