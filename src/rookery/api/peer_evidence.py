"""Read the evidence of which session a process belongs to: ancestors, terminal, environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rookery.agents.catalog import SHARED_SERVERS
from rookery.model.variables import SESSION_VARIABLE
from rookery.processes import Process, ancestors, is_shared_server, session_leader, system


@dataclass(frozen=True, slots=True)
class Position:
    """The terminal of a process, and its process tree there."""

    terminal: int = 0  #: a number of its controlling terminal; 0 if it has none
    tree: frozenset[int] = frozenset()  #: itself and its ancestors on that terminal

    def is_detached_from(self, other: Position) -> bool:
        """Return whether it is on the other's terminal but in no common process tree.

        A shell is an ancestor of all that it runs; a process that forked twice has left it.
        """
        is_together = self.terminal != 0 and self.terminal == other.terminal
        return is_together and self.tree.isdisjoint(other.tree)


@dataclass(frozen=True, slots=True)
class ProcessEvidence:
    """A process, and the evidence of which session it belongs to."""

    chain: tuple[Process, ...]  #: the process itself, then its ancestors, the nearest first
    sessions_named: tuple[
        str, ...
    ] = ()  #: the sessions that their environments name, in that order
    position: Position = Position()
    is_below_shared_server: bool = False  #: an agent's server for many sessions
    leader: Process | None = None  #: the leader of the process's terminal session

    @property
    def process(self) -> Process:
        return self.chain[0]

    @property
    def lineage(self) -> tuple[str, ...]:
        """Return the keys of the process, its terminal session's leader and its ancestors."""
        leader = (self.leader,) if self.leader else ()
        return tuple(each.key for each in (self.chain[0], *leader, *self.chain[1:]))


def read_evidence(pid: int) -> ProcessEvidence | None:
    """Read the evidence of a process; ``None`` if it is gone."""
    if not (chain := ancestors(pid)):
        return None
    sessions_named = tuple(
        name for each in chain if (name := system.variable(each.pid, SESSION_VARIABLE))
    )
    is_shared = any(is_shared_server(each.pid, SHARED_SERVERS) for each in chain)
    number = session_leader(pid)
    # A leader that has ended is known by its number: its session is not over yet.
    leader = Process.of(number) or (Process(number, "") if number else None)
    return ProcessEvidence(chain, sessions_named, _position(chain), is_shared, leader)


def read_position(pid: int) -> Position:
    """Read a process's terminal, and which of its ancestors are on it."""
    return _position(ancestors(pid))


def _position(chain: Sequence[Process]) -> Position:
    terminal = system.terminal(chain[0].pid) if chain else 0
    if not terminal:
        return Position()
    leader = session_leader(chain[0].pid)
    tree = (each.pid for each in chain if session_leader(each.pid) == leader)
    return Position(terminal, frozenset(tree))
