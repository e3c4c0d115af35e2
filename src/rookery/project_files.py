"""Look into the folder that an agent works in: files of a repository, which is not trusted.

A repository may hold a FIFO, a huge file or a dead mount where settings are looked for, so
reading is bounded in size and in time.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import anyio

from rookery.agents.hook_switches import SWITCHES
from rookery.model.sessions import TMUX, Session
from rookery.store.observed import UNGIVEN

#: Settings files are far smaller; the rest of a larger one is not looked at.
MAX_FILE_BYTES = 1_000_000

#: A dead mount blocks its thread for good: then nothing is known of the folder.
LOOK_TIMEOUT_S = 1.0

T = TypeVar("T")


async def in_thread(look: Callable[[], T], otherwise: T) -> T:
    """Look into folders in a thread; give up after a second."""
    with anyio.move_on_after(LOOK_TIMEOUT_S):
        return await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
    return otherwise


def hooks_switched_off(session: Session) -> str:
    """Name the project file that switches a session's hooks off; empty if none does."""
    if session.runtime == TMUX and session.agent not in UNGIVEN:
        return ""  # what it was given wins over the project's settings
    switch = SWITCHES.get(session.agent)
    if switch is None or not session.project_path:
        return ""
    folder = Path(session.project_path, session.subdir)
    folders = up_to_root(folder) if switch.in_parents else (folder,)
    for path in (each / name for each in folders for name in switch.files):
        if switch.is_off(read_text(path)):
            return str(path)
    return ""


def up_to_root(folder: Path) -> Iterator[Path]:
    """Yield a folder and those above it, up to the root of its repository if it is in one."""
    above = (folder, *folder.parents)
    roots = [number for number, each in enumerate(above) if (each / ".git").exists()]
    yield from above[: roots[0] + 1 if roots else 1]


def read_text(path: Path) -> str:
    """Return the text of a regular file; empty if it is none or cannot be read."""
    with suppress(OSError, ValueError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return file.read(MAX_FILE_BYTES).decode(errors="replace")
    return ""
