"""The commands that keep Rookery well: counting, checking, tidying, copying, configuring."""

from __future__ import annotations

import importlib
import os
import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rookery.cli.group import as_json, client, home, rookery
from rookery.cli.show import count, is_colourful, say, show_json
from rookery.home import Home
from rookery.model.errors import AlreadyRunning, BadInput


@rookery.command()
@as_json
def stats(*, as_json: bool) -> None:
    """Count what there was."""
    found = client().get("stats")
    if as_json:
        show_json(found)
        return
    average = found["average_seconds"]
    launched, turns = count(found["launched"], "session"), count(found["turns"], "turn")
    say(f"{launched} launched, {found['live']} live, {turns}.")
    say(f"They took {_span(found['total_seconds'])}, {_span(average or 0)} on average.")
    for title, name in (
        ("By status", "by_status"),
        ("By agent", "by_agent"),
        ("By day", "by_day"),
    ):
        counted = "  ".join(f"{word} {number}" for word, number in found[name].items())
        say(f"{title}: {counted or 'nothing yet'}")


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


@rookery.command()
@click.option("--environment", is_flag=True, help="Also show what agents run in.")
@as_json
def doctor(*, environment: bool, as_json: bool) -> None:
    """Look for trouble, and say what to do about it."""
    found = client().get("doctor")
    if as_json:
        show_json(found)
    else:
        for check in found["checks"]:
            _show_check(check)
        if environment:
            say("\n".join(f"  {name}={value}" for name, value in found["environment"].items()))
    sys.exit(0 if found["ok"] else 1)


def _show_check(check: Mapping[str, Any]) -> None:
    mark, colour = ("ok  ", "green") if check["ok"] else ("look", "yellow")
    advice = f"\n      {check['advice']}" if check["advice"] else ""
    click.secho(mark, fg=colour if is_colourful() else None, nl=False)
    say(f"  {check['name']:14} {check['detail']}{advice}")


@rookery.command()
@click.option("--days", type=click.FloatRange(0), help="Older than this; else as configured.")
@as_json
def prune(*, days: float | None, as_json: bool) -> None:
    """Forget what is old, now."""
    found = client().post("prune", days=days)
    if as_json:
        show_json(found)
    else:
        say(f"{found['rows']} rows forgotten.")


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
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def restore(file: Path) -> None:
    """Take FILE, made by backup, as the database. The daemon must be down."""
    here = home()
    here.prepare()
    try:
        with here.locked():
            _restore(here, file)
    except AlreadyRunning as running:
        raise BadInput(f"{running} Stop it first:  rookery down") from running


def _restore(here: Home, file: Path) -> None:
    _check_copy(file)
    aside = here.database.with_suffix(".before-restore")
    if here.database.exists():
        _copy(here.database, aside)
        say(f"What was there is kept in {aside}")
    new = here.database.with_suffix(".new")
    _copy(file, new)
    for left in ("-wal", "-shm"):
        here.database.with_name(here.database.name + left).unlink(missing_ok=True)
    new.replace(here.database)
    say("Restored. Start it with:  rookery up")


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
    db, copy = sqlite3.connect(source), sqlite3.connect(target)
    db.backup(copy)
    copy.close()
    db.close()


@rookery.command()
@click.argument("what", type=click.Choice(["show", "path", "check"]), default="show")
@as_json
def config(*, what: str, as_json: bool) -> None:
    """Show what is configured, where the file is, or whether it is right."""
    file = home().settings
    if what == "path":
        say(str(file))
        return
    # Only here: what reads it would slow every other command down.
    settings = importlib.import_module("rookery.config").load(file)
    if what == "check":
        say(f"{file} is right." if file.exists() else f"There is no {file}: defaults hold.")
    elif as_json:
        show_json(settings.model_dump(mode="json"))
    else:
        for line in _flat(settings.model_dump(mode="json")):
            say(line)


def _flat(settings: Mapping[str, Any], prefix: str = "") -> list[str]:
    lines: list[str] = []
    for name, value in settings.items():
        if isinstance(value, dict):
            lines += _flat(value, f"{prefix}{name}.")
        else:
            lines.append(f"{prefix}{name} = {value!r}")
    return lines


@rookery.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes your shell complete rookery's commands; see its head for how."""
    complete = importlib.import_module("click.shell_completion").get_completion_class(shell)
    where = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/config.fish"}[
        shell
    ]
    click.echo(f"# rookery completion {shell} >> {where}")
    click.echo(complete(rookery, {}, "rookery", "_ROOKERY_COMPLETE").source())


@rookery.group()
def token() -> None:
    """Tokens for programs that cannot use the daemon's socket."""


@token.command("mint")
@click.option("--scope", type=click.Choice(["owner", "reader"]), default="reader")
@as_json
def mint(*, scope: str, as_json: bool) -> None:
    """Make a token; its secret is shown this once."""
    made = client().post("tokens", scope=scope)
    if as_json:
        show_json(made)
    else:
        say(f"{made['secret']}\n{scope} token {made['token']['id']}; it is not shown again.")


@token.command("ls")
@as_json
def list_tokens(*, as_json: bool) -> None:
    """List the valid tokens."""
    found = client().get("tokens")
    if as_json:
        show_json(found)
        return
    for each in found["tokens"]:
        say(f"{each['id']}  {each['scope']:8}  {each['created_at'][:19]}  {each['minted_by']}")


@token.command("revoke")
@click.argument("token_id")
def revoke(token_id: str) -> None:
    """Take a token back; whoever follows events with it is cut off."""
    client().post("tokens", token_id, "revoke")
    say(f"Revoked {token_id}.")
