"""Whether a shell waits for a command that it runs in front; told by /proc, where there is one.

Only what is sure counts. A command that may wait for input, such as another prompt, is no
reason to keep words from it.
"""

from __future__ import annotations

from pathlib import Path

from rookery.processes import in_session, read_stat

#: Functions of the kernel in which a process waits for something else than input.
_BUSY_WAITS = (
    *("hrtimer_nanosleep", "do_nanosleep", "do_wait"),
    *("pipe_read", "pipe_write", "anon_pipe_read", "anon_pipe_write", "pipe_wait"),
)

#: Running, or waiting for a disk.
_BUSY_STATES = frozenset("RD")


def group_in_front(shell: int) -> str | None:
    """Return the process group that has the terminal in the place of a shell, if one has.

    ``shell`` is the pid of a pane's program, which leads the session of its terminal.
    """
    try:
        _, _, group, _, _, front, *_ = read_stat(shell)
    except (OSError, ValueError):
        return None
    return None if front in {group, "-1", "0"} else front


def is_at_work(shell: int, front: str) -> bool:
    """Return whether all processes of a group surely do something. Looks at all processes."""
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
