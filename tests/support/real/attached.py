"""A person's terminal that is attached to tmux."""

from __future__ import annotations

import os
import pty
import select
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Thread

from tests.support.real.rookery import Rookery


class AttachedTerminal:
    """It keeps all that it is told."""

    def __init__(self, descriptor: int) -> None:
        self.shown = bytearray()
        self._descriptor = descriptor
        Thread(target=self._read_on, daemon=True).start()

    def _read_on(self) -> None:
        with suppress(OSError):
            while select.select([self._descriptor], [], []) and (
                part := os.read(self._descriptor, 65536)
            ):
                self.shown += part


def attached(rookery: Rookery, name: str) -> AbstractContextManager[AttachedTerminal]:
    """Attach a terminal to a session of Rookery."""
    return attached_to(rookery.home.tmux, f"={rookery.session(name)['tmux_session']}")


@contextmanager
def attached_to(socket: Path, target: str) -> Iterator[AttachedTerminal]:
    """Attach a terminal to a session of a tmux server."""
    words = ["tmux", "-u", "-S", str(socket), "attach-session", "-t", target]
    pid, descriptor = pty.fork()
    if pid == 0:
        variables = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        variables.pop("TMUX", None)
        os.execvpe("tmux", words, variables)  # noqa: S606 - no shell
    try:
        yield AttachedTerminal(descriptor)
    finally:
        with suppress(OSError):
            os.close(descriptor)
        os.waitpid(pid, 0)
