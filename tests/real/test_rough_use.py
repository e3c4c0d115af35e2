"""What users do by mistake: each gives one clear sentence, and no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.rookery import Rookery

pytestmark = [pytest.mark.real, pytest.mark.spec("I5", "K4")]


def typed(rookery: Rookery, *words: str, **how: object) -> subprocess.CompletedProcess[bytes]:
    """Type a command; ``how`` is for the process: its folder, its environment, its input."""
    usual = {"env": rookery.environment, "cwd": rookery.project, "capture_output": True}
    usual |= {"stdin": subprocess.DEVNULL} if "input" not in how else {}
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "rookery", *words], timeout=120, check=False, **{**usual, **how}
    )


def test_a_relative_home_is_the_same_for_a_daemon_in_the_background(cold: Rookery) -> None:
    variables = {**cold.environment, "ROOKERY_HOME": "some/where"}
    cold.environment["ROOKERY_HOME"] = str(cold.project / "some" / "where")

    started = typed(cold, "up", "--detach", env=variables)
    status = typed(cold, "status", env=variables)
    down = typed(cold, "down", env=variables)

    assert started.returncode == 0, started.stderr
    assert f"Home {cold.project}/some/where".encode() in status.stdout
    assert b"Rookery is down." in down.stdout
    assert not Path("/some/where").exists()
