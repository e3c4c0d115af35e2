"""A program whose input box keeps its words whatever is pressed; it looks like the demo agent.

Run as ``python -I stubborn_program.py [COUNT]`` in a terminal. The first COUNT pastes are read
and thrown away, as by a program that is still loading.
"""

from __future__ import annotations

import os
import re
import sys
import tty

#: What is typed apart from words: the marks around a paste, and keys such as Enter.
_KEYS = re.compile(rb"\x1b\[20[01]~|[\x00-\x1f]")

_RULE = "─" * 40


def main() -> None:
    tty.setraw(0)
    os.write(1, b"\x1b[?2004h")
    box = b""
    discards = int(sys.argv[1]) if sys.argv[1:] else 0
    _show(box)
    while typed := os.read(0, 65536):
        if discards:
            discards -= typed.count(b"\x1b[201~")
            continue
        box += _KEYS.sub(b"", typed)
        _show(box)


def _show(box: bytes) -> None:
    rows = (_RULE, f"❯ {box.decode()}", _RULE)
    os.write(1, ("\x1b[H\x1b[2J" + "\r\n".join(rows)).encode())


main()
