"""Find our panes on the tmux server, whatever session and window they are in now.

A person may rename a tmux session or move a window: each pane carries the name under which it
was made in an option of its own, which goes with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rookery.ports.runtime import Place
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import HUB, Server

#: The pane's own option that holds the name under which it was made.
_OPTION = "@rookery-name"

#: The names that we give; a stranger's session on our server may be called anything.
_OURS = re.compile(r"rk_[0-9a-zA-Z-]{1,8}")

PREFIX = "rk_"

_LISTED = f"#{{pane_id}} #{{pane_pid}} #{{window_id}} x#{{{_OPTION}}} #{{session_name}}"


@dataclass(frozen=True, slots=True)
class PaneRow:
    """One pane in one tmux session; a linked window's panes have a row for each session."""

    pane: str
    pid: int
    window: str
    mark: str  #: the name under which it was made, if it carries that
    session: str  #: the present name of the tmux session

    @property
    def place(self) -> Place:
        return Place(self.mark or self.session, self.pane, self.pid)


async def list_rows(server: Server) -> list[PaneRow]:
    (lines,) = await server.ask(line("list-panes", "-a", "-F", _LISTED))
    return [_read(each.decode(errors="replace")) for each in lines]


def _read(text: str) -> PaneRow:
    pane, pid, window, mark, session = text.split(" ", 4)
    mark = mark.removeprefix("x")
    return PaneRow(pane, int(pid), window, mark if _OURS.fullmatch(mark) else "", session)


def places(rows: Iterable[PaneRow]) -> dict[str, Place]:
    """Return where each of our sessions is, by the name under which it was made."""
    found: dict[str, Place] = {}
    # Marked panes first: a person may have split a window, and the new pane has no mark.
    for row in sorted(rows, key=lambda row: not row.mark):
        if row.mark or row.session.startswith(PREFIX):
            found.setdefault(row.mark or row.session, row.place)
    return found


def is_there(rows: Iterable[PaneRow], place: Place) -> bool:
    """Whether the pane still exists. Its pid counts too: a new server reuses pane ids."""
    return any((row.pane, row.pid) == (place.tmux_pane, place.pid) for row in rows)


def is_cut_off(rows: Iterable[PaneRow], place: Place, window: str) -> bool:
    """Whether ``kill-session`` left the pane alive, only because the hub shows its window.

    A window that was moved into the hub has two rows there, and one that was broken out of
    its window has another id.
    """
    own = [row for row in rows if (row.pane, row.pid) == (place.tmux_pane, place.pid)]
    return len(own) == 1 and own[0].session == HUB and own[0].window == window


def mark(target: str, name: str) -> list[bytes]:
    """Have a pane carry its name; no command at all for a name that is not one of ours."""
    if not _OURS.fullmatch(name):
        return []
    return [line("set-option", "-p", "-t", target, _OPTION, name)]


def kill(place: Place) -> bytes:
    """Kill a pane, unless another program runs there by now."""
    same = f"#{{==:#{{pane_pid}},{place.pid}}}"
    pane = place.tmux_pane
    return line("if-shell", "-F", "-t", pane, same, f"kill-pane -t {pane}")
