"""The demo agent's hooks, as children."""

from __future__ import annotations

import select
import time
from pathlib import Path

import pytest

from rookery.programs.demo.hooks import Hooks
from rookery.programs.demo.settings import Command
from rookery.programs.demo.verdicts import SILENCE, Hearing, Ruling, Verdict


def shell(script: str, timeout: float = 20.0) -> Command:
    return Command(("sh", "-c", script), timeout)


def finish(hooks: Hooks, *hearings: Hearing) -> None:
    """Wait for the hooks, and fail if they take too long."""
    deadline = time.monotonic() + 10
    while any(hearing.verdict is None for hearing in hearings):
        assert time.monotonic() < deadline
        select.select(*hooks.pipes(), [], 0.02)
        hooks.advance(time.monotonic())


def test_a_hook_reads_its_payload_and_decides() -> None:
    hooks = Hooks({"Stop": (shell("cat"),)})

    heard = hooks.tell("Stop", b'{"decision": "block", "reason": "more"}', time.monotonic())
    finish(hooks, heard)

    assert heard.verdict == Verdict(Ruling.BLOCK, "more")


def test_an_event_that_nobody_wants_is_heard_at_once() -> None:
    heard = Hooks({}).tell("Stop", b"{}", 0)

    assert heard.verdict == SILENCE


@pytest.mark.parametrize(
    "command",
    [
        shell('echo \'{"decision": "block"}\'; exit 1'),
        shell('echo \'{"decision": "block"}\'; exit 2'),
        shell("exec sleep 60", timeout=0.05),
        shell("exec <&-; exit 0"),
        Command(("/nowhere/at/all",), 20.0),
    ],
)
def test_a_hook_that_fails_decides_nothing(command: Command) -> None:
    hooks = Hooks({"Stop": (command,)})

    heard = hooks.tell("Stop", b"x" * 500_000, time.monotonic())
    finish(hooks, heard)

    assert heard.verdict == SILENCE
    assert hooks.is_idle


def test_the_first_command_that_decides_decides() -> None:
    commands = (
        shell("true"),
        shell('echo \'{"decision": "block", "reason": "a"}\''),
        shell('echo \'{"decision": "block", "reason": "b"}\''),
    )
    hooks = Hooks({"Stop": commands})

    heard = hooks.tell("Stop", b"", time.monotonic())
    finish(hooks, heard)

    assert heard.verdict == Verdict(Ruling.BLOCK, "a")


def test_hooks_run_one_after_the_other(tmp_path: Path) -> None:
    log = tmp_path / "log"
    hooks = Hooks(
        {"Stop": (shell(f"sleep 0.1; cat >> {log}"),), "Next": (shell(f"cat >> {log}"),)}
    )

    first = hooks.tell("Stop", b"first ", time.monotonic())
    second = hooks.tell("Next", b"second", time.monotonic())
    finish(hooks, first, second)

    assert log.read_text() == "first second"


def test_nobody_waits_for_a_hook_that_runs_alongside(tmp_path: Path) -> None:
    log = tmp_path / "log"
    hooks = Hooks({"Ask": (shell("exec sleep 60"),), "Next": (shell(f"cat >> {log}"),)})

    asked = hooks.tell("Ask", b"", time.monotonic(), alongside=True)
    told = hooks.tell("Next", b"told", time.monotonic())
    finish(hooks, told)

    assert log.read_text() == "told"
    assert asked.verdict is None
    assert hooks.is_idle
    hooks.abandon()
    finish(hooks, asked)


def test_a_large_payload_arrives_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    hooks = Hooks({"Stop": (shell(f"cat > {log}"),)})
    payload = b"0123456789" * 200_000

    finish(hooks, hooks.tell("Stop", payload, time.monotonic()))

    assert log.read_bytes() == payload
