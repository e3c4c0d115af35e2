"""What an agent's program does without asking the user, and what its children may do.

Every agent has its own permission modes, and the same name means different things. So this
compares what the program really does in a mode, which its adapter declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from rookery.model.errors import Forbidden


class Autonomy(IntEnum):
    """What a program does without asking. A higher value includes all lower ones."""

    READ = 0  #: it only reads
    ASK = 1  #: it reads, and asks before each change and command
    EDIT = 2  #: it also changes files in its project
    RUN = 3  #: it also runs commands, in a sandbox
    ALL = 4  #: it does anything


@dataclass(frozen=True, slots=True)
class HeldMode:
    """An agent, its current or requested permission mode, and the reach of all its modes.

    An empty mode is the agent's own default, which the user's settings determine.
    """

    agent: str
    mode: str  #: when it starts
    modes: Mapping[str, Autonomy]
    present: str = ""  #: the mode that it reported last; empty if none

    @property
    def reach(self) -> Autonomy:
        """Return the reach that is certain; a default mode counts as ``ASK``.

        The present mode only restricts: a session could forge a hook that reports a freer one.
        """
        at_start = self.modes.get(self.mode, Autonomy.ASK)
        return (
            min(at_start, self.modes.get(self.present, Autonomy.ASK))
            if self.present
            else at_start
        )

    @property
    def is_as_started(self) -> bool:
        """Return whether no change of mode since its start is known."""
        return self.present in {"", self.mode}


def mode_within(parent: HeldMode, child: HeldMode) -> str:
    """Return a mode in which a child may do no more than its parent. Raises ``Forbidden``.

    A child without a requested mode gets one that asks the user, or a lower one if its parent
    has less: its own default could be anything.
    """
    is_alike = (child.agent, child.mode) == (parent.agent, parent.mode)
    if is_alike and parent.is_as_started:
        return child.mode
    if child.mode:
        if child.mode in child.modes and child.modes[child.mode] <= parent.reach:
            return child.mode
        raise Forbidden(_too_far(parent, child))
    limit = min(parent.reach, Autonomy.ASK)
    fitting = [mode for mode, reach in child.modes.items() if reach <= limit]
    if not fitting:
        raise Forbidden(_too_far(parent, child))
    return max(fitting, key=lambda mode: child.modes[mode])


def _too_far(parent: HeldMode, child: HeldMode) -> str:
    fitting = [mode for mode, reach in child.modes.items() if reach <= parent.reach]
    options = f"{child.agent} may be started in: {', '.join(fitting) or 'no mode at all'}"
    parent_mode = parent.mode or "default"
    parent_mode = (
        parent_mode if parent.is_as_started else f"{parent_mode}, now {parent.present}"
    )
    return f"a child's permission mode is at most its parent's ({parent_mode}). {options}."
