"""Numbered migrations from every earlier schema to the current one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from sqlite3 import Connection
from urllib.parse import quote

from rookery.model.errors import StoreBroken

#: The schema that all migrations together make.
SCHEMA = Path(__file__).parents[1] / "schema.sql"


def migrate(db: Connection, path: Path | None = None, *, until: int | None = None) -> None:
    """Apply each migration that this database lacks, in one transaction with its number.

    A new database gets the current schema at once, which takes a fifteenth of the time. One
    with an earlier version is copied first; one with a later version is refused. With
    ``until``, stop at that version.
    """
    (version,) = db.execute("pragma user_version").fetchone()
    check_version(max(version, until or 0))
    if not version and until is None:
        _run(db, SCHEMA.read_text(encoding="utf-8"), latest())
        return
    steps = _steps()[:until]
    if path and 0 < version < len(steps):
        copy = path.with_name(f"{path.name}.before-{len(steps)}")
        if 0 < _version_of(copy) < version:
            # An upgrade was interrupted between two steps: the first copy is the way back.
            copy = copy.with_name(f"{copy.name}.from-{version}")
        _copy(db, copy)
    for number, step in enumerate(steps[version:], version + 1):
        _run(db, step.read_text(encoding="utf-8"), number)


def _run(db: Connection, script: str, version: int) -> None:
    db.executescript(f"begin; {script}; pragma user_version = {version}; commit;")


def latest() -> int:
    """Return the number of the current schema."""
    return len(_steps())


def check_version(version: int) -> None:
    """Raise ``StoreBroken`` if a schema is newer than this version of Rookery."""
    if version > latest():
        raise StoreBroken(
            f"it was written by a newer Rookery (schema {version}); upgrade this one."
        )


def _steps() -> list[Traversable]:
    files = resources.files(__package__).iterdir()
    steps = (each for each in files if each.name.endswith(".sql"))
    return sorted(steps, key=lambda each: each.name)


def _version_of(copy: Path) -> int:
    """Return the schema version of a whole copy; 0 if there is none, or only part of one."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(copy))}?mode=ro", uri=True)) as db:
            (found,) = db.execute("pragma quick_check(1)").fetchone()
            (version,) = db.execute("pragma user_version").fetchone()
    except sqlite3.Error:
        return 0
    return int(version) if found == "ok" else 0


def _copy(db: Connection, copy: Path) -> None:
    copy.unlink(missing_ok=True)
    db.execute("vacuum into ?", (str(copy),))
    copy.chmod(0o600)
