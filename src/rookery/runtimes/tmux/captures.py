"""What a pane shows, read in a way that the pane's own text cannot disturb.

What a program prints may look like tmux speaking. So a screen never comes back on the line
on which tmux answers: it goes through a buffer into a file of our own.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rookery.model.errors import ScreenUnread
from rookery.model.screens import Screen, read_styled
from rookery.runtimes.tmux.formats import literal
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import AnyServer

#: Options of the pane: what we typed is known as long as it lives, whoever asks.
PASTED, ENTERED = "@rookery-pasted", "@rookery-entered"

#: The receipt of the words that were last seen in the box.
SHOWN = "@rookery-shown"

#: How often Enter was pressed on those last words.
ENTERS = "@rookery-enters"

#: And where: what was printed since is found by it.
MARK = "@rookery-mark"

_PLACE = f"#{{history_size}} #{{history_limit}} #{{cursor_y}} #{{alternate_on}} #{{{MARK}}}"

#: So often a pane that moves while it is read is read again.
TRIES = 5

_ASKED = " ".join(
    f"#{{{name}}}"
    for name in ("pane_in_mode", "pane_synchronized", PASTED, ENTERED, ENTERS, SHOWN)
)


@dataclass(frozen=True, slots=True)
class PaneSnapshot:
    """All that matters before a key is pressed in a pane."""

    screen: Screen
    in_mode: bool  #: somebody scrolls or searches; keys would not reach the program
    is_synchronized: bool  #: keys would reach the other panes of its window, too
    typed_at: int  #: when a person last pressed a key there, in seconds since 1970, or 0
    pasted: str  #: the receipt of the words that were last put into the box
    entered: str  #: the receipt of the words on which Enter was last pressed
    enters: int = 0  #: how often it was pressed on them
    shown: str = ""  #: the receipt of the words that were last seen in the box


async def read_screen(
    server: AnyServer, pane: str, *, history: bool = False
) -> tuple[str, ...]:
    """Return the pane's lines; with ``history``, all that tmux remembers, unwrapped."""
    text, _ = await _captured(server, pane, ("-S", "-", "-J") if history else ())
    return tuple(text.split("\n"))


@dataclass(frozen=True, slots=True)
class Roll:
    """What a pane shows and remembers, down to its cursor."""

    lines: tuple[str, ...]  #: unwrapped; the last is the one that the cursor is on
    limit: int  #: lines that it may remember
    is_full: bool  #: it may have forgotten some
    is_full_screen: bool  #: its program draws a whole screen, of which nothing is remembered
    mark: str  #: as it was left there


async def read_roll(server: AnyServer, pane: str, *, history: bool = True) -> Roll:
    """Return the lines down to the cursor; without ``history``, of its screen only."""
    place = await _place(server, pane)
    for _ in range(TRIES):
        size, limit, row, alternate, mark = place
        options = ("-J", *(("-S", "-") if history else ()), "-E", row)
        asked = line("display-message", "-p", "-t", pane, _PLACE)
        text, ((answer, *_),) = await _captured(server, pane, options, asked)
        before, place = place, _words(answer)
        if place == before:
            break
    lines = tuple(each.rstrip() for each in text.split("\n"))
    # Once it is full, a tenth is forgotten: so full it then stays, unless it is cleared.
    is_full = int(size) >= int(limit) - max(int(limit) // 10, 1)
    return Roll(lines, int(limit), is_full, alternate == "1", mark)


async def read_foot(server: AnyServer, pane: str) -> tuple[str, ...]:
    """Return the line that the cursor is on, and what stands below it."""
    _, _, row, _, _ = await _place(server, pane)
    text, _ = await _captured(server, pane, ("-J", "-S", row))
    return tuple(each.rstrip() for each in text.split("\n"))


async def _place(server: AnyServer, pane: str) -> list[str]:
    asked = line("display-message", "-p", "-t", pane, _PLACE)
    ((answer, *_),) = await server.ask(asked)
    return _words(answer)


def _words(answer: bytes) -> list[str]:
    return answer.decode(errors="replace").split(" ")


async def look_around(server: AnyServer, pane: str) -> PaneSnapshot:
    clients = line("list-clients", "-F", "#{client_control_mode} #{client_activity} #{pane_id}")
    asked = line("display-message", "-p", "-t", pane, _ASKED)
    text, ((answer, *_), people) = await _captured(server, pane, ("-e",), asked, clients)
    mode, synchronized, pasted, entered, enters, shown = answer.decode().split(" ")
    return PaneSnapshot(
        screen=read_styled(text),
        in_mode=mode != "0",
        is_synchronized=synchronized == "1",
        typed_at=_last_key(people, pane),
        pasted=pasted,
        entered=entered,
        enters=int(enters or bool(entered)),  # a pane of an earlier version tells no number
        shown=shown,
    )


async def _captured(
    server: AnyServer, pane: str, options: tuple[str, ...], *more: bytes
) -> tuple[str, list[tuple[bytes, ...]]]:
    """Return what a pane shows, and the answers to what is asked in the same go."""
    if server.tells_apart:
        # No buffer, not even for a moment: it is somebody else's, who might paste it.
        shown, *answers = await server.ask(
            line("capture-pane", "-p", "-t", pane, *options), *more
        )
        return b"\n".join(shown).decode(errors="replace"), answers
    with _passing_file(server.site.folder) as file:
        _, _, _, *answers = await server.ask(*_capture(pane, file, options), *more)
        return _text(file), answers


def _capture(pane: str, file: Path, options: tuple[str, ...]) -> tuple[bytes, ...]:
    buffer = file.name
    return (
        line("capture-pane", "-b", buffer, "-t", pane, *options),
        line("save-buffer", "-b", buffer, literal(str(file))),
        line("delete-buffer", "-b", buffer),
    )


def _last_key(clients: tuple[bytes, ...], pane: str) -> int:
    answers = (client.decode().split(" ") for client in clients)
    return max(
        (int(at) for control, at, shown in answers if control != "1" and shown == pane),
        default=0,
    )


@contextmanager
def _passing_file(folder: Path) -> Iterator[Path]:
    file = folder / f"pass-{secrets.token_hex(8)}"
    try:
        yield file
    finally:
        with suppress(OSError):  # where nothing can be written, it was never made
            file.unlink()


def _text(file: Path) -> str:
    said = file.read_bytes().decode(errors="replace")
    if not said.endswith("\n"):  # tmux does not say so when it could write a part only
        raise ScreenUnread
    return said.removesuffix("\n")
