"""Presses keys and types text into an open dialog, and stores a receipt in the pane.

The receipt outlives the daemon: a step taken just before a crash is not taken again.
"""

from __future__ import annotations

from rookery.model.screens import Press
from rookery.runtimes.tmux import safe_input
from rookery.runtimes.tmux.formats import literal
from rookery.runtimes.tmux.protocol import command, line
from rookery.runtimes.tmux.server import AnyServer

#: Pane option: the receipt of the last step that was taken in a dialog.
PRESSED = "@rookery-pressed"


async def press_in_dialog(server: AnyServer, pane: str, press: Press, *, receipt: str) -> None:
    """Take one step in the dialog of a pane."""
    noted = line("set-option", "-p", "-t", pane, PRESSED, receipt)
    # In one write, which tmux gets whole or not at all if the daemon dies.
    if press.words:
        await _type(server, pane, press.words, noted)
    else:
        names = [safe_input.KEYS[key] for key in press.keys]
        await server.ask(
            line("copy-mode", "-q", "-t", pane), line("send-keys", "-t", pane, *names), noted
        )


async def _type(server: AnyServer, pane: str, words: str, noted: bytes) -> None:
    file = safe_input.written(server.site.folder, words)
    try:
        await server.ask(line("load-buffer", "-b", file.name, literal(str(file))))
    finally:
        file.unlink(missing_ok=True)
    # tmux 3.3 crashes, with all its panes, on a paste into a dead pane: tmux/tmux#3830.
    dropped = command("delete-buffer", "-b", file.name)
    typed = command("paste-buffer", "-d", "-p", "-r", "-b", file.name, "-t", pane)
    await server.ask(
        line("copy-mode", "-q", "-t", pane),
        line("if-shell", "-F", "-t", pane, "#{pane_dead}", dropped, typed),
        noted,
    )


async def last_receipt(server: AnyServer, pane: str) -> str:
    """Return the receipt of the last step that was taken in a dialog of the pane."""
    (receipt,) = await server.ask(line("display-message", "-p", "-t", pane, f"#{{{PRESSED}}}"))
    return b"".join(receipt).decode(errors="replace").strip()
