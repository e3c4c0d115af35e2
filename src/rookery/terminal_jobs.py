"""Find out, from /proc where there is one, whether a shell runs a foreground command.

Only certain cases count. A command that may wait for input, such as another prompt, is no
reason to withhold messages.
"""

from __future__ import annotations

from pathlib import Path

from rookery.processes import in_session, read_stat

#: Kernel functions in which a process waits for something other than input.
_BUSY_WAITS = (
    *("hrtimer_nanosleep", "do_nanosleep", "do_wait"),
    *("pipe_read", "pipe_write", "anon_pipe_read", "anon_pipe_write", "pipe_wait"),
)

#: Running, or waiting for a disk.
_BUSY_STATES = frozenset("RD")


def group_in_front(shell: int) -> str | None:
    """Return the foreground process group of a shell's terminal, if it is not the shell's.

    ``shell`` is the pid of a pane's program, which leads the session of its terminal.
    """
    try:
        _, _, group, _, _, front, *_ = read_stat(shell)
    except (OSError, ValueError):
        return None
    return None if front in {group, "-1", "0"} else front


def is_at_work(shell: int, front: str) -> bool:
    """Return whether all processes of a group are certainly busy. Scans all processes."""
    try:
        command = [pid for pid in in_session(shell) if _group(pid) == front]
        return bool(command) and all(map(_is_busy, command))
    except (OSError, ValueError):
        return False


def _group(pid: int) -> str:
    try:
        return read_stat(pid)[2]
    except (OSError, IndexError):
        return ""  # it has just ended


def _is_busy(pid: int) -> bool:
    if read_stat(pid)[0] in _BUSY_STATES:
        return True
    waits_in = Path(f"/proc/{pid}/wchan").read_text(encoding="ascii").partition(".")[0]
    return waits_in in _BUSY_WAITS
