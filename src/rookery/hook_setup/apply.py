"""Installs hooks: writes the hook programs, and applies a plan to agents' settings.

All changes are made or none, with a backup of each file.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rookery.agents.catalog import AGENTS
from rookery.home import Home
from rookery.hook_setup import files, programs, record
from rookery.hook_setup.files import Change
from rookery.hook_setup.plans import SetupPlan
from rookery.permissions.offline_answers import OfflineAnswers, OfflineConditions
from rookery.permissions.rules_file import RulesFile


@dataclass(frozen=True, slots=True)
class AppliedChange:
    change: Change
    backup: Path | None  #: the copy of the earlier text; None if there was no file


def write_programs(home: Home) -> None:
    """Write the hook programs, and the answers that they give until a daemon has run."""
    if not home.offline_answers.exists():
        rules_file = RulesFile(home.rules)
        if reading := rules_file.look():
            rules_file.adopt(reading)
        first = OfflineConditions(mode="local", agents_above={})
        OfflineAnswers(home.offline_answers, AGENTS, rules_file, "ask").store(first)
    programs.write(home, AGENTS)


def apply_plan(home: Home, plan: SetupPlan) -> list[AppliedChange]:
    """Write the planned changes. Raises ``CommandRefused`` if nothing was changed."""
    files.check(plan.changes)
    home.prepare()
    before = record.load(home)
    applied = [AppliedChange(change, _back_up(home, change)) for change in plan.changes]
    # The record is saved first: an entry too many does no harm, a missing one does.
    record.save(home, plan.record)
    with ExitStack() as on_failure:
        on_failure.callback(record.save, home, before)
        files.write_all(plan.changes)
        on_failure.pop_all()
    files.remove_folders(plan.folders)
    return applied


def _back_up(home: Home, change: Change) -> Path | None:
    if change.before is None:
        return None
    folder = home.state / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    file = folder / f"{moment}-{change.agent}-{change.file.name}"
    files.put_private(file, change.before)
    return file
