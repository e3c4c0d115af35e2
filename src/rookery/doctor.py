"""Looks for trouble, and says what to do about it."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rookery.config import Settings
from rookery.home import Home
from rookery.model.errors import RuntimeFailed
from rookery.ports import Agent
from rookery.runtimes.tmux.server import version_of

#: Bytes below which a disk counts as nearly full.
LOW = 500_000_000

#: tmux from this version on does not lose the news of a child's end.
SURE_OF_EXITS = (3, 6)


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool
    detail: str
    advice: str = ""


def examine(
    home: Home,
    settings: Settings,
    environment: Mapping[str, str],
    *,
    agents: Mapping[str, Agent],
    trouble: Mapping[str, int],
) -> list[Check]:
    """Look at everything that a session depends on. It may take a while."""
    return [
        Check("python", ok=True, detail=platform.python_version()),
        _tmux(),
        *_folders(home),
        _disk(home),
        _database(home),
        *_agents(settings, environment, agents),
        *_troubles(trouble),
        _spool(home),
    ]


def _tmux() -> Check:
    try:
        version = version_of("tmux")
    except RuntimeFailed as error:
        return Check("tmux", ok=False, detail=str(error))
    detail = ".".join(map(str, version))
    if version < SURE_OF_EXITS:
        detail += " (before 3.6 it may lose a program's exit status; Rookery nudges it)"
    return Check("tmux", ok=True, detail=detail)


def _folders(home: Home) -> Iterator[Check]:
    for name, folder in (("state", home.state), ("run", home.run)):
        found = folder.stat()
        private = not found.st_mode & 0o077 and found.st_uid == os.getuid()
        advice = "" if private else f"chmod 700 '{folder}'"
        mode = stat.filemode(found.st_mode)
        yield Check(f"folder {name}", private, f"{folder} {mode}", advice)


def _disk(home: Home) -> Check:
    free = shutil.disk_usage(home.state).free
    advice = "" if free > LOW else "make room, then: rookery prune"
    return Check("disk", free > LOW, f"{free // 1_000_000:,} MB free", advice)


def _database(home: Home) -> Check:
    db = sqlite3.connect(f"{home.database.as_uri()}?mode=ro", uri=True)
    try:
        (found,) = db.execute("pragma quick_check(1)").fetchone()
    except sqlite3.Error as error:
        found = str(error)
    finally:
        db.close()
    size = home.database.stat().st_size // 1_000
    advice = "" if found == "ok" else "rookery down, then: rookery restore FILE"
    return Check("database", found == "ok", f"{found}, {size:,} kB", advice)


def _agents(
    settings: Settings, environment: Mapping[str, str], agents: Mapping[str, Agent]
) -> Iterator[Check]:
    for name, agent in sorted(agents.items()):
        program = (settings.agent(name).command or (agent.program,))[0]
        found = shutil.which(program, path=environment.get("PATH")) if program else "built in"
        # An agent that one does not use need not be there.
        yield Check(f"agent {name}", ok=True, detail=found or f"{program} is not installed")


def _troubles(trouble: Mapping[str, int]) -> Iterator[Check]:
    entries = trouble["entries"]
    yield Check("journal", ok=True, detail=f"{entries:,} entries")
    for name, meaning in (
        ("parked", "entries that a reader choked on"),
        ("hooks", "hook calls that nothing could be made of"),
        ("unsure", "messages that may not have arrived"),
    ):
        number = trouble[name]
        advice = "" if number == 0 else "see: rookery logs"
        yield Check(name, number == 0, f"{number} {meaning}", advice)


def _spool(home: Home) -> Check:
    waiting = sum(1 for _ in home.spool.iterdir())
    return Check("spool", waiting == 0, f"{waiting} hook calls wait to be taken in")
