"""Put a text on the user's clipboard: by a program, by tmux, or through the terminal."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from rookery.model.errors import CommandRefused

#: Bytes that most terminals accept by OSC 52: 100,000 characters of base64.
MAX_OSC52_BYTES = 74_994

#: Seconds for a clipboard program to read the text.
PROGRAM_TIMEOUT_S = 5.0

#: Clipboard programs, each with the variable of the display that it needs.
_PROGRAMS = (
    ("pbcopy", "", ("pbcopy",)),
    ("wl-copy", "WAYLAND_DISPLAY", ("wl-copy",)),
    ("xclip", "DISPLAY", ("xclip", "-selection", "clipboard")),
    ("xsel", "DISPLAY", ("xsel", "--clipboard", "--input")),
)

_TMUX = ("tmux", "load-buffer", "-w", "-")


def copy_text(text: str, environment: Mapping[str, str], terminal: Path) -> str:
    """Copy a text and return by what means. Raises ``CommandRefused`` if there are none.

    Over SSH, only the terminal reaches the clipboard of the user's own computer.
    """
    content = text.encode()
    if "SSH_CONNECTION" not in environment and "SSH_TTY" not in environment:
        for name, argv in _usable(environment):
            if _run(argv, content):
                return name
    return _through_terminal(content, environment, terminal)


def _usable(environment: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, display, argv in _PROGRAMS:
        has_display = not display or environment.get(display)
        if has_display and shutil.which(name, path=environment.get("PATH")):
            yield name, argv


def _run(argv: tuple[str, ...], content: bytes) -> bool:
    """Pass the text to a program. Returns whether the program succeeded."""
    with suppress(OSError, subprocess.SubprocessError):
        # No pipes for its output: wl-copy and xclip stay in the background and keep them open.
        done = subprocess.run(
            argv,
            input=content,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PROGRAM_TIMEOUT_S,
            check=False,
        )
        return done.returncode == 0
    return False


def _through_terminal(content: bytes, environment: Mapping[str, str], terminal: Path) -> str:
    try:
        descriptor = os.open(terminal, os.O_WRONLY | os.O_NOCTTY)
    except OSError:
        raise CommandRefused(
            "There is no terminal and no usable clipboard program (wl-copy, xclip, xsel or"
            " pbcopy). Print it instead:  --print"
        ) from None
    try:
        if len(content) > MAX_OSC52_BYTES:
            raise CommandRefused(
                f"The text has {len(content):,} bytes, and terminals accept at most"
                f" {MAX_OSC52_BYTES:,} by OSC 52. Print it instead:  --print"
            )
        # tmux ignores OSC 52 of programs by default, but sends its own buffers to the terminal.
        if environment.get("TMUX") and _run(_TMUX, content):
            return "tmux, OSC 52"
        _write_all(descriptor, osc52(content, in_tmux=bool(environment.get("TMUX"))))
    finally:
        os.close(descriptor)
    return "OSC 52"


def osc52(content: bytes, *, in_tmux: bool) -> bytes:
    """Return the sequence that sets the clipboard; base64 keeps control characters out."""
    sequence = b"\x1b]52;c;" + base64.b64encode(content) + b"\x07"
    return b"\x1bPtmux;\x1b" + sequence + b"\x1b\\" if in_tmux else sequence


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
