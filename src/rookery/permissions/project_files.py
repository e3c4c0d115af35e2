"""Read files of the folder that an agent works in: a repository, which is not trusted.

A repository may have a FIFO, a huge file or a dead mount in place of a settings file, so every
read is limited in size and in time.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from rookery.agents.catalog import AGENTS
from rookery.agents.shared import project_commands
from rookery.model.errors import Forbidden
from rookery.model.sessions import Session

#: Settings files are much smaller; the rest of a larger one is ignored.
MAX_FILE_BYTES = 1_000_000

#: Files of a project that are searched for commands; with more, any command may exist.
MAX_FILES = 5_000

#: A dead mount blocks its thread forever: then nothing is known about the folder.
LOOK_TIMEOUT_S = 1.0

T = TypeVar("T")


async def in_thread(look: Callable[[], T], otherwise: T) -> T:
    """Run a function that reads folders in a thread; give up after a second."""
    with anyio.move_on_after(LOOK_TIMEOUT_S):
        return await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
    return otherwise


def hooks_switched_off(session: Session) -> str:
    """Return the project file that switches a session's hooks off; empty if none does."""
    agent = AGENTS.get(session.agent)
    switch = agent.settings.switch if agent and agent.settings else None
    if agent is None or switch is None or not session.project_path:
        return ""
    if session.is_ours and not agent.abilities.needs_installed_hooks:
        return ""  # hooks given at launch override the project's settings
    folder = Path(session.project_path, session.subdir)
    folders = up_to_root(folder) if switch.in_parents else (folder,)
    for path in (each / name for each in folders for name in switch.files):
        if switch.are_disabled(read_text(path)):
            return str(path)
    return ""


async def require_own_command(session: Session, command: str) -> None:
    """Refuse a command that the agent's project defines. Raises ``Forbidden``.

    The repository defines what such a command runs, and a session that may only edit files
    could have written it.
    """
    name = command.split(maxsplit=1)[0].removeprefix("/")
    unknown = f"{session.project_path}, which cannot be looked through,"
    look = partial(command_defined_by, session, name)
    if file := await in_thread(look, otherwise=unknown):
        raise Forbidden(
            f"/{name} is defined by {file} of its project; only a person may use it."
        )


def command_defined_by(session: Session, name: str) -> str:
    """Return the project file that defines a slash command; empty if none does."""
    folder = Path(session.project_path, session.subdir)
    agent = AGENTS.get(session.agent)
    commands = agent.settings.commands if agent and agent.settings else None
    if commands is None or not session.project_path:
        return ""
    for each in _holding_commands(folder):
        for file in commands.settings:
            if project_commands.is_configured(read_text(each / file), name):
                return str(each / file)
        if definition := next(definitions_in(each / commands.folder, name), ""):
            return definition
    return ""


def definitions_in(folder: Path, name: str, *, place: str = "") -> Iterator[str]:
    """Yield the files in a place below an agent's folder that define a command or a skill.

    With too many files, the last item is the folder itself, with the reason.
    """
    for path in files_below(folder / place):
        if path is None:
            yield f"{folder}, which has more than {MAX_FILES:,} files,"
            return
        is_skill = path.name.lower() == project_commands.SKILL
        if project_commands.is_definition(path.relative_to(folder), name) or (
            is_skill and project_commands.names_skill(read_text(path), name)
        ):
            yield str(path)


def files_below(folder: Path) -> Iterator[Path | None]:
    """Yield the files below a folder; ``None`` as the last one if there are too many.

    Links are followed, as agents do. Folders count, too: a cycle of links has no other end.
    """
    number = 0
    for where, _, files in os.walk(folder, followlinks=True):
        number += 1 + len(files)
        if number > MAX_FILES:
            yield None
            return
        yield from (Path(where, each) for each in files)


def _holding_commands(folder: Path) -> Iterator[Path]:
    """Yield the folders whose commands count: up to the repository's root, else all above.

    The home folder is left out: its files are the user's own.
    """
    above = [folder, *folder.parents]
    inside = list(up_to_root(folder))
    is_repository = (inside[-1] / ".git").exists()
    yield from (each for each in (inside if is_repository else above) if each != Path.home())


def up_to_root(folder: Path) -> Iterator[Path]:
    """Yield a folder and its parents up to the root of its repository; else only the folder."""
    above = (folder, *folder.parents)
    roots = [number for number, each in enumerate(above) if (each / ".git").exists()]
    yield from above[: roots[0] + 1 if roots else 1]


def read_text(path: Path) -> str:
    """Return the text of a regular file; empty if it is not one or cannot be read."""
    with suppress(OSError, ValueError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return file.read(MAX_FILE_BYTES).decode(errors="replace")
    return ""
