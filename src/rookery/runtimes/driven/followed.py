"""A driven session whose event file is read."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from rookery.drivers import commands
from rookery.drivers.event_file import EventReader
from rookery.model import facts
from rookery.model.facts import SessionId
from rookery.ports.sightings import Reported
from rookery.processes import Process, descendants, send_signal


@dataclass(slots=True)
class Followed:
    session: SessionId
    events: EventReader
    folder: str = ""
    start: commands.Start | None = None  #: how this daemon has started it, if it has
    is_up: bool = False  #: its agent may have got a prompt
    is_over: bool = False
    is_restarted: bool = False  #: it was started again, which is done once
    process: str | None = None  #: the agent's process, once it was reported
    misses: int = 0  #: how often in a row the host did not list it

    def note(self, report: Reported) -> None:
        """Note what an event says that the runtime itself needs."""
        self.process = report.process or self.process
        self.is_up |= any(isinstance(each, facts.SessionStarted) for each in report.facts)


def kill_tree(process: str | None) -> None:
    """Kill a program and all that it started, if it still runs."""
    if process:
        program = Process.read(process)
        send_signal(program, descendants(program.pid), signal.SIGKILL)
