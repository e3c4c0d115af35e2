"""A tmux server of a person's own, in which agents are started by hand."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.paths import PROGRAMS
from tests.support.real.agents import KEY
from tests.support.real.rookery import SOON


class ByHand:
    """One server on a socket of its own; nothing of Rookery's is in its environment."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "own.sock"
        self.folder = folder

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-S", str(self.socket), "-f", "/dev/null", *words],
            capture_output=True,
            text=True,
            timeout=SOON,
            check=False,
            env={
                **{name: each for name, each in os.environ.items() if name != "TMUX"},
                "HOME": str(self.folder),
                "LC_ALL": "C.UTF-8",
            },
        )
        return done.stdout.strip()

    def run(self, name: str, cwd: Path, *words: str, **environment: str) -> str:
        """Type a command line into a new window; return its pane."""
        given = [f"-e{key}={value}" for key, value in environment.items()]
        size = ("-x", "150", "-y", "40")
        first = not self.tmux("list-sessions")
        made = ("new-session", "-d", *size, "-s", "own") if first else ("new-window", "-d")
        where = ("-n", name, "-c", str(cwd), "-P", "-F", "#{pane_id}")
        return self.tmux(*made, *where, *given, "--", *words)

    def claude(self, name: str, cwd: Path, config: Path, models: str) -> str:
        return self.run(
            name,
            cwd,
            str(PROGRAMS / "claude"),
            CLAUDE_CONFIG_DIR=str(config),
            ANTHROPIC_BASE_URL=models,
            ANTHROPIC_API_KEY=KEY,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
            DISABLE_TELEMETRY="1",
            IS_SANDBOX="1",
        )

    def type(self, pane: str, words: str) -> None:
        """Type a line, as a person does: words, then Enter."""
        self.tmux("send-keys", "-t", pane, "-l", words)
        self.press(pane, "Enter")

    def press(self, pane: str, *keys: str) -> None:
        self.tmux("send-keys", "-t", pane, *keys)

    def screen(self, pane: str) -> str:
        return self.tmux("capture-pane", "-p", "-t", pane)

    def clear_away(self) -> None:
        self.tmux("kill-server")
