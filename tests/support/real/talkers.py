"""Programs without hooks that talk in relays."""

from __future__ import annotations

import sys
from typing import Any

from tests.support.paths import SUPPORT
from tests.support.real.rookery import Rookery, eventually

TALKER = SUPPORT / "real" / "talker.py"


def start_talker(rookery: Rookery, name: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-I", str(TALKER), name, *options]
    session = rookery.start(name, agent="shell", command=command)
    eventually(lambda: "[0 done] >" in rookery.screen(name))
    return session


def relay(rookery: Rookery, *names: str) -> None:
    members = [{"session": name} for name in names]
    body = {"members": members, "max_hops": 100, "max_a_minute": 1_000}
    status, answer = rookery.post("/v1/relays", body)
    assert status == 200, answer


def relayed(rookery: Rookery) -> list[tuple[str, str]]:
    """Return what was relayed, in its order, and how far it has come."""
    with rookery.database() as db:
        rows = db.execute(
            "select words, step from messages where relay is not null order by id"
        )
        return [(row[0], row[1]) for row in rows]
