"""A program that passes on every byte which is typed to it, as it comes.

Run as ``python -I raw_reader.py SOCKET [brackets]`` in a terminal. It begins once the socket
says so; whatever came after the last Enter stands, as far as its screen shows, in a box.
"""

from __future__ import annotations

import os
import socket
import sys
import tty

_ASK_FOR_BRACKETS = "\x1b[?2004h"


def main() -> None:
    ears = socket.socket(socket.AF_UNIX)
    ears.connect(sys.argv[1])
    ears.recv(1)
    tty.setraw(0)
    if "brackets" in sys.argv[2:]:
        _write(_ASK_FOR_BRACKETS)
    box = ""
    _show("empty")
    while typed := os.read(0, 65536):
        now = "empty" if typed.endswith(b"\r") else "full"
        if now != box:  # not at every piece of a megabyte
            _show(now)
        box = now
        ears.sendall(typed)


def _show(box: str) -> None:
    _write(f"\x1b[H\x1b[Kbox: {box}")


def _write(text: str) -> None:
    os.write(1, text.encode())


main()
