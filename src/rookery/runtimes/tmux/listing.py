"""Find Rookery's panes on its tmux server, in whatever session and window they are now.

A person may rename a tmux session or move a window: each pane stores the name under which it
was created in a pane option, which moves with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rookery.runtimes.tmux.places import Place
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import HUB, HUB_MARK, Server

#: The pane option that holds the name under which the pane was created.
_OPTION = "@rookery-name"

#: The option of tmux sessions that Rookery made: it marks its pane there, and a person has
#: split off all others.
_MADE_OPTION = "@rookery-made"

#: The names that Rookery gives; other sessions on its server may have any name.
_OURS = re.compile(r"rk_[0-9a-zA-Z-]{1,8}")

PREFIX = "rk_"

#: Whether a pane runs the hub's own program, wherever a person has moved it.
_IS_HUB = f"#{{m:*{HUB_MARK}*,#{{pane_start_command}}}}"

_LISTED = (
    f"#{{pane_id}} #{{pane_pid}} #{{window_id}} x#{{{_OPTION}}} {_IS_HUB}"
    f" x#{{{_MADE_OPTION}}} #{{session_name}}"
)


@dataclass(frozen=True, slots=True)
class PaneRow:
    """One pane in one tmux session; a linked window's panes have a row for each session."""

    pane: str
    pid: int
    window: str
    mark: str  #: the name under which it was created, if the pane stores one
    is_hub: bool  #: it runs no agent, but the hub's program
    is_made: bool  #: Rookery made the tmux session
    session: str  #: the current name of the tmux session

    @property
    def place(self) -> Place:
        return Place(self.mark or self.session, self.pane, self.pid)


async def list_rows(server: Server) -> list[PaneRow]:
    (lines,) = await server.ask(line("list-panes", "-a", "-F", _LISTED))
    return [_read(each.decode(errors="replace")) for each in lines]


def _read(text: str) -> PaneRow:
    pane, pid, window, option, hub, made, session = text.split(" ", 6)
    mark = option.removeprefix("x")
    mark = mark if _OURS.fullmatch(mark) else ""
    is_hub = hub == "1" and not mark
    return PaneRow(pane, int(pid), window, mark, is_hub, made != "x", session)


def places(rows: Iterable[PaneRow]) -> dict[str, Place]:
    """Return where each of Rookery's sessions is, by the name under which it was created."""
    places: dict[str, Place] = {}
    # Marked panes first: a person may have split a window, and the new pane has no mark.
    for row in sorted(rows, key=lambda row: not row.mark):
        may_be_ours = row.session.startswith(PREFIX) and not (row.is_hub or row.is_made)
        if row.mark or may_be_ours:
            places.setdefault(row.mark or row.session, row.place)
    return places


def is_empty(rows: Iterable[PaneRow]) -> bool:
    """Return whether the server holds only the hub."""
    return all(row.is_hub or (row.session == HUB and not row.mark) for row in rows)


def is_there(rows: Iterable[PaneRow], place: Place) -> bool:
    """Return whether the pane exists. Its pid counts too: a new server reuses pane ids."""
    return any((row.pane, row.pid) == (place.pane, place.pid) for row in rows)


def is_cut_off(rows: Iterable[PaneRow], place: Place, window: str) -> bool:
    """Return whether ``kill-session`` left the pane alive only because of its link to the hub.

    A window that was moved into the hub has two rows there, and a pane that was broken out of
    its window has another window id.
    """
    own = [row for row in rows if (row.pane, row.pid) == (place.pane, place.pid)]
    return len(own) == 1 and own[0].session == HUB and own[0].window == window


def mark(target: str, name: str) -> list[bytes]:
    """Return the command that stores a name in a pane; none if the name is not Rookery's."""
    if not _OURS.fullmatch(name):
        return []
    return [line("set-option", "-p", "-t", target, _OPTION, name)]


def mark_new(name: str) -> list[bytes]:
    """Return the commands that mark a new tmux session and its pane."""
    if not (marked := mark(f"={name}:", name)):
        return []
    return [*marked, line("set-option", "-t", f"={name}:", _MADE_OPTION, "1")]


def kill(place: Place) -> bytes:
    """Return the command that kills a pane unless another program runs there by now."""
    same = f"#{{==:#{{pane_pid}},{place.pid}}}"
    pane = place.pane
    return line("if-shell", "-F", "-t", pane, same, f"kill-pane -t {pane}")
