"""A driven session whose event file is read."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field

from rookery.drivers.agent_processes import signal_trees
from rookery.drivers.commands import Start
from rookery.drivers.event_file import EventReader
from rookery.drivers.events import CommandStarted, EventEntry, ProcessesNoted
from rookery.model.facts import SessionId, SessionStarted
from rookery.ports.sightings import Finished, Reported, Sighting
from rookery.processes import Process, signal_sessions
from rookery.runtimes.driven.reports import read_entries


@dataclass(slots=True)
class Followed:
    session: SessionId
    events: EventReader
    folder: str = ""
    start: Start | None = None  #: how this daemon has started it, if it has
    is_up: bool = False  #: its agent may have got a prompt
    is_over: bool = False
    is_lost: bool = False  #: its host is gone, and may have left processes of it
    is_restarted: bool = False  #: it was started again, which is done once
    process: str | None = None  #: the agent's process, once it was reported
    #: The processes of the commands that the host runs for it: they are not below the agent's.
    commands: set[str] = field(default_factory=set)
    #: What the agent has run at last, besides its program.
    processes: tuple[str, ...] = ()
    misses: int = 0  #: how often in a row the host did not list it

    def take(self, entries: Sequence[EventEntry]) -> list[Sighting]:
        """Return what events say, and note what the runtime itself needs of it."""
        for entry in entries:
            match entry.event:
                case CommandStarted(process):
                    self.commands.add(process)
                case ProcessesNoted(processes):
                    self.processes = processes
                case _:
                    pass
        sightings = [*read_entries(entries, self.session, folder=self.folder)]
        for each in sightings:
            if isinstance(each, Reported):
                self.process = each.process or self.process
                self.is_up |= any(isinstance(fact, SessionStarted) for fact in each.facts)
            self.is_over |= isinstance(each, Finished)
        return sightings

    def kill(self) -> None:
        """Kill what a host that is gone has left: not every agent ends without its input."""
        left = (*filter(None, (self.process,)), *self.processes)
        signal_trees([*map(Process.read, left)], signal.SIGKILL)
        signal_sessions([*map(Process.read, self.commands)], signal.SIGKILL)
