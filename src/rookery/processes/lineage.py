"""Identify processes that programs outside of the daemon name: hook programs and agents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rookery.processes.agent_search import runs_program
from rookery.processes.operating_system import IS_PORTABLE
from rookery.processes.table import Process, is_running

#: Whether other programs report a process's start time in the same unit as the daemon.
START_TIMES_COMPARABLE = not IS_PORTABLE

#: The number of nearest ancestors that are the agent and the shell in which it runs hooks.
NEAREST_ANCESTORS = 2

_PROCESS = re.compile(r"(\d{1,10}):(\d{1,20})")


def read_lineage(text: str) -> tuple[Process, ...]:
    """Parse the ancestors that a hook program wrote; empty if it wrote none."""
    if not START_TIMES_COMPARABLE:
        return ()
    matches = [_PROCESS.fullmatch(each) for each in text.split(",")]
    return tuple(Process(int(each[1]), each[2]) for each in matches if each)


def named_process(pid: int, started: str, program: str) -> Process | None:
    """Return the running process that an agent names in one of its files, by pid and start.

    If the start times are not comparable, the process must run the agent's program.
    """
    if START_TIMES_COMPARABLE:
        process = Process(pid, started)
        return process if is_running(process) else None
    return Process.of(pid) if runs_program(pid, program) else None


def agent_in_lineage(lineage: Sequence[Process], program: str) -> Process | None:
    """Return the agent among the ancestors of a hook that ran some time ago.

    It is the nearest ancestor that still runs the agent's program. If the nearest ancestors
    are all gone, the outer one of them was the agent. ``None`` if that is unclear.
    """
    running = [each for each in lineage if is_running(each)]
    for each in running:
        if runs_program(each.pid, program):
            return each
    nearest = lineage[:NEAREST_ANCESTORS]
    is_gone = bool(nearest) and not any(each in running for each in nearest)
    return nearest[-1] if is_gone else None
