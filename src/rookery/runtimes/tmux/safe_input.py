"""Put text and keys into a pane: exactly, once, and never into a dialog.

Text goes through a private file and a tmux buffer, never on a command line.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from rookery.model.errors import Occupied, RuntimeFailed, WordsRefused
from rookery.model.messages import MAX_LINE_BYTES, Parcel, folded
from rookery.model.obstacles import BlockedReason
from rookery.model.screens import View
from rookery.model.short_texts import shortened
from rookery.runtimes.tmux.captures import (
    ENTERED,
    ENTERS,
    MARK_OPTION,
    PASTED,
    PASTES,
    SHOWN_OPTION,
    PaneSnapshot,
)
from rookery.runtimes.tmux.formats import literal
from rookery.runtimes.tmux.panes import Pane
from rookery.runtimes.tmux.protocol import command, line
from rookery.runtimes.tmux.server import AnyServer

#: The tmux name of each key (``model.keys.KEY_NAMES``).
KEYS = {
    "enter": "Enter",
    "escape": "Escape",
    "esc": "Escape",
    "tab": "Tab",
    "shift-tab": "BTab",
    "space": "Space",
    "backspace": "BSpace",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "home": "Home",
    "end": "End",
    "page-up": "PageUp",
    "page-down": "PageDown",
    **{f"ctrl-{letter}": f"C-{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"},
    **{digit: digit for digit in "0123456789"},
    **{letter: letter for letter in "yn"},
}


#: Characters of a dialog that are quoted in the reason why a message waits.
SHOWN_CHARACTERS = 160

_SUSPENDED = "it was suspended with ctrl-z; SIGCONT to its process makes it continue."


def require_free(around: PaneSnapshot, view: View | None, *, typing_since: float) -> None:
    """Raise ``Occupied`` if a key pressed now could do harm.

    ``typing_since``: a key that a person pressed after this moment means that they are typing.
    """
    if around.in_mode:
        raise Occupied(BlockedReason.SCROLLING, "a person scrolls in the pane.")
    if around.is_synchronized:
        raise synchronized()
    if around.typed_at > typing_since:
        raise Occupied(BlockedReason.TYPING, "a person typed there just now.")
    if view:
        _require_visible_box(view)


def _require_visible_box(view: View) -> None:
    """Raise ``Occupied`` if keys would not reach the input box."""
    if view.is_suspended:
        raise Occupied(BlockedReason.SUSPENDED, _SUSPENDED)
    if view.dialog:
        text = shortened(view.dialog.text, SHOWN_CHARACTERS)
        raise Occupied(BlockedReason.DIALOG, f"a dialog is open: {text}.")
    if view.obstacle:
        raise Occupied(BlockedReason.OVERLAY, f"{view.obstacle}.")
    if view.box is None:
        raise Occupied(BlockedReason.NO_INPUT, "its input box cannot be seen.")


def check_words(pane: Pane, words: str) -> None:
    """Raise ``WordsRefused`` for text that would not arrive unchanged."""
    if reason := pane.agent.input.why_not(words):
        raise WordsRefused(reason)
    if pane.agent.screen or pane.takes_brackets:
        return
    if "\n" in words:
        raise WordsRefused("this program takes one line at a time.")
    if len(words.encode()) > MAX_LINE_BYTES:
        raise WordsRefused(f"this program takes at most {MAX_LINE_BYTES:,} bytes at a time.")


def fitted(pane: Pane, parcel: Parcel) -> str:
    """Return a parcel's text as its program accepts it. Raises ``WordsRefused``.

    What a person wrote is typed unchanged or not at all. Text that Rookery composed, such as a
    name with an answer below it, is folded into one line for a program that takes only lines.
    """
    takes_lines_only = not (pane.agent.screen or pane.takes_brackets)
    if takes_lines_only and parcel.is_composed:
        return folded(parcel.words)
    check_words(pane, parcel.words)
    return parcel.words


async def paste(  # noqa: PLR0913 - what is stored with the paste
    server: AnyServer, pane: str, words: str, *, receipt: str, mark: str = "", number: int = 1
) -> None:
    """Paste text into a pane; as a bracketed paste if the program has asked for that.

    The receipt, the mark, and how often the text was pasted are stored in the pane.
    """
    file = written(server.site.folder, words)
    try:
        await server.ask(line("load-buffer", "-b", file.name, literal(str(file))))
    finally:
        file.unlink(missing_ok=True)
    # tmux 3.3 crashes, with all its panes, on a paste into a dead pane: tmux/tmux#3830.
    if_dead = ("-F", "-t", pane, "#{pane_dead}")
    dropped = command("delete-buffer", "-b", file.name)
    message = command("display-message", "-p", "its program has ended")
    typed = command("paste-buffer", "-d", "-p", "-r", "-b", file.name, "-t", pane)
    options = {PASTED: receipt, PASTES: str(number), MARK_OPTION: mark}
    noted = " ; ".join(
        command("set-option", "-p", "-t", pane, name, value) for name, value in options.items()
    )
    # In one write, which tmux gets whole or not at all if the daemon dies.
    _, has_ended = await server.ask(
        # A person may have begun to scroll at this moment: copy mode would take the keys.
        line("copy-mode", "-q", "-t", pane),
        line("if-shell", *if_dead, f"{dropped} ; {message}", f"{typed} ; {noted}"),
    )
    if has_ended:
        raise program_ended()


async def note_shown(server: AnyServer, pane: str, *, receipt: str) -> None:
    """Store in the pane that this message was seen in its box."""
    await server.ask(line("set-option", "-p", "-t", pane, SHOWN_OPTION, receipt))


async def enter(server: AnyServer, pane: str, *, receipt: str, number: int) -> None:
    """Press Enter, and store in the pane on which message, and how often."""
    await server.ask(
        line("copy-mode", "-q", "-t", pane),
        line("send-keys", "-t", pane, "Enter"),
        line("set-option", "-p", "-t", pane, ENTERED, receipt),
        line("set-option", "-p", "-t", pane, ENTERS, str(number)),
    )


async def press(server: AnyServer, pane: str, *keys: str) -> None:
    names = [KEYS[key] for key in keys]
    await server.ask(
        line("copy-mode", "-q", "-t", pane),
        line("send-keys", "-t", pane, *names),
    )


def synchronized() -> Occupied:
    """Return the error for a pane in the user's own tmux that shares its keys with others."""
    text = "what is typed there goes to other panes, too."
    return Occupied(BlockedReason.SYNCHRONIZED, text)


def program_ended() -> Occupied:
    return Occupied(BlockedReason.ENDED, "its program has ended.")


def written(folder: Path, words: str) -> Path:
    """Write text to a private file for tmux to read. Raises ``RuntimeFailed``."""
    file = folder / f"words-{secrets.token_hex(8)}"
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as private:
            private.write(words.encode())
    except OSError as error:
        with suppress(OSError):
            file.unlink()  # a partial file that nothing else would delete
        raise RuntimeFailed(f"the text for tmux: {error.strerror}.") from error
    return file
