"""Find rings of sessions that wait for each other."""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.listeners import Listener
from rookery.store import listeners, sessions


def ring_of(db: Connection, listener: Listener) -> str:
    """Return the names of the sessions that wait for each other; empty if there is no ring."""
    if not (edges := path_back(db, listener)):
        return ""
    names = [sessions.get(db, each.caller).name for each in (listener, *edges)]
    return " → ".join((*names, names[0]))


def path_back(
    db: Connection, listener: Listener, *, only_lasting: bool = False
) -> list[Listener]:
    """Return the listeners that lead from the target back to the caller; empty if none do."""
    paths: list[list[Listener]] = [[listener]]
    visited: set[SessionId] = set()
    while paths:
        path = paths.pop(0)
        last = path[-1].target
        if last == listener.caller:
            return path[1:]
        if last not in visited:
            visited.add(last)
            further = listeners.targets_of(db, last)
            paths += [[*path, each] for each in further if each.is_lasting or not only_lasting]
    return []
