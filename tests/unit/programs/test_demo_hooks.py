"""The demo agent's hooks: their child processes and their decisions."""

from __future__ import annotations

import json
import select
import time
from pathlib import Path

import pytest

from rookery.programs.demo.hooks import (
    NO_DECISION,
    Decision,
    HookCall,
    HookCommand,
    Hooks,
    Ruling,
    read_decision,
)


def shell(script: str, timeout: float = 20.0) -> HookCommand:
    return HookCommand(("sh", "-c", script), timeout)


def finish(hooks: Hooks, *calls: HookCall) -> None:
    """Wait for the hooks, and fail if they take too long."""
    deadline = time.monotonic() + 10
    while any(call.decision is None for call in calls):
        assert time.monotonic() < deadline
        select.select(*hooks.pipes, [], 0.02)
        hooks.advance()


def test_a_hook_reads_its_payload_and_decides() -> None:
    hooks = Hooks({"Stop": (shell("cat"),)}, time.monotonic)

    call = hooks.run("Stop", b'{"decision": "block", "reason": "more"}')
    finish(hooks, call)

    assert call.decision == Decision(Ruling.BLOCK, "more")


def test_an_event_without_commands_is_decided_at_once() -> None:
    call = Hooks({}, time.monotonic).run("Stop", b"{}")

    assert call.decision == NO_DECISION


@pytest.mark.parametrize(
    "command",
    [
        shell('echo \'{"decision": "block"}\'; exit 1'),
        shell('echo \'{"decision": "block"}\'; exit 2'),
        shell("exec sleep 60", timeout=0.05),
        shell("exec <&-; exit 0"),
        HookCommand(("/nowhere/at/all",), 20.0),
    ],
)
def test_a_hook_that_fails_decides_nothing(command: HookCommand) -> None:
    hooks = Hooks({"Stop": (command,)}, time.monotonic)

    call = hooks.run("Stop", b"x" * 500_000)
    finish(hooks, call)

    assert call.decision == NO_DECISION
    assert hooks.is_idle


def test_the_first_command_that_decides_decides() -> None:
    commands = (
        shell("true"),
        shell('echo \'{"decision": "block", "reason": "a"}\''),
        shell('echo \'{"decision": "block", "reason": "b"}\''),
    )
    hooks = Hooks({"Stop": commands}, time.monotonic)

    call = hooks.run("Stop", b"")
    finish(hooks, call)

    assert call.decision == Decision(Ruling.BLOCK, "a")


def test_hooks_run_one_after_the_other(tmp_path: Path) -> None:
    log = tmp_path / "log"
    hooks = Hooks(
        {"Stop": (shell(f"sleep 0.1; cat >> {log}"),), "Next": (shell(f"cat >> {log}"),)},
        time.monotonic,
    )

    first = hooks.run("Stop", b"first ")
    second = hooks.run("Next", b"second")
    finish(hooks, first, second)

    assert log.read_text() == "first second"


def test_other_hooks_do_not_wait_for_a_concurrent_one(tmp_path: Path) -> None:
    log = tmp_path / "log"
    hooks = Hooks(
        {"Ask": (shell("exec sleep 60"),), "Next": (shell(f"cat >> {log}"),)}, time.monotonic
    )

    asked = hooks.run("Ask", b"", concurrent=True)
    told = hooks.run("Next", b"told")
    finish(hooks, told)

    assert log.read_text() == "told"
    assert asked.decision is None
    assert hooks.is_idle
    hooks.terminate()
    finish(hooks, asked)


def test_a_large_payload_arrives_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    hooks = Hooks({"Stop": (shell(f"cat > {log}"),)}, time.monotonic)
    payload = b"0123456789" * 200_000

    finish(hooks, hooks.run("Stop", payload))

    assert log.read_bytes() == payload


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ({"decision": "block", "reason": "more"}, Decision(Ruling.BLOCK, "more")),
        ({"decision": "block"}, Decision(Ruling.BLOCK)),
        (
            {"hookSpecificOutput": {"permissionDecision": "ask"}},
            Decision(Ruling.ASK),
        ),
        (
            {
                "hookSpecificOutput": {
                    "permissionDecision": "deny",
                    "permissionDecisionReason": "no",
                }
            },
            Decision(Ruling.DENY, "no"),
        ),
        ({"hookSpecificOutput": {"decision": {"behavior": "allow"}}}, Decision(Ruling.ALLOW)),
        (
            {"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "no"}}},
            Decision(Ruling.DENY, "no"),
        ),
        (
            {"hookSpecificOutput": {"decision": {"behavior": "deny", "interrupt": True}}},
            Decision(Ruling.REFUSE),
        ),
        (
            {
                "hookSpecificOutput": {
                    "decision": {
                        "behavior": "allow",
                        "updatedInput": {"answers": {"Which?": "Red", "What?": 3}},
                    }
                }
            },
            Decision(Ruling.ALLOW, answers={"Which?": "Red"}),
        ),
    ],
)
def test_a_decision_is_read(answer: object, decision: Decision) -> None:
    assert read_decision(json.dumps(answer).encode()) == decision


@pytest.mark.parametrize(
    "output",
    [b"", b"rubbish", b"\xff", b"[]", b'{"decision": 1}', b"[" * 100_000, b'{"a": {"b": 1}}'],
)
def test_any_other_output_decides_nothing(output: bytes) -> None:
    assert read_decision(output) == NO_DECISION
