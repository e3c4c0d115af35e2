"""Writes the programs that agents run, as hooks and as MCP server, into the home.

Their paths never change. If the home was removed, the hook command does nothing and succeeds.
If the home exists but the hook program is missing or damaged, the hook script itself answers,
so that no tool call runs undecided.
"""

from __future__ import annotations

import asyncio
import logging
import os
import py_compile
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory
from typing import TypeAlias

from anyio import to_thread

from rookery import supervise
from rookery.agents.shared.hook_settings import PROGRAM, fill_in
from rookery.home import Home
from rookery.hook_protocol import with_checksum
from rookery.hook_setup import quick_hook
from rookery.model.permissions import Outcome, Verdict
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.settings import SettingsDialect
from rookery.private_files import write_durably

_log = logging.getLogger(__name__)

#: Runs the hook script, in any shell. A missing script must not fail: some agents treat a
#: hook's error as a denial.
RUN = ("/bin/sh", "-c", '[ -r "$0" ] && . "$0" || :')

#: The verdict if files are damaged, for agents whose hooks cannot make them ask the user.
DAMAGED = Verdict(
    Outcome.DENIED,
    "absence",
    "Rookery cannot decide this: its files are damaged. Start its daemon: rookery up",
)

#: The end of the message that a hook program is missing or damaged.
_CONSEQUENCE = (
    "rules do not hold for calls that need it. The daemon restores it within seconds;"
    " if it cannot, see: rookery daemon logs"
)

#: Seconds between two checks of the programs.
CHECK_INTERVAL_S = 0.5

#: The file name of the MCP server's script, which is beside the hook script.
MCP_SCRIPT = "rookery-mcp"


def script_path(home: Home) -> Path:
    """Return the path of the hook script; its name identifies Rookery's hooks among others."""
    return home.state / PROGRAM


def hook_argv(home: Home) -> tuple[str, ...]:
    """Return the command of the hook program, without the agent's name.

    It depends on the home only. So a change of the Python interpreter changes neither an
    agent's settings nor the hooks that its user has trusted.
    """
    return (*RUN, str(script_path(home)))


def hook_command(home: Home, agent: str) -> str:
    """Return the command line for an agent's settings."""
    return shlex.join([*hook_argv(home), agent])


def mcp_argv(home: Home) -> tuple[str, ...]:
    """Return the command of the MCP server, which uses standard input and output.

    It depends on the home only and contains no secret: the caller is identified by the badge
    in its environment, or by its process.
    """
    return ("/bin/sh", str(home.state / MCP_SCRIPT))


def plugin(home: Home, agent: str, dialect: SettingsDialect) -> str:
    """Return the text of an agent's plugin file for this home; empty if it has no plugin."""
    values = {
        "rookery-hook": [*hook_argv(home), agent],
        "rookery-door": str(home.hook_door),
        "rookery-spool": str(home.spool),
    }
    return fill_in(dialect.plugin.template() if dialect.plugin else "", values)


def write(home: Home, agents: Mapping[str, Agent]) -> tuple[str, ...]:
    """Write the programs into the home; return the command of the hook program."""
    _update(home.hook, _compiled("hook.py"))
    _update(home.bridge, _compiled("mcp_bridge.py"))
    quick = quick_hook.path(home)
    is_quick = quick_hook.runs(quick)
    if is_quick:
        os.utime(quick, (quick_hook.MTIME_S, quick_hook.MTIME_S))
    script = _script(home, agents, quick if is_quick else None)
    _update(script_path(home), script.encode(errors="surrogateescape"))
    _update(home.state / MCP_SCRIPT, _mcp_script(home).encode(errors="surrogateescape"))
    return hook_argv(home)


#: For each program: its inode, size, and times of the last change; None if it is missing.
_States: TypeAlias = list[tuple[int, int, int, int] | None]


@dataclass(slots=True)
class HookPrograms:
    """Writes the programs again when they are damaged, while the daemon runs."""

    home: Home
    agents: Mapping[str, Agent]
    #: The states after the last write; empty while a problem is known.
    _intact: _States = field(default_factory=list)
    _has_quick: bool = False
    _write_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def keep(self, clock: Clock) -> None:
        """Restore damaged programs, and build the quick one if possible, until cancelled."""
        name = "Writing the hook programs"
        await supervise.every(CHECK_INTERVAL_S, self._look, name=name, clock=clock)

    async def restore(self) -> None:
        """Write the programs again if one has changed. Raises ``OSError``."""
        async with self._write_lock:
            if _states(self.home) != self._intact:
                await self._write()

    async def _look(self) -> None:
        if _states(self.home) == self._intact:
            return
        await self.restore()  # at once, without the compiler
        await self._report_quick_hook()
        self._has_quick = await quick_hook.build(self.home)
        async with self._write_lock:
            if self._has_quick:
                await self._write()
            states = _states(self.home)
            # A program may have been damaged just now: its state must not count as intact.
            is_used = not self._has_quick or quick_hook.path(self.home) in _in_use(self.home)
            self._intact = states if is_used and not find_problem(self.home) else []

    async def _report_quick_hook(self) -> None:
        """Log that the quick program is rebuilt: the script may no longer name it."""
        quick = quick_hook.path(self.home)
        if self._has_quick and not await to_thread.run_sync(quick_hook.runs, quick):
            _log.warning("The hook programs are written again. %s does not run.", quick)

    async def _write(self) -> None:
        if problem := find_problem(self.home):
            _log.warning("The hook programs are written again. %s", problem)
        await to_thread.run_sync(write, self.home, self.agents)


