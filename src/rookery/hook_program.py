"""The small program that agents run as their hook: it stays, and is silent once we are gone."""

from __future__ import annotations

import os
import py_compile
import shlex
import sys
from importlib import resources
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory

from rookery.agents.installations import PROGRAM
from rookery.home import Home, open_private

#: How it is run: as a plain command, in any shell. If it is gone, nothing happens; that may not
#: fail, since some agents take a program's complaint for a no.
RUN = ("/bin/sh", "-c", '[ -r "$0" ] && . "$0" || :')


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


def lay(home: Home) -> tuple[str, ...]:
    """Lay the hook program where it can stay, and say how it is run."""
    _keep(home.hook, _compiled())
    _keep(program(home), _script(home).encode(errors="surrogateescape"))
    return words(home)


def _compiled() -> bytes:
    """Return the hook program as this interpreter runs it: to read its text takes a while."""
    source = resources.files("rookery.programs") / "hook.py"
    with resources.as_file(source) as path, TemporaryDirectory() as folder:
        made = Path(folder, "hook.pyc")
        # Not to be compared with its text, which will not be there.
        how = PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(
            str(path), str(made), "hook.py", doraise=True, optimize=2, invalidation_mode=how
        )
        return made.read_bytes()


def _script(home: Home) -> str:
    # The interpreter itself, not a link that goes with an environment, nor a slow shim.
    python = os.path.realpath(sys.executable)
    run = (python, "-I", "-S", str(home.hook), str(home.hook_door), str(home.spool))
    there = f"[ -x {shlex.quote(python)} ] && [ -r {shlex.quote(str(home.hook))} ]"
    return f'{there} && exec {shlex.join(run)} "$1" 2>/dev/null\nexit 0\n'


def _keep(file: Path, text: bytes) -> None:
    """Have a file say this, at every moment the old or the new."""
    if file.exists() and file.read_bytes() == text:
        return
    new = file.with_name(file.name + ".new")
    new.unlink(missing_ok=True)
    with open_private(new) as written:
        written.write(text)
    new.rename(file)
