"""The terminal interface in a pane of a private tmux server, used by keys."""

from __future__ import annotations

import subprocess
import sys

from tests.support.real.rookery import SOON, Rookery, eventually


class TuiPane:
    """One tmux server with one pane, in which ``rookery tui`` runs."""

    def __init__(self, rookery: Rookery, *, columns: int = 80, lines: int = 24) -> None:
        self._rookery = rookery
        self._socket = rookery.folder / "tui.sock"
        self._size = ("-x", str(columns), "-y", str(lines))

    def open(self, **environment: str) -> None:
        """Open the interface in a shell of the project's folder."""
        given = {
            "HOME": str(self._rookery.folder),
            "ROOKERY_HOME": self._rookery.environment["ROOKERY_HOME"],
            "TERM": "xterm-256color",
            **environment,
        }
        variables = [f"-e{name}={value}" for name, value in given.items()]
        # After it has left, the screen stays readable.
        line = f"{sys.executable} -m rookery tui; echo left with $?; exec sleep 600"
        self.tmux(
            *("-f", "/dev/null", "new-session", "-d", *self._size, *variables),
            *("-c", str(self._rookery.project), "-s", "tui", "/bin/sh", "-c", line),
        )

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-S", str(self._socket), *words],
            capture_output=True,
            text=True,
            timeout=SOON,
            check=False,
            env={**self._rookery.environment, "LC_ALL": "C.UTF-8"},
        )
        return done.stdout

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "tui")

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "tui", *keys)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-t", "tui", "-l", text)

    def shows(self, *texts: str, within: float = SOON) -> None:
        def is_shown() -> bool:
            screen = self.screen
            is_shown.__doc__ = f"{texts} on this screen:\n{screen}"
            return all(each in screen for each in texts)

        eventually(is_shown, within=within)

    def close(self) -> None:
        self.tmux("kill-server")
