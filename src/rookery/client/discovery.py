"""Discovery: list tmux panes, and find the agents that run in the user's own."""

from __future__ import annotations

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.sessions import SessionInfo
from rookery.client.transport import Client


class PaneInfo(DaemonAnswer, frozen=True):
    session: str = ""
    server: str = ""
    tmux_session: str = ""
    window: int = 0
    window_name: str = ""
    index: int = 0
    pane: str = ""
    cwd: str = ""
    command: str = ""


class PanesInfo(DaemonAnswer, frozen=True):
    panes: tuple[PaneInfo, ...] = ()


class DiscoveredInfo(DaemonAnswer, frozen=True):
    sessions: tuple[SessionInfo, ...] = ()
    new: tuple[str, ...] = ()


def list_panes(daemon: Client) -> PanesInfo:
    return read(PanesInfo, daemon.get("panes"))


def discover_agents(daemon: Client) -> DiscoveredInfo:
    return read(DiscoveredInfo, daemon.post("discover"))
