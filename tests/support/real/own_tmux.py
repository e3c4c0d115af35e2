"""A person's own tmux, with shells in it, in which agents are started by typing."""

from __future__ import annotations

import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.support.paths import PROGRAMS
from tests.support.real.by_hand import ByHand
from tests.support.real.rookery import SOON, Rookery, eventually

DEMO = (sys.executable, "-I", "-m", "rookery.programs.demo")

#: All that another program could leave behind in somebody's server.
LEFTOVERS = (
    ("list-sessions", "-F", "#{session_id} #{session_name} #{session_attached}"),
    ("list-windows", "-a", "-F", "#{window_id} #{window_name} #{window_layout}"),
    ("list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{pane_in_mode}"),
    ("list-clients", "-F", "#{client_name}"),
    ("list-buffers", "-F", "#{buffer_name}"),
    ("show-options", "-g"),
    ("show-options", "-s"),
    ("show-options", "-w", "-g"),
    ("show-hooks", "-g"),
    ("show-environment", "-g"),
    ("list-keys",),
)


class OwnTmux(ByHand):
    @property
    def settings(self) -> str:
        """Have Rookery look here, and nowhere else."""
        return f'[discovery]\ntmux_sockets = ["{self.socket}"]\n'

    def shell(self, cwd: Path, *, window: str = "work", **environment: str) -> str:
        """Open a window with a shell in it; return its pane."""
        pane = self.run(window, cwd, "/bin/sh", **environment)
        self.tmux("set-option", "-g", "automatic-rename", "off")
        self.type(pane, "PS1=rea'dy$ '")
        self.shows(pane, "ready$")
        return pane

    def demo(self, cwd: Path, *options: str, window: str = "work") -> str:
        """Start the demo agent in a shell, and wait until one can type; return its pane."""
        pane = self.shell(cwd, window=window, ROOKERY_DEMO_HOME=str(self.folder / "demo"))
        self.type(pane, shlex.join([*DEMO, *options]))
        self.shows(pane, "❯")
        return pane

    def agent(self, rookery: Rookery, name: str, *, window: str = "work") -> str:
        """Start a real agent in a shell, with the settings that Rookery has for it."""
        known: dict[str, Any] = tomllib.loads(rookery.home.settings.read_text())
        environment: dict[str, str] = known["agents"][name]["environment"]
        pane = self.shell(rookery.project, window=window, **environment)
        self.type(pane, str(PROGRAMS / name))
        return pane

    def shows(self, pane: str, text: str, *, within: float = SOON) -> None:
        eventually(lambda: text in self.screen(pane), within=within)

    def leftovers(self) -> list[str]:
        return [self.tmux(*words) for words in LEFTOVERS]
