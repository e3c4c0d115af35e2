"""Tells the daemon of one hook call of an agent; harmless, silent and quick without it.

Run as ``python -I -S hook.py SOCKET SPOOL AGENT``, with the payload on standard input.
Whatever goes wrong, it exits with 0 and prints nothing: an agent must never suffer from us.
"""

from __future__ import annotations

import _socket  # the bare module: the one around it costs three times as much to import
import os
import sys
import time

#: Seconds for the daemon to take it and say so; then it goes to the spool.
DEADLINE = 2.0

#: The daemon's first word, once what it was told is on disk. What follows is for the agent.
TAKEN = b"taken\n"


def main() -> None:
    door, spool, agent = sys.argv[1:4]
    call = _call(agent, sys.stdin.buffer.read())
    try:
        answer = _tell(door, call)
    except OSError:
        answer = b""
    if answer.startswith(TAKEN):
        sys.stdout.buffer.write(answer[len(TAKEN) :])
    else:
        _spool(spool, call)


def _call(agent: str, payload: bytes) -> bytes:
    """One line that says who calls, then the payload as it came.

    The first word is a key of this very call, so that what is told twice, because a daemon
    died before it could answer, is taken once.
    """
    key = f"{time.time_ns():020d}-{os.urandom(8).hex()}"
    badge = os.environ.get("ROOKERY_BADGE", "")
    pane = os.environ.get("TMUX_PANE", "")
    words = (key, agent, badge or "-", pane or "-", str(os.getppid()))
    return " ".join(words).encode() + b"\n" + payload


def _tell(door: str, call: bytes) -> bytes:
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(DEADLINE)
    connection.connect(door)
    rest = memoryview(call)
    while rest:
        rest = rest[connection.send(rest) :]
    connection.shutdown(_socket.SHUT_WR)
    answer = b""
    while part := connection.recv(65536):
        answer += part
    return answer


def _spool(spool: str, call: bytes) -> None:
    # Its name sorts by time; it appears whole or not at all.
    name = os.path.join(spool, call.split(b" ", 1)[0].decode())  # noqa: PTH118 - pathlib is slow to import
    file = os.open(name + ".part", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "wb") as spooled:
        spooled.write(call)
        spooled.flush()
        os.fsync(file)
    os.rename(name + ".part", name)  # noqa: PTH104 - pathlib is slow to import


if __name__ == "__main__":
    try:
        main()
    except Exception:  # noqa: BLE001 - see the first lines: never to the agent's harm
        sys.exit(0)
