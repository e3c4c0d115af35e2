"""The quick hook program, which the daemon builds where there is a C compiler."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from rookery import hook_program, quick_hook
from tests.real.rookery import Rookery, eventually

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]


@pytest.mark.spec("C3")
def test_hooks_run_the_quick_program_once_the_daemon_has_built_it(cold: Rookery) -> None:
    old = cold.home.state / "hook-of-another-version"
    cold.home.prepare()
    old.touch()
    cold.up()
    eventually(lambda: os.access(quick_hook.path(cold.home), os.X_OK))
    cold.home.hook.write_bytes(b"not a program: the quick one needs none")

    payload = {"hook_event_name": "SessionStart", "session_id": "n1", "cwd": str(cold.project)}
    done = subprocess.run(
        ["/bin/sh", "-c", hook_program.command(cold.home, "demo")],
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert [each["native_id"] for each in cold.client.get("sessions")["sessions"]] == ["n1"]
    eventually(lambda: not old.exists())