def _states(home: Home) -> _States:
    return [_state(file) for file in (*_fixed(home), quick_hook.path(home))]


def _state(file: Path) -> tuple[int, int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def find_problem(home: Home) -> str:
    """Return which hook program is missing or was changed; empty if all are intact."""
    for file in _in_use(home):
        try:
            found = file.stat()
        except OSError:
            return f"{file} is missing: {_CONSEQUENCE}"
        if found.st_size == 0 or not _is_untouched(file):
            return f"{file} was changed or emptied: {_CONSEQUENCE}"
    return ""


def _in_use(home: Home) -> list[Path]:
    """Return the programs that agents run; the quick one only if the hook script names it."""
    quick = quick_hook.path(home)
    with suppress(OSError):
        if os.fsencode(shlex.quote(str(quick))) in script_path(home).read_bytes():
            return [*_fixed(home), quick]
    return _fixed(home)


def _fixed(home: Home) -> list[Path]:
    return [script_path(home), home.hook, home.bridge, home.state / MCP_SCRIPT]


def _compiled(name: str) -> bytes:
    """Return a program compiled for this interpreter: compiling at each call is slow."""
    source = resources.files("rookery.programs") / name
    with resources.as_file(source) as path, TemporaryDirectory() as folder:
        compiled = Path(folder, f"{name}c")
        # Unchecked: the home has no source file to compare with.
        how = PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(
            str(path), str(compiled), name, doraise=True, optimize=2, invalidation_mode=how
        )
        return compiled.read_bytes()


def _script(home: Home, agents: Mapping[str, Agent], quick: Path | None) -> str:
    """Return the hook script: it runs the quick program if there is one, else ``hook.py``.

    It uses ``exec``, so that an agent that kills the hook kills the program. ``exec`` does not
    return, so the script tests first whether a program can run. If none can, it answers itself.
    """
    python, script, hook = _python(), script_path(home), shlex.quote(str(home.hook))
    arguments = shlex.join(map(str, (home.hook_door, home.spool)))
    lines = [*_undecided(agents), f"hook={hook}"]
    lines.append(f"{{ [ -x {python} ] && {_is_whole(home.hook, script)}; }} || hook=")
    if quick:
        run = f'{shlex.quote(str(quick))} {python} "$hook" {arguments} "$1"'
        lines.append(f"{_is_whole(quick, script)} && exec {run} 2>/dev/null")
    lines.append(f'[ "$hook" ] && exec {python} -I -S "$hook" {arguments} "$1" 2>/dev/null')
    return "\n".join([*lines, _answer_alone(home)])


def _is_whole(file: Path, script: Path) -> str:
    """Return the shell test that a program is unchanged: it has the mtime of the script."""
    this, other = shlex.quote(str(file)), shlex.quote(str(script))
    return f"[ -s {this} ] && ! [ {this} -nt {other} ] && ! [ {this} -ot {other} ]"


def _answer_alone(home: Home) -> str:
    """Return the part of the script that answers if no program can run: it asks or denies."""
    no_rules = shlex.quote(with_checksum(b"{}").decode().strip())
    return f"""\
{{ read -r stored < {shlex.quote(str(home.offline_answers))}; }} 2>/dev/null
[ "$stored" = {no_rules} ] && exit 0
[ "$ROOKERY_HOOK_EVENT" ] || exit 0
payload=$(cat)
case $payload in
*'"hook_event_name"'*) case $payload in *'"'"$ROOKERY_HOOK_EVENT"'"'*) ;; *) exit 0 ;; esac ;;
esac
printf %s "$ROOKERY_HOOK_ANSWER"
exit 0
"""


def _undecided(agents: Mapping[str, Agent]) -> Iterator[str]:
    """Yield the script lines with each agent's answer if no stored answer can be used.

    The answer is for the event before a tool runs. It is part of the script, so that it exists
    even if every other file is damaged.
    """
    yield 'case "$1" in'
    for name, agent in agents.items():
        hooks = agent.hooks
        if hooks and (event := hooks.traits.before_tool):
            verdict = None if hooks.traits.obeys_ask else DAMAGED
            answer = shlex.quote(hooks.answer({"hook_event_name": event}, verdict))
            yield f"{name}) ROOKERY_HOOK_EVENT={event} ROOKERY_HOOK_ANSWER={answer} ;;"
    yield "*) ROOKERY_HOOK_EVENT= ROOKERY_HOOK_ANSWER= ;;"
    yield "esac"
    yield "export ROOKERY_HOOK_EVENT ROOKERY_HOOK_ANSWER"


def _mcp_script(home: Home) -> str:
    arguments = shlex.join(map(str, (home.bridge, home.door)))
    run = f"{_is_there(home.bridge)} && exec {_python()} -I -S {arguments}"
    return f"{run}\necho 'Rookery is not installed here any more.' >&2\nexit 1\n"


def _is_there(program: Path) -> str:
    """Return the shell test that a program and its interpreter exist."""
    return f"[ -x {_python()} ] && [ -r {shlex.quote(str(program))} ]"


def _python() -> str:
    """Return the real interpreter: links of an environment and shims may be removed."""
    return shlex.quote(os.path.realpath(sys.executable))


def _update(file: Path, text: bytes) -> None:
    """Write a file atomically, unless it has this content and was not touched."""
    if not file.exists() or file.read_bytes() != text or not _is_untouched(file):
        write_durably(file, text, mtime_s=quick_hook.MTIME_S)


def _is_untouched(file: Path) -> bool:
    return file.stat().st_mtime_ns == quick_hook.MTIME_S * 10**9
