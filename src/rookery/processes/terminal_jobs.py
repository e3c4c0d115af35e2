"""Determine whether a shell runs a foreground command, as far as the system shows it.

Only certain cases count. A command that may wait for input, such as another prompt, is no
reason to withhold messages.
"""

from __future__ import annotations

import os

from rookery.processes.operating_system import system
from rookery.processes.table import in_session


def group_in_front(shell: int) -> int | None:
    """Return the foreground process group of a shell's terminal, if it is not the shell's.

    ``shell`` is the pid of a pane's program, which leads the session of its terminal.
    """
    front = system.foreground_group(shell)
    return None if front is None or front == _group(shell) else front


def is_at_work(shell: int, front: int) -> bool:
    """Return whether all processes of a group are certainly busy. Scans all processes."""
    command = [pid for pid in in_session(shell) if _group(pid) == front]
    return bool(command) and all(map(system.is_busy, command))


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None  # it has just ended
