"""CPU time of processes, in percent of one core."""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, process_time

import psutil

#: The processes of each group, by its name.
Groups = Mapping[str, Sequence[psutil.Process]]


def usage(groups: Groups, during: Callable[[], None]) -> dict[str, float]:
    """Return the CPU use of each group and of this program while ``during`` runs.

    This program, with the children that it waited for, is the group ``""``.
    """
    before, began = _spent(groups), monotonic()
    during()
    after, seconds = _spent(groups), monotonic() - began
    return {name: 100 * (after[name] - before[name]) / seconds for name in after}


def _spent(groups: Groups) -> dict[str, float]:
    spent = {name: sum(map(_seconds, group)) for name, group in groups.items()}
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {**spent, "": process_time() + children.ru_utime + children.ru_stime}


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
