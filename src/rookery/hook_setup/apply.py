"""Does what was planned for agents' settings: all of it or nothing, with a copy of what was."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rookery.home import Home
from rookery.hook_setup import files, record
from rookery.hook_setup.files import Change
from rookery.hook_setup.plans import Plan


@dataclass(frozen=True, slots=True)
class Deed:
    change: Change
    backup: Path | None  #: what the file said before; none if there was no file


def carry_out(home: Home, plan: Plan) -> list[Deed]:
    """Write what was planned. Raises ``CommandRefused``; then nothing was changed."""
    files.check(plan.changes)
    home.prepare()
    before = record.load(home)
    deeds = [Deed(change, _back_up(home, change)) for change in plan.changes]
    # The record first: what it has too much does no harm.
    record.save(home, plan.record)
    with ExitStack() as on_failure:
        on_failure.callback(record.save, home, before)
        files.carry_out(plan.changes)
        on_failure.pop_all()
    files.remove_folders(plan.folders)
    return deeds


def _back_up(home: Home, change: Change) -> Path | None:
    if change.before is None:
        return None
    folder = home.state / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    file = folder / f"{moment}-{change.agent}-{change.file.name}"
    files.put_private(file, change.before)
    return file
