"""Builds the quick hook program where there is a C compiler. ``hook.py`` does all without it.

A hook call then costs an agent about a fifth: most of it was the start of an interpreter.
"""

from __future__ import annotations

import hashlib
import logging
import platform
import shutil
import subprocess
import sys
from contextlib import suppress
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

from rookery.home import Home, write_durably

_log = logging.getLogger(__name__)

#: Seconds for the compiler; it takes a tenth of one.
BUILD_TIMEOUT_S = 60.0

#: How its files begin, in a home: what follows is that of the very source.
PREFIX = "hook-"


def path(home: Home) -> Path:
    """Return where the program is, once it was built; each source has a name of its own."""
    source = _source().read_bytes()
    digest = hashlib.sha256(source + platform.machine().encode()).hexdigest()
    return home.state / f"{PREFIX}{digest[:16]}"


def build(home: Home) -> bool:
    """Have the program in the home, and no older one. False if it cannot be built here."""
    to = path(home)
    if not to.exists():
        made = _built(to.name)
        if made is None:
            return False
        write_durably(to, made)
        to.chmod(0o700)  # until then, the other program is run
    for old in set(home.state.glob(f"{PREFIX}*")) - {to}:
        old.unlink(missing_ok=True)
    return True


def _source() -> Path:
    return Path(str(resources.files("rookery.programs") / "hook.c"))


def _built(name: str) -> bytes | None:
    """Return the program. It is kept beside its source, if that is ours to write."""
    kept = _source().parent / "__pycache__" / name
    with suppress(OSError):
        return kept.read_bytes()
    made = _compile()
    if made is not None:
        with suppress(OSError):
            write_durably(kept, made)
    return made


def _compile() -> bytes | None:
    compiler = shutil.which("cc") if sys.platform == "linux" else None
    if compiler is None:
        return None
    with TemporaryDirectory() as folder:
        to = Path(folder, "hook")
        command = [compiler, "-O2", "-o", str(to), str(_source())]
        try:
            subprocess.run(command, capture_output=True, timeout=BUILD_TIMEOUT_S, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            _log.info("The quick hook program cannot be built; hooks run without: %s", error)
            return None
        return to.read_bytes()
