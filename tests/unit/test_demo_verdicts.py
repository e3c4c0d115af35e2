"""What hooks of the demo agent decide, and which hooks there are."""

from __future__ import annotations

import json

import pytest

from rookery.programs.demo import settings, verdicts
from rookery.programs.demo.settings import Command
from rookery.programs.demo.verdicts import SILENCE, Ruling, Verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"decision": "block", "reason": "more"}, Verdict(Ruling.BLOCK, "more")),
        ({"decision": "block"}, Verdict(Ruling.BLOCK)),
        (
            {"hookSpecificOutput": {"permissionDecision": "ask"}},
            Verdict(Ruling.ASK),
        ),
        (
            {
                "hookSpecificOutput": {
                    "permissionDecision": "deny",
                    "permissionDecisionReason": "no",
                }
            },
            Verdict(Ruling.DENY, "no"),
        ),
        ({"hookSpecificOutput": {"decision": {"behavior": "allow"}}}, Verdict(Ruling.ALLOW)),
        (
            {"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "no"}}},
            Verdict(Ruling.DENY, "no"),
        ),
        (
            {"hookSpecificOutput": {"decision": {"behavior": "deny", "interrupt": True}}},
            Verdict(Ruling.REFUSE),
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
            Verdict(Ruling.ALLOW, answers={"Which?": "Red"}),
        ),
    ],
)
def test_a_decision_is_read(answer: object, verdict: Verdict) -> None:
    assert verdicts.read(json.dumps(answer).encode()) == verdict


@pytest.mark.parametrize(
    "output",
    [b"", b"rubbish", b"\xff", b"[]", b'{"decision": 1}', b"[" * 100_000, b'{"a": {"b": 1}}'],
)
def test_whatever_else_is_printed_decides_nothing(output: bytes) -> None:
    assert verdicts.read(output) == SILENCE


def test_commands_are_split_into_words() -> None:
    hook = {"type": "command", "command": "tell 'the daemon' now", "timeout": 20}

    hooks = settings.read(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))

    assert hooks == {"Stop": (Command(("tell", "the daemon", "now"), 20.0),)}


def test_a_command_has_a_minute_if_nothing_is_said() -> None:
    hook = {"type": "command", "command": "tell"}

    hooks = settings.read(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))

    assert hooks["Stop"] == (Command(("tell",), settings.DEFAULT_TIMEOUT),)


@pytest.mark.parametrize(
    "hook",
    [{}, 3, {"type": "http", "url": "x"}, {"type": "command", "command": "'open"}],
)
def test_a_hook_that_cannot_be_run_is_passed_over(hook: object) -> None:
    assert settings.read(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}})) == {"Stop": ()}


@pytest.mark.parametrize("text", ["{}", "[]", '{"hooks": 1}'])
def test_settings_may_have_no_hooks(text: str) -> None:
    assert settings.read(text) == {}
