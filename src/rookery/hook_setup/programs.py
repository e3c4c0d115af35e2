"""The small programs that agents run, as their hook and for tools: they stay where they are.

Once we are gone, the hook is silent for ever.
"""

from __future__ import annotations

import os
import py_compile
import shlex
import sys
from importlib import resources
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory

from anyio import to_thread

from rookery.agents.installations import PROGRAM
from rookery.home import Home, write_durably
from rookery.hook_setup import quick_hook

#: How it is run: as a plain command, in any shell. If it is gone, nothing happens; that may not
#: fail, since some agents take a program's complaint for a no.
RUN = ("/bin/sh", "-c", '[ -r "$0" ] && . "$0" || :')

#: What agents are told to run for tools; beside the hook.
MCP = "rookery-mcp"


def program(home: Home) -> Path:
    """Say what agents are told to run; by its name, hooks of ours are known among others."""
    return home.state / PROGRAM


def words(home: Home) -> tuple[str, ...]:
    """Say how the hook program is run, without the agent's name.

    The words stay the same for as long as the home does: another interpreter does not change
    what stands in an agent's settings, nor what its user has trusted.
    """
    return (*RUN, str(program(home)))


def command(home: Home, agent: str) -> str:
    """Return the command line as it stands in an agent's settings."""
    return shlex.join([*words(home), agent])


def mcp_words(home: Home) -> tuple[str, ...]:
    """Say how agents run our MCP server on standard input and output; there is no secret in it.

    These words stay the same, too. Who calls is known by the badge in its environment, or by
    its process.
    """
    return ("/bin/sh", str(home.state / MCP))


def lay(home: Home) -> tuple[str, ...]:
    """Lay the programs where they can stay, and say how the hook is run."""
    _keep(home.hook, _compiled("hook.py"))
    _keep(home.bridge, _compiled("mcp_bridge.py"))
    _keep(program(home), _script(home).encode(errors="surrogateescape"))
    _keep(home.state / MCP, _mcp_script(home).encode(errors="surrogateescape"))
    return words(home)


async def lay_quick(home: Home) -> None:
    """Build the quick hook program where that is possible, and have hooks run it."""
    if await quick_hook.build(home):
        await to_thread.run_sync(lay, home)


def _compiled(name: str) -> bytes:
    """Return a program as this interpreter runs it: to read its text takes a while."""
    source = resources.files("rookery.programs") / name
    with resources.as_file(source) as path, TemporaryDirectory() as folder:
        made = Path(folder, f"{name}c")
        # Not to be compared with its text, which will not be there.
        how = PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(
            str(path), str(made), name, doraise=True, optimize=2, invalidation_mode=how
        )
        return made.read_bytes()


def _script(home: Home) -> str:
    """Write the hook's script: the quick program if it runs here, else the one in Python."""
    python, quick = _python(), quick_hook.path(home)
    given = shlex.join(map(str, (home.hook, home.hook_door, home.spool)))
    lines = [f"{_is_there(home.hook)} || exit 0"]
    if quick_hook.runs(quick):
        program = shlex.quote(str(quick))
        lines.append(f'[ -x {program} ] && exec {program} {python} {given} "$1" 2>/dev/null')
    lines.append(f'exec {python} -I -S {given} "$1" 2>/dev/null\n')
    return "\n".join(lines)


def _mcp_script(home: Home) -> str:
    given = shlex.join(map(str, (home.bridge, home.door)))
    run = f"{_is_there(home.bridge)} && exec {_python()} -I -S {given}"
    return f"{run}\necho 'Rookery is not installed here any more.' >&2\nexit 1\n"


def _is_there(program: Path) -> str:
    """Write the test whether a program and its interpreter are still there."""
    return f"[ -x {_python()} ] && [ -r {shlex.quote(str(program))} ]"


def _python() -> str:
    """Return the interpreter itself, not a link that goes with an environment, nor a shim."""
    return shlex.quote(os.path.realpath(sys.executable))


def _keep(file: Path, text: bytes) -> None:
    """Have a file say this, at every moment the old or the new."""
    if not file.exists() or file.read_bytes() != text:
        write_durably(file, text)
