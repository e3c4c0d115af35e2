"""What an agent's program does without asking the user, and what its children may do.

Every agent has its own permission modes, and the same name means different things. So modes
are compared by what the programs really do in them, which the agents' adapters declare.
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
    """An agent, its permission mode (at the start and now), and the autonomy of all its modes.

    An empty mode is the agent's own default, which the user's settings determine.
    """

    agent: str
    mode: str  #: the mode in which it starts
    modes: Mapping[str, Autonomy]
    present: str = ""  #: the mode that it reported last; empty if none

    @property
    def reach(self) -> Autonomy:
        """Return the autonomy that is certain; a default or unknown mode counts as ``ASK``.

        The present mode can only lower it: a session could forge a hook that reports a freer
        mode than its own.
        """
        at_start = self.modes.get(self.mode, Autonomy.ASK)
        return (
            min(at_start, self.modes.get(self.present, Autonomy.ASK))
            if self.present
            else at_start
        )

    @property
    def is_as_started(self) -> bool:
        """Return whether the agent has reported no other mode than the one it started in."""
        return self.present in {"", self.mode}


def mode_within(parent: HeldMode, child: HeldMode) -> str:
    """Return a mode in which a child may do no more than its parent. Raises ``Forbidden``.

    A child with the agent and the mode of its parent gets that mode while the parent is still
    in it. Any other child without a requested mode gets one that asks the user, or a lower one
    if its parent has less: the default mode of its agent could allow anything.
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
