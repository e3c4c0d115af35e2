"""The commands that copy the database, and take a copy back."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from rookery.cli.render import say, show_json
from rookery.cli.root import as_json, client, home, rookery
from rookery.model.errors import AlreadyRunning, BadInput


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
    """Take FILE, made by backup, as the database. The daemon must be down.

    Nothing that the file asks for is carried out: tokens are void, sessions that were about to
    start have failed, and messages that were waiting are not delivered.
    """
    here = home()
    here.prepare()
    # Only here: what they need would slow every other command down.
    restoring = importlib.import_module("rookery.restoring")
    readers = [*importlib.import_module("rookery.daemon").READERS]
    clock = importlib.import_module("rookery.clock").WallClock()
    try:
        with here.locked():
            aside = restoring.restore(here, file, readers, clock)
    except AlreadyRunning as running:
        raise BadInput(f"{running} Stop it first:  rookery down") from running
    if as_json:
        show_json({"file": str(here.database), "kept": str(aside) if aside else None})
        return
    if aside:
        say(f"What was there is kept in {aside}")
    say("Restored. All tokens are void, and messages that were waiting are not delivered.")
    say("Start it with:  rookery up")
