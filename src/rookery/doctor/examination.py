"""Run all checks."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence

from rookery.config import Settings
from rookery.doctor.checks import Check
from rookery.doctor.configuration import check_config, check_next_config, check_rules
from rookery.doctor.files import (
    check_database,
    check_disk,
    check_folders,
    check_lost_database,
    check_spool,
)
from rookery.doctor.hooks import UNWRITTEN, check_hook_programs, check_offline_answers
from rookery.doctor.store_trouble import Trouble, check_trouble
from rookery.home import Home
from rookery.model.errors import RuntimeFailed
from rookery.ports.agent import Agent
from rookery.runtimes.tmux.server import version_of

#: From this version on tmux does not miss the exit of a child.
TMUX_WITHOUT_MISSED_EXITS = (3, 6)


def examine(
    home: Home,
    settings: Settings,
    paths: Sequence[str],
    *,
    agents: Mapping[str, Agent],
    trouble: Trouble,
) -> list[Check]:
    """Check everything that a session depends on. It may take a while.

    ``paths`` are the search paths of sessions: one that is started in a terminal has the
    terminal's, another one that of the login shell.
    """
    return [
        Check("python", ok=True, detail=platform.python_version()),
        _tmux(),
        check_next_config(home, settings),
        *check_folders(home),
        check_disk(home),
        check_database(home) if home.database.exists() else check_lost_database(home),
        *_agents(settings, paths, agents),
        *check_trouble(trouble),
        check_hook_programs(home),
        check_offline_answers(home),
        check_spool(home),
    ]


def examine_alone(home: Home, daemon_error: str = "") -> list[Check]:
    """Check what can be checked without the daemon: it does not run, or answers an error."""
    config = check_config(home)
    why_not = "it does not run" if config.ok else "it does not run and cannot start: see config"
    advice = "rookery up" if config.ok and not daemon_error else ""
    is_used = home.database.exists()
    return [
        Check("daemon", ok=False, detail=daemon_error or why_not, advice=advice),
        Check("python", ok=True, detail=platform.python_version()),
        _tmux(),
        config,
        check_rules(home),
        *check_folders(home),
        check_disk(home),
        check_database(home),
        *((check_hook_programs(home), check_offline_answers(home)) if is_used else UNWRITTEN),
        check_spool(home),
    ]


def _tmux() -> Check:
    try:
        version = version_of("tmux")
    except RuntimeFailed as error:
        return Check("tmux", ok=False, detail=str(error))
    detail = ".".join(map(str, version))
    if version < TMUX_WITHOUT_MISSED_EXITS:
        detail += " (before 3.6 it may lose a program's exit status; Rookery works around this)"
    return Check("tmux", ok=True, detail=detail)


def _agents(
    settings: Settings, paths: Sequence[str], agents: Mapping[str, Agent]
) -> Iterator[Check]:
    """Look for the program of each agent on these search paths."""
    for name, agent in sorted(agents.items()):
        program = (settings.agent(name).command or (agent.program,))[0]
        found = (shutil.which(program, path=each) for each in paths)
        path = next(filter(None, found), None) if program else "built in"
        # An agent that the user does not need may be missing.
        detail = path or f"{program} is not installed"
        yield Check(f"agent {name}", ok=True if path else None, detail=detail)
