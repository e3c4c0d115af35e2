"""Tokens, and plain HTTP requests to a daemon."""

from __future__ import annotations

import http.client
import json
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tests.support.real.rookery import SOON, Rookery


def port_of(rookery: Rookery) -> int:
    return int(rookery.client.get("status")["url"].rpartition(":")[2])


def request(
    rookery: Rookery, method: str, path: str, *, body: bytes | None = None, **headers: str
) -> tuple[int, Any]:
    """Ask through the door on loopback; headers with ``_`` for ``-``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(
        http.client.HTTPConnection("127.0.0.1", port_of(rookery), timeout=SOON)
    ) as door:
        door.request(method, path, body, named)
        answer = door.getresponse()
        assert not [
            each for each in answer.headers if each.lower().startswith("access-control")
        ]
        return answer.status, json.loads(answer.read() or b"null")


def bearer(rookery: Rookery) -> str:
    return f"Bearer {rookery.home.token.read_text()}"


def badge_of(rookery: Rookery, name: str) -> str:
    """Read a session's badge where only its own processes and its user can."""
    pid = rookery.tmux(
        "display-message", "-p", "-t", rookery.session(name)["tmux_pane"], "#{pane_pid}"
    )
    variables = Path(f"/proc/{pid.strip()}/environ").read_bytes().split(b"\0")
    words = dict(each.split(b"=", 1) for each in variables if b"=" in each)
    return words[b"ROOKERY_BADGE"].decode()


def command_lines_with(secret: str) -> list[bytes]:
    """Return the command lines on this computer that hold a secret: any user can read them."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            found.append(file.read_bytes())
    return [each for each in found if secret.encode() in each]
