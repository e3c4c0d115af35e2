"""Tell whether the configuration file has changed since the daemon read it."""

from __future__ import annotations

from pathlib import Path

from rookery.config import check_agents, load
from rookery.doctor.configuration import change_note
from rookery.model.errors import AgentUnknown, ConfigBroken
from rookery.operations.context import Context


def config_note(context: Context) -> str:
    """Return what to do about a changed configuration; empty if the daemon uses it."""
    path = context.home.settings
    changed_at = _changed_at(path)
    if changed_at is None or changed_at <= context.started_at.timestamp():
        return ""
    try:
        changed = load(path)
        check_agents(changed)
    except (ConfigBroken, AgentUnknown) as error:
        return f"The configuration has an error; the daemon cannot restart: {error}"
    return change_note(path.name, context.settings, changed)


def _changed_at(path: Path) -> float | None:
    try:
        # Not the time of modification: a file that is moved or copied here may keep an old one.
        return path.stat().st_ctime
    except OSError:
        return None
