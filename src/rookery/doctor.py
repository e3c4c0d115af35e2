"""Checks for problems, and suggests what to do about them."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from rookery.config import Settings, check_agents, load
from rookery.home import Home
from rookery.hook_setup.programs import find_problem
from rookery.model.errors import AgentUnknown, ConfigBroken, RuntimeFailed, StoreBroken
from rookery.permissions.rules_file import RulesFile, read
from rookery.ports.agent import Agent
from rookery.programs.hook import verified
from rookery.runtimes.tmux.server import version_of
from rookery.store import file_check
from rookery.store.database_files import RESCUE
from rookery.store.health_problems import UnsureMessage

#: Bytes below which a disk counts as nearly full.
LOW_DISK_BYTES = 500_000_000

#: From this version on tmux does not miss the exit of a child.
TMUX_WITHOUT_MISSED_EXITS = (3, 6)

#: Characters of a message by which a person recognises it.
MAX_SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool | None  #: ``None``: it does not exist, and need not
    detail: str
    advice: str = ""
    items: tuple[str, ...] = ()  #: the individual cases


#: The checks of what a daemon writes when it is started for the first time.
_UNWRITTEN = tuple(
    Check(name, ok=None, detail="they are written at the first start")
    for name in ("hook programs", "offline answers")
)


@dataclass(frozen=True, slots=True)
class HoldState:
    """All deliveries are on hold."""

    since: datetime | None  #: ``None`` if that is unknown

    def __str__(self) -> str:
        since = f" since {self.since.astimezone():%Y-%m-%d %H:%M:%S}" if self.since else ""
        return f"words are held{since}: none are delivered, to anybody"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Failures in the store, and reasons why messages are not delivered."""

    entries: int
    parked: int
    hooks: int
    doubts: tuple[UnsureMessage, ...]
    hold: HoldState | None = None
    headless: str = ""  #: which agents are not tracked, since too many are


def examine(
    home: Home,
    settings: Settings,
    environment: Mapping[str, str],
    *,
    agents: Mapping[str, Agent],
    trouble: Trouble,
) -> list[Check]:
    """Check everything that a session depends on. It may take a while."""
    return [
        Check("python", ok=True, detail=platform.python_version()),
        _tmux(),
        _next_config(home),
        *_folders(home),
        _disk(home),
        _database(home) if home.database.exists() else _lost_database(home),
        *_agents(settings, environment, agents),
        *_troubles(trouble),
        _hook_programs(home),
        _offline_answers(home),
        _spool(home),
    ]


def examine_alone(home: Home, daemon_error: str = "") -> list[Check]:
    """Check what can be checked without the daemon: it does not run, or answers an error."""
    config = _config(home)
    why_not = "it does not run" if config.ok else "it does not run, nor can it: see config"
    advice = "rookery up" if config.ok and not daemon_error else ""
    is_used = home.database.exists()
    return [
        Check("daemon", ok=False, detail=daemon_error or why_not, advice=advice),
        Check("python", ok=True, detail=platform.python_version()),
        _tmux(),
        config,
        _rules(home),
        *_folders(home),
        _disk(home),
        _database(home),
        *((_hook_programs(home), _offline_answers(home)) if is_used else _UNWRITTEN),
        _spool(home),
    ]


def _config(home: Home) -> Check:
    try:
        check_agents(load(home.settings))
    except (ConfigBroken, AgentUnknown) as error:
        return Check("config", ok=False, detail=str(error))
    is_there = home.settings.exists()
    detail = f"{home.settings} is right" if is_there else "there is none: defaults hold"
    return Check("config", ok=True, detail=detail)


def _next_config(home: Home) -> Check:
    """Check the configuration file of a running daemon, which has read an earlier version."""
    if (check := _config(home)).ok:
        return check
    detail = f"{check.detail} The daemon runs with what it read before; it cannot start again."
    return replace(check, detail=detail, advice="rookery config check")


def rules_in_force(book: RulesFile) -> Check:
    """Return the check of the rules that the daemon uses, which may differ from the file."""
    if book.problem:
        return Check("rules", ok=False, detail=book.problem)
    detail = f"{len(book.rules)} of {book.path} in force" if book.rules else "there are none"
    return Check("rules", ok=True, detail=detail)


def hook_switches(off: Mapping[str, str]) -> Check:
    """Return the check of sessions whose hooks are switched off, with the files that do it."""
    items = tuple(f"{name}: hooks are switched off by {file}" for name, file in off.items())
    detail = f"{len(items)} sessions whose project switches hooks off: no rule holds for them"
    if not items:
        return Check("hook switches", ok=True, detail="no project switches hooks off")
    advice = "remove the setting, then start the agent again"
    return Check("hook switches", ok=False, detail=detail, advice=advice, items=items)


def missing_hooks(warnings: Mapping[str, str]) -> Check:
    """Return the check of sessions whose agent's hooks are not installed."""
    items = tuple(f"{name}: {warning}" for name, warning in warnings.items())
    detail = f"{len(items)} sessions without installed hooks: no rule holds for them"
    if not items:
        return Check("missing hooks", ok=True, detail="no session lacks hooks")
    return Check("missing hooks", ok=False, detail=detail, items=items)


