"""Discovery: the panes of the user's tmux servers."""

from __future__ import annotations

from rookery.client.answers import Answer, read
from rookery.client.sessions import Session
from rookery.client.transport import Client


class Pane(Answer, frozen=True):
    session: str = ""
    server: str = ""
    tmux_session: str = ""
    window: int = 0
    window_name: str = ""
    index: int = 0
    pane: str = ""
    cwd: str = ""
    command: str = ""


class Panes(Answer, frozen=True):
    panes: tuple[Pane, ...] = ()


class Discovered(Answer, frozen=True):
    sessions: tuple[Session, ...] = ()
    new: tuple[str, ...] = ()


def list_panes(daemon: Client) -> Panes:
    return read(Panes, daemon.get("panes"))


def discover_agents(daemon: Client) -> Discovered:
    return read(Discovered, daemon.post("discover"))
