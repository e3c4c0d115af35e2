"""Read what a pane shows, in a way that the pane's own text cannot disturb.

A program may print text that looks like tmux's control protocol. So a screen is never read from
the control line: it goes through a tmux buffer into a private file.
"""

from __future__ import annotations

import array
import fcntl
import os
import secrets
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rookery.model.errors import ScreenUnread
from rookery.model.screens import Screen, read_styled
from rookery.runtimes.tmux.formats import literal
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import AnyServer

#: Pane options: they keep the receipts as long as the pane lives, also for a later daemon.
PASTED, ENTERED = "@rookery-pasted", "@rookery-entered"

#: The receipt of the message last seen in the box.
SHOWN_OPTION = "@rookery-shown"

#: How often Enter was pressed on that last message.
ENTERS = "@rookery-enters"

#: How often the last message was pasted.
PASTES = "@rookery-pastes"

#: Where the message was typed: what was printed since is found by it.
MARK_OPTION = "@rookery-mark"

_PLACE = (
    f"#{{history_size}} #{{history_limit}} #{{cursor_y}} #{{alternate_on}} #{{{MARK_OPTION}}}"
)

#: How often a pane that changes while it is read is read again.
MAX_CAPTURES = 5

_ASKED = " ".join(
    f"#{{{name}}}"
    for name in (
        *("pane_in_mode", "pane_synchronized", "pane_tty"),
        *(PASTED, PASTES, ENTERED, ENTERS, SHOWN_OPTION),
    )
)


@dataclass(frozen=True, slots=True)
class PaneSnapshot:
    """The state of a pane that matters before a key is pressed."""

    screen: Screen
    in_mode: bool  #: a person scrolls or searches (copy mode); keys would not reach the program
    is_synchronized: bool  #: keys would also reach the other panes of the window
    typed_at: int  #: when a person last pressed a key there, in seconds since 1970; 0 if never
    pasted: str  #: the receipt of the message last pasted into the box
    entered: str  #: the receipt of the message on which Enter was last pressed
    enters: int = 0  #: how often it was pressed on that message
    shown: str = ""  #: the receipt of the message last seen in the box
    pastes: int = 1  #: how often the last message was pasted
    tty: str = ""  #: the terminal device of the program
    takes_lines: bool = False  #: the terminal passes on whole lines: its program reads no keys


async def read_screen(
    server: AnyServer, pane: str, *, history: bool = False
) -> tuple[str, ...]:
    """Return the pane's lines; with ``history``, the whole scrollback, unwrapped."""
    text, _ = await _captured(server, pane, ("-S", "-", "-J") if history else ())
    return tuple(text.split("\n"))


@dataclass(frozen=True, slots=True)
class PaneText:
    """A pane's screen and scrollback, down to the cursor."""

    lines: tuple[str, ...]  #: unwrapped; the last is the cursor's line
    limit: int  #: lines that the scrollback may hold
    is_full: bool  #: old lines may have been dropped
    is_full_screen: bool  #: the program uses the alternate screen, which has no scrollback
    mark: str  #: as stored in the pane


async def read_roll(server: AnyServer, pane: str, *, history: bool = True) -> PaneText:
    """Return the lines down to the cursor; without ``history``, only lines of the screen."""
    place = await _place(server, pane)
    for _ in range(MAX_CAPTURES):
        size, limit, row, alternate, mark = place
        options = ("-J", *(("-S", "-") if history else ()), "-E", row)
        question = line("display-message", "-p", "-t", pane, _PLACE)
        text, ((answer, *_),) = await _captured(server, pane, options, question)
        before, place = place, _fields(answer)
        if place == before:
            break
    lines = tuple(each.rstrip() for each in text.split("\n"))
    # tmux drops a tenth of a full scrollback, so it stays this full unless it is cleared.
    is_full = int(size) >= int(limit) - max(int(limit) // 10, 1)
    return PaneText(lines, int(limit), is_full, alternate == "1", mark)


async def read_foot(server: AnyServer, pane: str) -> tuple[str, ...]:
    """Return the cursor's line and the lines below it."""
    _, _, row, _, _ = await _place(server, pane)
    text, _ = await _captured(server, pane, ("-J", "-S", row))
    return tuple(each.rstrip() for each in text.split("\n"))


async def _place(server: AnyServer, pane: str) -> list[str]:
    question = line("display-message", "-p", "-t", pane, _PLACE)
    ((answer, *_),) = await server.ask(question)
    return _fields(answer)


def _fields(answer: bytes) -> list[str]:
    return answer.decode(errors="replace").split(" ")


async def look_around(server: AnyServer, pane: str) -> PaneSnapshot:
    clients = line("list-clients", "-F", "#{client_control_mode} #{client_activity} #{pane_id}")
    question = line("display-message", "-p", "-t", pane, _ASKED)
    text, ((answer, *_), people) = await _captured(server, pane, ("-e",), question, clients)
    mode, synchronized, tty, pasted, pastes, entered, enters, shown = answer.decode().split(" ")
    return PaneSnapshot(
        screen=read_styled(text),
        in_mode=mode != "0",
        is_synchronized=synchronized == "1",
        typed_at=_last_key(people, pane),
        pasted=pasted,
        entered=entered,
        enters=int(enters or bool(entered)),  # panes of an earlier version have no count
        shown=shown,
        pastes=int(pastes or 1),
        tty=tty,
        takes_lines=takes_lines(tty),
    )


def unread_bytes(tty: str) -> int | None:
    """Return how much input a program has not read from its terminal; none if unknown."""
    try:
        with _opened(tty) as terminal:
            count = array.array("i", [0])
            fcntl.ioctl(terminal, termios.FIONREAD, count)
    except OSError:
        return None
    return count[0]


def takes_lines(tty: str) -> bool:
    """Return whether a terminal passes on whole lines, as it does before a program uses it.

    A program that reads single keys has switched that off. False if it is unknown.
    """
    try:
        with _opened(tty) as terminal:
            _, _, _, local_modes, *_ = termios.tcgetattr(terminal)
    except (OSError, termios.error):
        return False
    return bool(local_modes & termios.ICANON)


@contextmanager
def _opened(tty: str) -> Iterator[int]:
    """Open a terminal device without making it the daemon's own. Raises ``OSError``."""
    terminal = os.open(tty, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield terminal
    finally:
        os.close(terminal)


async def _captured(
    server: AnyServer, pane: str, options: tuple[str, ...], *more: bytes
) -> tuple[str, list[tuple[bytes, ...]]]:
    """Return what a pane shows, and the answers to commands sent in the same batch."""
    if server.tells_apart:
        # Use no buffer, even briefly: on the user's own server the user might paste it.
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
        with suppress(OSError):  # if the folder is not writable, it was never created
            file.unlink()


def _text(file: Path) -> str:
    output = file.read_bytes().decode(errors="replace")
    if not output.endswith("\n"):  # tmux does not report a partial write
        raise ScreenUnread
    return output.removesuffix("\n")
