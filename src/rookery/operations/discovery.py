"""Operations on the user's own tmux: list its panes, and look for agents."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

from rookery.model.errors import CommandRefused
from rookery.model.sessions import Session
from rookery.operations.context import Caller, Context
from rookery.operations.operation import Nothing
from rookery.runtimes.tmux.user_servers import ListedPane
from rookery.store import sessions


@dataclass(frozen=True, slots=True)
class PaneShown:
    session: str  #: the name of the session that runs there, if there is one
    server: str  #: the socket of its tmux server
    tmux_session: str
    window: int
    window_name: str
    index: int
    pane: str
    cwd: str
    command: str


@dataclass(frozen=True, slots=True)
class Panes:
    panes: list[PaneShown]


@dataclass(frozen=True, slots=True)
class Discovered:
    sessions: list[Session]  #: all sessions that are observed now
    new: list[str]  #: the names of sessions that were not known before


async def list_panes(context: Context, caller: Caller, params: Nothing) -> Panes:
    """List the panes of the user's tmux servers and of Rookery's, and their sessions."""
    listed = await context.discovery.list_all()
    live = await context.database.read(sessions.live)
    own_socket = str(context.home.tmux)
    names = {(each.tmux_server or own_socket, each.tmux_pane): each.name for each in live}
    return Panes([_shown(each, names.get((each.server, each.pane), "")) for each in listed])


def _shown(pane: ListedPane, name: str) -> PaneShown:
    return PaneShown(
        session=name,
        server=pane.server,
        tmux_session=pane.session,
        window=pane.window,
        window_name=pane.window_name,
        index=pane.index,
        pane=pane.pane,
        cwd=pane.cwd,
        command=pane.command,
    )


async def discover(context: Context, caller: Caller, params: Nothing) -> Discovered:
    """Search the user's tmux servers for agents now."""
    if not context.settings.discovery.enabled:
        raise CommandRefused("The configuration has discovery.enabled = false.")
    before = {each.id for each in await context.database.read(_observed)}
    await context.discovery.discover()
    observed = await context.database.read(_observed)
    return Discovered(observed, [each.name for each in observed if each.id not in before])


def _observed(db: Connection) -> list[Session]:
    return [each for each in sessions.live(db) if each.has_terminal and not each.is_ours]
