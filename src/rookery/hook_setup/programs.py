"""Writes the programs that agents run, as hooks and as MCP server, into the home.

Their paths never change. Without Rookery's files, the hook does nothing and succeeds.
"""

from __future__ import annotations

import os
import py_compile
import shlex
import sys
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory

from anyio import to_thread

from rookery.agents import installations
from rookery.agents.installations import PROGRAM
from rookery.home import Home, write_durably
from rookery.hook_setup import quick_hook
from rookery.model.permissions import Outcome, Verdict
from rookery.ports.agent import Agent

#: Runs the hook script, in any shell. A missing script must not fail: some agents take an error
#: of a hook for a denial.
RUN = ("/bin/sh", "-c", '[ -r "$0" ] && . "$0" || :')

#: Told to agents that cannot be made to ask their person.
UNDECIDED = Verdict(
    Outcome.DENIED,
    "absence",
    "Rookery cannot decide this: its files are damaged. Start its daemon: rookery up",
)

#: The script of the MCP server, beside that of the hook.
MCP = "rookery-mcp"


def script_path(home: Home) -> Path:
    """Return the path of the hook script; its name identifies our hooks among others."""
    return home.state / PROGRAM


def hook_argv(home: Home) -> tuple[str, ...]:
    """Return the command of the hook program, without the agent's name.

    It depends on the home only: another interpreter changes neither an agent's settings nor
    the hooks that its user has trusted.
    """
    return (*RUN, str(script_path(home)))


def hook_command(home: Home, agent: str) -> str:
    """Return the command line for an agent's settings."""
    return shlex.join([*hook_argv(home), agent])


def mcp_argv(home: Home) -> tuple[str, ...]:
    """Return the command of the MCP server, which uses standard input and output.

    It depends on the home only, too, and has no secret in it: the caller is identified by the
    badge in its environment, or by its process.
    """
    return ("/bin/sh", str(home.state / MCP))


def plugin_template(agent: str) -> str | None:
    """Return the source of an agent's plugin; None if the agent takes no plugins."""
    file = resources.files("rookery.programs") / f"{agent}_plugin.js"
    return file.read_text(encoding="utf-8") if file.is_file() else None


def plugin(home: Home, agent: str) -> str:
    """Return the text of an agent's plugin file for this home."""
    values = {
        "rookery-hook": [*hook_argv(home), agent],
        "rookery-door": str(home.hook_door),
        "rookery-spool": str(home.spool),
    }
    return installations.plugin(plugin_template(agent) or "", values)


def write(home: Home, agents: Mapping[str, Agent]) -> tuple[str, ...]:
    """Write the programs into the home, and return the command of the hook."""
    _update(home.hook, _compiled("hook.py"))
    _update(home.bridge, _compiled("mcp_bridge.py"))
    _update(script_path(home), _script(home, agents).encode(errors="surrogateescape"))
    _update(home.state / MCP, _mcp_script(home).encode(errors="surrogateescape"))
    return hook_argv(home)


async def build_quick_hook(home: Home, agents: Mapping[str, Agent]) -> None:
    """Build the quick hook program where possible, and make the script run it."""
    if await quick_hook.build(home):
        await to_thread.run_sync(write, home, agents)


def _compiled(name: str) -> bytes:
    """Return a program compiled for this interpreter: compiling at each call is slow."""
    source = resources.files("rookery.programs") / name
    with resources.as_file(source) as path, TemporaryDirectory() as folder:
        made = Path(folder, f"{name}c")
        # Unchecked: there is no source beside it to compare with.
        how = PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(
            str(path), str(made), name, doraise=True, optimize=2, invalidation_mode=how
        )
        return made.read_bytes()


def _script(home: Home, agents: Mapping[str, Agent]) -> str:
    """Return the hook script: it runs the quick program if that works, else ``hook.py``."""
    python, quick = _python(), quick_hook.path(home)
    given = shlex.join(map(str, (home.hook, home.hook_door, home.spool)))
    lines = [f"{_is_there(home.hook)} || exit 0", *_undecided(agents)]
    if quick_hook.runs(quick):
        program = shlex.quote(str(quick))
        lines.append(f'[ -x {program} ] && exec {program} {python} {given} "$1" 2>/dev/null')
    lines.append(f'exec {python} -I -S {given} "$1" 2>/dev/null\n')
    return "\n".join(lines)


def _undecided(agents: Mapping[str, Agent]) -> Iterator[str]:
    """Write what the hook program says, in each agent's words, when no answers are stored.

    The answer holds for the event before a tool runs. It is part of the script, so that it is
    known when every other file is damaged.
    """
    yield 'case "$1" in'
    for name, agent in agents.items():
        if event := agent.hook_before_tool:
            verdict = None if agent.asks_when_told else UNDECIDED
            said = shlex.quote(agent.answer({"hook_event_name": event}, verdict))
            yield f"{name}) ROOKERY_HOOK_EVENT={event} ROOKERY_HOOK_ANSWER={said} ;;"
    yield "*) ROOKERY_HOOK_EVENT= ROOKERY_HOOK_ANSWER= ;;"
    yield "esac"
    yield "export ROOKERY_HOOK_EVENT ROOKERY_HOOK_ANSWER"


def _mcp_script(home: Home) -> str:
    given = shlex.join(map(str, (home.bridge, home.door)))
    run = f"{_is_there(home.bridge)} && exec {_python()} -I -S {given}"
    return f"{run}\necho 'Rookery is not installed here any more.' >&2\nexit 1\n"


def _is_there(program: Path) -> str:
    """Return the shell test that a program and its interpreter exist."""
    return f"[ -x {_python()} ] && [ -r {shlex.quote(str(program))} ]"


def _python() -> str:
    """Return the real interpreter: links of an environment and shims may be removed."""
    return shlex.quote(os.path.realpath(sys.executable))


def _update(file: Path, text: bytes) -> None:
    """Write a file atomically if its content differs."""
    if not file.exists() or file.read_bytes() != text:
        write_durably(file, text)
