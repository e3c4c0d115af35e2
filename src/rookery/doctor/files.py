"""Check the database and the folders of a home."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from rookery.doctor.checks import Check
from rookery.home import Home
from rookery.model.errors import StoreBroken
from rookery.store import integrity_check
from rookery.store.replaced_files import RESCUE

#: Bytes below which a disk counts as nearly full.
LOW_DISK_BYTES = 500_000_000


def check_deeply(home: Home) -> Check:
    """Check every page, index and free page of the database. There is no time limit."""
    return check_database(home, integrity_check.check_whole_file)


def check_database(
    home: Home, look: Callable[[Path], str] = integrity_check.check_tables
) -> Check:
    """Check the database; by default, the structure of each of its tables."""
    if not home.database.exists():
        return Check("database", ok=None, detail="there is none yet")
    advice = "rookery down, then: rookery restore FILE"
    try:
        problem = look(home.database)
        size = home.database.stat().st_size // 1_000
    except UnicodeDecodeError:  # SQLite's message quotes the damaged schema
        return Check("database", ok=False, detail="its schema is damaged", advice=advice)
    except StoreBroken as error:
        return Check("database", ok=False, detail=str(error))
    except (sqlite3.Error, OSError) as error:
        return Check("database", ok=False, detail=str(error), advice=advice)
    is_well = problem == integrity_check.OK
    return Check("database", is_well, f"{problem}, {size:,} kB", "" if is_well else advice)


def check_lost_database(home: Home) -> Check:
    detail = f"{home.database} was deleted while the daemon uses it"
    return Check("database", ok=False, detail=detail, advice=RESCUE)


def check_folders(home: Home) -> Iterator[Check]:
    for name, folder in (("state", home.state), ("run", home.run)):
        if not folder.exists():
            yield Check(f"folder {name}", ok=None, detail=f"{folder} is not there yet")
            continue
        status = folder.stat()
        private = not status.st_mode & 0o077 and status.st_uid == os.getuid()
        advice = "" if private else f"chmod 700 '{folder}'"
        mode = stat.filemode(status.st_mode)
        yield Check(f"folder {name}", private, f"{folder} {mode}", advice)


def check_disk(home: Home) -> Check:
    folder = next(each for each in (home.state, *home.state.parents) if each.exists())
    free = shutil.disk_usage(folder).free
    advice = "" if free > LOW_DISK_BYTES else "make room, then: rookery prune"
    return Check("disk", free > LOW_DISK_BYTES, f"{free // 1_000_000:,} MB free", advice)


def check_spool(home: Home) -> Check:
    # The daemon may take a file meanwhile, so nothing here may expect it to be there.
    files = [each for each in home.spool.glob("*") if each.is_file() and not each.is_symlink()]
    # Their names are whatever was written there, also bytes that are no text.
    damaged = tuple(
        os.fsencode(file).decode(errors="backslashreplace")
        for file in files
        if file.suffix == ".damaged"
    )
    waiting = sum(file.suffix not in {".part", ".damaged"} for file in files)
    detail = f"{waiting} hook calls wait to be processed"
    if not damaged:
        return Check("spool", waiting == 0, detail)
    detail += f", {len(damaged)} were set aside, because they are partial or too large"
    return Check("spool", ok=False, detail=detail, advice="remove them", items=damaged)
