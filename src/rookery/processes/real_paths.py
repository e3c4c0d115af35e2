"""Resolve the links of a path that another process is about to open."""

from __future__ import annotations

import errno
import os
import re

#: The number of links that the kernel follows in one path.
MAX_LINKS = 40

#: Paths that each process resolves differently: to its own folder, files and threads.
_OF_PROCESS = re.compile(r"/proc/(self|thread-self|\d+)|/dev/fd")


def real_path(path: str) -> str:
    """Resolve a path's links. Raises ``OSError`` if each process resolves it differently."""
    if _depends_on_process(path):
        raise OSError(errno.EXDEV, "it depends on the process that opens it", path)
    return os.path.realpath(path)


def _depends_on_process(path: str) -> bool:
    """Return whether the path, with its links followed, enters the folder of a process.

    ``/proc/self/cwd`` is the agent's folder for the agent, and the daemon's for the daemon.
    """
    at, rest, links = "/", path.split("/")[::-1], 0
    while rest:
        name = rest.pop()
        if name in {"", "."}:
            continue
        at = os.path.dirname(at) if name == ".." else f"{at.rstrip('/')}/{name}"  # noqa: PTH120
        if _OF_PROCESS.fullmatch(at):
            return True
        if (target := _link_target(at)) is None:
            continue
        links += 1
        if links > MAX_LINKS:
            raise OSError(errno.ELOOP, "too many links", path)
        at = "/" if target.startswith("/") else os.path.dirname(at)  # noqa: PTH120
        rest += target.split("/")[::-1]
    return False


def _link_target(path: str) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115 - pathlib changes "//"
    except OSError:
        return None
