"""How far an agent's program goes without asking its person, and how far a child may go.

Every agent has permission modes of its own, and the same name means different things: what is
compared here is what the program really does in a mode, which its dialect states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from rookery.model.errors import Forbidden


class Reach(IntEnum):
    """What a program does unasked. A higher value includes all lower ones."""

    READ = 0  #: it reads, and changes nothing at all
    ASK = 1  #: it reads, and asks before each change and each command
    EDIT = 2  #: it also changes files of its project
    RUN = 3  #: it also runs commands, in a sandbox
    ALL = 4  #: it does anything


@dataclass(frozen=True, slots=True)
class Held:
    """An agent, the permission mode that it has or is to have, and the reach of its modes.

    An empty mode is the agent's own default, which its user's settings decide.
    """

    agent: str
    mode: str  #: at its start
    modes: Mapping[str, Reach]
    present: str = ""  #: the mode that it told last; empty if it told none

    @property
    def reach(self) -> Reach:
        """Return how far it goes for certain: a default may be as little as asking.

        The present mode only restricts: a session could forge a hook that tells a freer one.
        """
        at_start = self.modes.get(self.mode, Reach.ASK)
        return (
            min(at_start, self.modes.get(self.present, Reach.ASK)) if self.present else at_start
        )

    @property
    def is_as_started(self) -> bool:
        """Return whether it is not known to be in another mode than at its start."""
        return self.present in {"", self.mode}


def mode_within(parent: Held, child: Held) -> str:
    """Return the mode in which a child goes no further than its parent. Raises ``Forbidden``.

    A child that asks for no mode gets one that asks its person, or less where its parent has
    less: its own default could be anything.
    """
    is_alike = (child.agent, child.mode) == (parent.agent, parent.mode)
    if is_alike and parent.is_as_started:
        return child.mode
    if child.mode:
        if child.mode in child.modes and child.modes[child.mode] <= parent.reach:
            return child.mode
        raise Forbidden(_too_far(parent, child))
    limit = min(parent.reach, Reach.ASK)
    fitting = [mode for mode, reach in child.modes.items() if reach <= limit]
    if not fitting:
        raise Forbidden(_too_far(parent, child))
    return max(fitting, key=lambda mode: child.modes[mode])


def _too_far(parent: Held, child: Held) -> str:
    fitting = [mode for mode, reach in child.modes.items() if reach <= parent.reach]
    named = f"{child.agent} may be started in: {', '.join(fitting) or 'no mode at all'}"
    own = parent.mode or "default"
    own = own if parent.is_as_started else f"{own}, now {parent.present}"
    return f"a child's permission mode is at most its parent's ({own}). {named}."
