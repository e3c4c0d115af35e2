"""The commands that copy the database, and take a copy back."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import click

from rookery.cli.group import as_json, client, home, rookery
from rookery.cli.show import say, show_json
from rookery.home import Home
from rookery.model.errors import AlreadyRunning, BadInput, HomeUnusable


@rookery.command()
@as_json
@click.argument("file", type=click.Path(path_type=Path))
def backup(*, file: Path, as_json: bool) -> None:
    """Copy the database to FILE, while everything goes on."""
    found = client().post("backup", file=str(file.absolute()))
    if as_json:
        show_json(found)
    else:
        say(f"{found['bytes']:,} bytes in {found['file']}")


@rookery.command()
@as_json
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def restore(*, file: Path, as_json: bool) -> None:
    """Take FILE, made by backup, as the database. The daemon must be down."""
    here = home()
    here.prepare()
    try:
        with here.locked():
            aside = _restore(here, file)
    except AlreadyRunning as running:
        raise BadInput(f"{running} Stop it first:  rookery down") from running
    if as_json:
        show_json({"file": str(here.database), "kept": str(aside) if aside else None})
        return
    if aside:
        say(f"What was there is kept in {aside}")
    say("Restored. Tokens are as they were then: newer ones are void, revoked ones hold again.")
    say("Start it with:  rookery up")


def _restore(here: Home, file: Path) -> Path | None:
    """Put a copy in the place of the database. Returns where that is kept, if there was one."""
    _check_copy(file)
    moment = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S-%f")
    aside = here.database.with_suffix(f".before-restore-{moment}")
    new = here.database.with_suffix(".new")
    is_there = here.database.exists()
    try:
        _copy(file, new)
        if is_there:
            _keep(here.database, aside)
        for left in ("-wal", "-shm"):
            here.database.with_name(here.database.name + left).unlink(missing_ok=True)
        new.replace(here.database)
    except (OSError, sqlite3.Error) as error:
        new.unlink(missing_ok=True)
        raise HomeUnusable(f"{here.state}: {error}") from error
    return aside if is_there else None


def _keep(database: Path, aside: Path) -> None:
    """Keep what was there, also if it is damaged and nothing can read it."""
    try:
        _copy(database, aside)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode not in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise
        shutil.copyfile(database, aside)


def _check_copy(file: Path) -> None:
    try:
        db = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
        (found,) = db.execute("pragma quick_check(1)").fetchone()
        db.execute("select 1 from entries limit 1")
        db.close()
    except sqlite3.Error as error:
        raise BadInput(f"{file} is no backup of Rookery: {error}") from error
    if found != "ok":
        raise BadInput(f"{file} is damaged: {found}")


def _copy(source: Path, target: Path) -> None:
    """Copy a database with what its log still holds; private, whole or not at all."""
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(source)) as db, closing(sqlite3.connect(target)) as copy:
        db.backup(copy)
