"""The commands that maintain Rookery: checks, prune, backup and restore."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from rookery.cli.colour import is_colourful
from rookery.cli.exit_codes import FAILED, NOT_RUNNING, REFUSED_CALLERS
from rookery.cli.options import as_json, examples, home, pass_client
from rookery.cli.render import reply, say, show_json
from rookery.cli.versions import skew
from rookery.client import Client
from rookery.client.daemon import (
    CheckInfo,
    CheckupInfo,
    back_up,
    run_checks,
    show_status,
)
from rookery.client.daemon import prune as prune_old
from rookery.client.decoding import read
from rookery.clock import WallClock
from rookery.model.errors import AlreadyRunning, Answered, BadInput, NotRunning


@click.command(epilog=examples("rookery doctor", "rookery doctor --json"))
@click.option("--environment", is_flag=True, help="Also show the environment of agents.")
@click.option("--deep", is_flag=True, help="Check the whole database, which may take long.")
@as_json
@pass_client
def doctor(daemon: Client, *, environment: bool, deep: bool, as_json: bool) -> None:
    """Check for problems and say how to fix them; also works without a daemon."""
    path = os.environ.get("PATH", "")
    try:
        checkup = _with_version(run_checks(daemon, path=path), show_status(daemon).version)
        code = 0 if checkup.ok else FAILED
    except NotRunning:
        checkup, code = _checked_here(), NOT_RUNNING
    except Answered as refusal:
        if refusal.code in REFUSED_CALLERS:
            raise
        checkup, code = _checked_here(str(refusal)), FAILED
    if deep and home().database.exists():
        checkup = _checked_deeply(checkup)
        code = code or (0 if checkup.ok else FAILED)
    reply(checkup, partial(_show_checks, checkup, environment=environment), as_json=as_json)
    sys.exit(code)


def _with_version(checkup: CheckupInfo, daemon_version: str) -> CheckupInfo:
    """Add a failed check if this command and the daemon have different versions."""
    if not (other := skew(daemon_version)):
        return checkup
    version = {"name": "version", "ok": False, "detail": other, "advice": "", "items": []}
    checks = [*(each.json for each in checkup.checks), version]
    return read(CheckupInfo, {**checkup.json, "ok": False, "checks": checks})


def _checked_here(daemon_error: str = "") -> CheckupInfo:
    from rookery.doctor.examination import examine_alone  # noqa: PLC0415 - loads slowly

    checks = [asdict(each) for each in examine_alone(home(), daemon_error)]
    return read(CheckupInfo, {"ok": False, "checks": checks, "environment": {}})


def _checked_deeply(checkup: CheckupInfo) -> CheckupInfo:
    """Replace the quick check of the database with one that reads all of it."""
    from rookery.doctor.files import check_deeply  # noqa: PLC0415 - loads slowly

    click.echo("Checking the whole database …", err=True)
    deep = check_deeply(home())
    checks = [asdict(deep) if each.name == deep.name else each.json for each in checkup.checks]
    is_well = checkup.ok and deep.ok is not False
    return read(CheckupInfo, {**checkup.json, "ok": is_well, "checks": checks})


def _show_checks(checkup: CheckupInfo, *, environment: bool) -> None:
    for check in checkup.checks:
        _show_check(check)
    if environment:
        say("\n".join(f"  {name}={value}" for name, value in checkup.environment.items()))


_MARKS = {True: ("ok  ", "green"), False: ("look", "yellow"), None: ("–   ", None)}


def _show_check(check: CheckInfo) -> None:
    mark, colour = _MARKS[check.ok]
    click.secho(mark, fg=colour if is_colourful() else None, nl=False)
    say(f"  {check.name:15} {check.detail}")
    for line in (*check.items, check.advice):
        if line:
            say(f"      {line}")


@click.command(epilog=examples("rookery prune", "rookery prune --days 30"))
@click.option("--days", type=click.FloatRange(0), help="Age in days. Default: as configured.")
@as_json
@pass_client
def prune(daemon: Client, *, days: float | None, as_json: bool) -> None:
    """Delete old records now."""
    pruned = prune_old(daemon, days=days)
    reply(pruned, f"{pruned.rows} rows deleted.", as_json=as_json)


@click.command(epilog=examples("rookery backup rookery-backup.db"))
@as_json
@click.argument("file", type=click.Path(path_type=Path))
@pass_client
def backup(daemon: Client, *, file: Path, as_json: bool) -> None:
    """Copy the database to FILE while the daemon runs."""
    backup = back_up(daemon, str(file.absolute()))
    reply(backup, f"{backup.bytes:,} bytes in {backup.file}", as_json=as_json)


@click.command(epilog=examples("rookery down; rookery restore rookery-backup.db"))
@as_json
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def restore(*, file: Path, as_json: bool) -> None:
    """Restore the database from FILE, which backup made. The daemon must be down.

    Nothing in the file is executed: tokens become invalid, sessions that were about to start
    have failed, and messages that were waiting are not delivered. Agents that still run, in a
    pane or driven, go on. A pane that the file does not know is listed as observed; a driven
    session that it does not know is ended when the daemon starts, and the log says so.
    """
    # Imported here because they take half a second to load.
    from rookery import restore_backup  # noqa: PLC0415
    from rookery.startup.readers import READERS  # noqa: PLC0415

    here = home()
    here.prepare()
    try:
        with here.locked():
            aside = restore_backup.restore(here, file, [*READERS], WallClock())
    except AlreadyRunning as running:
        raise BadInput(f"{running} Stop it first:  rookery down") from running
    if as_json:
        show_json({"file": str(here.database), "kept": str(aside) if aside else None})
        return
    if aside:
        say(f"The previous database is kept in {aside}")
    say("Restored. All tokens are invalid, and messages that were waiting are not delivered.")
    say("Start it with:  rookery up")
