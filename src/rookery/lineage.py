"""The processes above a hook, as a spooled call names them, and which one is the agent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rookery.processes import Process, is_running, runs_program

#: Whether hook programs on this computer can tell when a process was started.
TELLS_LINEAGE = Path("/proc/self/stat").exists()

#: How many processes next to the hook are an agent and the shell that it runs hooks with.
NEAREST = 2

_PROCESS = re.compile(r"(\d{1,10}):(\d{1,20})")


def read_lineage(word: str) -> tuple[Process, ...]:
    """Read what a hook program wrote; nothing if it could not tell, or is an older one."""
    found = [_PROCESS.fullmatch(each) for each in word.split(",")]
    return tuple(Process(int(each[1]), each[2]) for each in found if each)


def agent_in_lineage(named: Sequence[Process], program: str) -> Process | None:
    """Return the agent among the processes above a hook that ran some time ago.

    It is the nearest that still runs the agent's program. If the nearest ones are gone, the
    agent is: what it was is told by the first of them. ``None`` where it cannot be told.
    """
    running = [each for each in named if is_running(each)]
    for each in running:
        if runs_program(each.pid, program):
            return each
    nearest = named[:NEAREST]
    is_gone = bool(nearest) and not any(each in running for each in nearest)
    return nearest[-1] if is_gone else None
