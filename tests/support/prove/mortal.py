"""The real daemon, but it dies at a moment of one's choice: SIGKILL, as in a power cut.

Run as ``python -m tests.support.prove.mortal MOMENT COUNT_FILE``. A moment is before or after
a commit, and before or after something is done to tmux; each is written down as it passes, so
that a run that does not die enumerates them.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from functools import partial
from pathlib import Path

from rookery import daemon
from rookery.home import find_home
from rookery.runtimes.tmux.server import Server
from rookery.startup.components import Factories
from rookery.store.database import Database

#: What changes something in tmux. Looking does not.
ACTIONS = (
    b"new-session",
    b"link-window",
    b"load-buffer",
    b"paste-buffer",
    b"send-keys",
    b"kill-pane",
)


class Fate:
    def __init__(self, die_at: int, record: Path) -> None:
        self._die_at = die_at
        self._record = record
        self._moments = 0
        self.has_begun = False  #: not while the daemon only starts

    def moment(self, name: str) -> None:
        if not self.has_begun:
            return
        with self._record.open("a") as file:
            file.write(f"{name}\n")
        if self._moments == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        self._moments += 1


def main() -> None:
    fate = Fate(int(sys.argv[1]), Path(sys.argv[2]))

    class Mortal(sqlite3.Connection):
        def commit(self) -> None:
            fate.moment("before commit")
            super().commit()
            fate.moment("after commit")

    class MortalServer(Server):
        async def ask(self, *commands: bytes) -> list[tuple[bytes, ...]]:
            done = [each for each in ACTIONS if any(each in line for line in commands)]
            name = b" ".join(done).decode()
            if done:
                fate.moment(f"before {name}")
            answer = await super().ask(*commands)
            if done:
                fate.moment(f"after {name}")
            return answer

    factories = Factories(partial(Database, connection=Mortal), MortalServer)

    def ready() -> None:
        fate.has_begun = True
        print("Stop it with Ctrl-C", flush=True)  # noqa: T201 - what whoever started us waits for

    daemon.run(find_home(os.environ), ready=ready, factories=factories)


main()
