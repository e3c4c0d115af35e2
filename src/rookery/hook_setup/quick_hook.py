"""Builds the quick hook program where there is a C compiler; elsewhere hooks run ``hook.py``.

With it, a hook call takes about a fifth of the time: most of the time of a call of ``hook.py``
is the start of the interpreter.

A program that cannot run must never be used: every hook call would be lost, and with it the
rules that deny. So each start runs the program once before hooks may use it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import resources
from importlib.util import cache_from_source
from pathlib import Path

import anyio
from anyio import to_thread

from rookery.home import Home
from rookery.model.errors import HomeUnusable
from rookery.private_files import write_durably
from rookery.programs.hook import VERSION

_log = logging.getLogger(__name__)

#: Time limits for the compiler, and for the program to print its version. Both need far less.
BUILD_TIMEOUT_S, CHECK_TIMEOUT_S = 60.0, 5.0

#: The modification time that is set on every hook program. A program that was overwritten later
#: has another time. The hook script can compare these times without starting a process.
MTIME_S = 1_000_000_000

#: The file name of a built program: this and a digest of the source.
PREFIX = "hook-"


def path(home: Home) -> Path:
    """Return the path of the built program."""
    return home.state / _name()


@cache  # asked for twice a second
def _name() -> str:
    """Return the program's file name, which contains a digest of the source."""
    source = _source().read_bytes()
    digest = hashlib.sha256(source + platform.machine().encode()).hexdigest()
    return f"{PREFIX}{digest[:16]}"


def runs(program: Path) -> bool:
    """Return whether a program exists, runs on this computer, and has this version."""
    try:
        done = subprocess.run(
            [program],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CHECK_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return (done.returncode, done.stdout) == (0, b"v%d\n" % VERSION)


async def build(home: Home) -> bool:
    """Build the program in the home and remove older ones; return whether it runs."""
    program = path(home)
    if not await to_thread.run_sync(runs, program) and not await _copy_or_build(home, program):
        program.unlink(missing_ok=True)
        return False
    for old in set(home.state.glob(f"{PREFIX}*")) - {program}:
        old.unlink(missing_ok=True)
    return True


async def _copy_or_build(home: Home, program: Path) -> bool:
    """Copy the program that was built for another home, or build it."""
    cached = Path(cache_from_source(str(_source()))).with_name(program.name)
    with suppress(OSError):
        if await _try(program, cached.read_bytes()):
            return True
    built = await _compile(home)
    if built is None or not await _try(program, built):
        return False
    with suppress(OSError, HomeUnusable):  # the package may belong to another user
        write_durably(cached, built)
    return True


async def _try(program: Path, content: bytes) -> bool:
    write_durably(program, content, mode=0o700, mtime_s=MTIME_S)
    return await to_thread.run_sync(runs, program)


async def _compile(home: Home) -> bytes | None:
    """Return the compiled program; None if there is no compiler or it fails."""
    compiler = shutil.which("cc") if sys.platform == "linux" else None
    if compiler is None:
        return None
    output = home.run / "quick-hook"
    environment = {**os.environ, "TMPDIR": str(home.run)}
    # Static if possible: then an upgrade of libraries cannot break it.
    for linking in (["-static"], []):
        command = [compiler, "-O2", *linking, "-o", str(output), str(_source())]
        with anyio.move_on_after(BUILD_TIMEOUT_S):
            done = await anyio.run_process(
                command, check=False, env=environment, start_new_session=True
            )
            if done.returncode == 0:
                content = output.read_bytes()
                output.unlink()
                return content
    _log.info("The quick hook program cannot be built; hooks run without it.")
    return None


def _source() -> Path:
    return Path(str(resources.files("rookery.programs") / "hook.c"))
