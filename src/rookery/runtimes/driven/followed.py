"""A driven session whose event file is read."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field

from rookery.drivers.commands import Start
from rookery.drivers.event_file import EventReader
from rookery.model import facts
from rookery.model.facts import SessionId
from rookery.ports.sightings import Reported
from rookery.processes import Process, descendants, send_signal, signal_sessions


@dataclass(slots=True)
class Followed:
    session: SessionId
    events: EventReader
    folder: str = ""
    start: Start | None = None  #: how this daemon has started it, if it has
    is_up: bool = False  #: its agent may have got a prompt
    is_over: bool = False
    is_restarted: bool = False  #: it was started again, which is done once
    process: str | None = None  #: the agent's process, once it was reported
    #: The processes of the commands that the host runs for it: they are not below the agent's.
    commands: set[str] = field(default_factory=set)
    misses: int = 0  #: how often in a row the host did not list it

    def note(self, report: Reported) -> None:
        """Note what an event says that the runtime itself needs."""
        self.process = report.process or self.process
        self.is_up |= any(isinstance(each, facts.SessionStarted) for each in report.facts)

    def kill(self) -> None:
        """Kill what a host that is gone has left: not every agent ends without its input."""
        if self.process:
            program = Process.read(self.process)
            send_signal(program, descendants(program.pid), signal.SIGKILL)
        signal_sessions([*map(Process.read, self.commands)], signal.SIGKILL)
