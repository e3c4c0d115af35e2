"""Whatever comes in where hooks come in, the daemon stays up and nobody else is moved."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from rookery.processes import Process
from tests.support.real.forged import listed
from tests.support.real.hook_fuzz import withstand
from tests.support.real.rookery import Rookery, eventually

pytestmark = pytest.mark.real


@pytest.mark.spec("C2", "C4", "C5", "K4")
def test_three_thousand_odd_calls_move_nobody_and_stop_nothing(cold: Rookery) -> None:
    outcome = withstand(cold, seed=1, number=3_000)

    assert set(outcome.calls) == {"taken", "wait", "hung up"}
    assert outcome.calls.total() == 3_000
    assert outcome.parked
    assert outcome.grown < 100_000_000


@pytest.mark.spec("B6", "K4")
def test_a_file_that_makes_no_sense_keeps_no_other_from_being_read(cold: Rookery) -> None:
    folder = cold.folder / ".claude" / "sessions"
    folder.mkdir(parents=True)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as other:
        for number, each in enumerate(SENSELESS):
            file = {**registered(other.pid, "bad"), **each}
            (folder / f"{number}.json").write_text(json.dumps(file))
        cold.up()

        good = registered(os.getpid(), "good")
        (folder / f"{os.getpid()}.json").write_text(json.dumps(good))

        eventually(lambda: "good" in [each["native_id"] for each in listed(cold)])


#: What is wrong in files by which Claude tells of its sessions.
SENSELESS: tuple[dict[str, object], ...] = (
    {"status": "busy", "statusUpdatedAt": 10**400},
    {"status": "busy", "statusUpdatedAt": 10**15},
    {"sessionId": "half \ud83d"},
    {"cwd": "/nul\0"},
    {"pid": 10**400},
)


def registered(pid: int, native_id: str) -> dict[str, object]:
    """Make what Claude writes down of one of its processes."""
    process = Process.of(pid)
    assert process
    started = process.started
    return {"pid": pid, "procStart": started, "sessionId": native_id, "cwd": f"/x/{native_id}"}
