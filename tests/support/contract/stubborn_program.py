"""A program whose input box keeps its words whatever is pressed; it looks like the demo agent.

Run as ``python -I stubborn_program.py`` in a terminal.
"""

from __future__ import annotations

import os
import re
import tty

#: What is typed apart from words: the marks around a paste, and keys such as Enter.
_KEYS = re.compile(rb"\x1b\[20[01]~|[\x00-\x1f]")

_RULE = "─" * 40


def main() -> None:
    tty.setraw(0)
    os.write(1, b"\x1b[?2004h")
    box = b""
    _show(box)
    while typed := os.read(0, 65536):
        box += _KEYS.sub(b"", typed)
        _show(box)


def _show(box: bytes) -> None:
    rows = (_RULE, f"❯ {box.decode()}", _RULE)
    os.write(1, ("\x1b[H\x1b[2J" + "\r\n".join(rows)).encode())


main()