def _rules(home: Home) -> Check:
    """Check the rules file while no daemon can report which rules are in force."""
    try:
        version = read(home.rules)
    except ConfigBroken as error:
        return Check("rules", ok=False, detail=str(error))
    detail = f"{len(version.rules)} in {home.rules}" if version else "there are none"
    return Check("rules", ok=True, detail=detail)


def _tmux() -> Check:
    try:
        version = version_of("tmux")
    except RuntimeFailed as error:
        return Check("tmux", ok=False, detail=str(error))
    detail = ".".join(map(str, version))
    if version < TMUX_WITHOUT_MISSED_EXITS:
        detail += " (before 3.6 it may lose a program's exit status; Rookery nudges it)"
    return Check("tmux", ok=True, detail=detail)


def _folders(home: Home) -> Iterator[Check]:
    for name, folder in (("state", home.state), ("run", home.run)):
        if not folder.exists():
            yield Check(f"folder {name}", ok=None, detail=f"{folder} is not there yet")
            continue
        status = folder.stat()
        private = not status.st_mode & 0o077 and status.st_uid == os.getuid()
        advice = "" if private else f"chmod 700 '{folder}'"
        mode = stat.filemode(status.st_mode)
        yield Check(f"folder {name}", private, f"{folder} {mode}", advice)


def _disk(home: Home) -> Check:
    folder = next(each for each in (home.state, *home.state.parents) if each.exists())
    free = shutil.disk_usage(folder).free
    advice = "" if free > LOW_DISK_BYTES else "make room, then: rookery prune"
    return Check("disk", free > LOW_DISK_BYTES, f"{free // 1_000_000:,} MB free", advice)


def check_deeply(home: Home) -> Check:
    """Check every page, index and free page of the database. There is no time limit."""
    return _database(home, file_check.check_whole_file)


def _database(home: Home, look: Callable[[Path], str] = file_check.check_tables) -> Check:
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
    is_well = problem == file_check.OK
    return Check("database", is_well, f"{problem}, {size:,} kB", "" if is_well else advice)


def _lost_database(home: Home) -> Check:
    detail = f"{home.database} was deleted while the daemon uses it"
    return Check("database", ok=False, detail=detail, advice=RESCUE)


def _agents(
    settings: Settings, environment: Mapping[str, str], agents: Mapping[str, Agent]
) -> Iterator[Check]:
    for name, agent in sorted(agents.items()):
        program = (settings.agent(name).command or (agent.program,))[0]
        path = shutil.which(program, path=environment.get("PATH")) if program else "built in"
        # An agent that the user does not need may be missing.
        detail = path or f"{program} is not installed"
        yield Check(f"agent {name}", ok=True if path else None, detail=detail)


def _troubles(trouble: Trouble) -> Iterator[Check]:
    yield Check("journal", ok=True, detail=f"{trouble.entries:,} entries")
    for name, number, meaning in (
        ("parked", trouble.parked, "entries that a reader choked on"),
        ("hooks", trouble.hooks, "hook calls that nothing could be made of"),
    ):
        advice = "" if number == 0 else "see: rookery daemon logs"
        yield Check(name, number == 0, f"{number} {meaning}", advice)
    doubts = tuple(map(_shown, trouble.doubts))
    advice = "look whether they did: rookery output NAME" if doubts else ""
    detail = f"{len(doubts)} messages that may not have arrived"
    yield Check("unsure", not doubts, detail, advice, doubts)
    headless = trouble.headless or "every agent that is started by hand is tracked"
    yield Check("headless", ok=not trouble.headless, detail=headless)
    if trouble.hold:
        yield Check("hold", ok=False, detail=str(trouble.hold), advice="rookery release")
    else:
        yield Check("hold", ok=True, detail="no words are held")


def _shown(message: UnsureMessage) -> str:
    words = " ".join(message.words.split())
    is_long = len(words) > MAX_SHOWN_CHARS
    cut = words[:MAX_SHOWN_CHARS] + "…" if is_long else words
    return f"{message.recipient}, {message.written_at.astimezone():%Y-%m-%d %H:%M:%S}: {cut}"


def _hook_programs(home: Home) -> Check:
    """Check whether the programs that agents run as hooks are unchanged."""
    problem = find_problem(home)
    return Check(
        "hook programs", ok=not problem, detail=problem or "they are as they were laid"
    )


def _offline_answers(home: Home) -> Check:
    """Check whether hooks know what to answer while no daemon runs."""
    name = "offline answers"
    try:
        verified(home.offline_answers.read_bytes())
    except (OSError, ValueError):
        detail = f"{home.offline_answers} is missing or damaged: without a daemon, every call"
        return Check(
            name, ok=False, detail=f"{detail} is asked about or denied", advice="rookery up"
        )
    return Check(name, ok=True, detail=f"{home.offline_answers} is whole")


def _spool(home: Home) -> Check:
    files = [each for each in home.spool.glob("*") if stat.S_ISREG(each.lstat().st_mode)]
    # Their names are whatever was written there, also bytes that are no text.
    damaged = tuple(
        os.fsencode(file).decode(errors="backslashreplace")
        for file in files
        if file.suffix == ".damaged"
    )
    waiting = sum(file.suffix not in {".part", ".damaged"} for file in files)
    detail = f"{waiting} hook calls wait to be taken in"
    if not damaged:
        return Check("spool", waiting == 0, detail)
    detail += f", {len(damaged)} were set aside, because they are partial or too large"
    return Check("spool", ok=False, detail=detail, advice="remove them", items=damaged)
