"""How Claude Code is started to be driven."""

from __future__ import annotations

import json
from pathlib import Path

from rookery.agents.claude.agent import CLAUDE
from rookery.model.sessions import NativeId
from rookery.ports.agent import LaunchSpec

SPEC = LaunchSpec(
    command=("claude", "--add-dir", "/lib"),
    native_id=NativeId("new"),
    model="opus",
    permission_mode="plan",
    hook="hook claude",
    folder=Path("/private"),
)


def argv(**more: object) -> list[str]:
    fields = {name: getattr(SPEC, name) for name in LaunchSpec.__dataclass_fields__}
    return list(CLAUDE.driven["sdk"](LaunchSpec(**{**fields, **more})).line.argv)


def test_it_continues_the_line_of_a_terminal_with_the_protocol() -> None:
    in_terminal = list(CLAUDE.command_line(SPEC).argv)
    driven = argv()

    assert driven[: len(in_terminal)] == in_terminal
    assert driven[:3] == ["claude", "--add-dir", "/lib"]
    for option, value in [
        ("--input-format", "stream-json"),
        ("--output-format", "stream-json"),
        ("--permission-prompt-tool", "stdio"),
    ]:
        assert driven[driven.index(option) + 1] == value


def test_values_cannot_be_read_as_options() -> None:
    driven = argv(
        system_prompt="--dangerously-skip-permissions",
        allowed_tools=("Bash(git diff:*)", "Read"),
        budget=1_500_000,
    )

    assert driven[-3:] == [
        "--append-system-prompt=--dangerously-skip-permissions",
        "--allowedTools=Bash(git diff:*),Read",
        "--max-budget-usd=1.5",
    ]


def test_its_hooks_are_those_of_a_terminal_without_the_one_that_would_ask_again() -> None:
    settings = Path("/private/settings.json")
    in_terminal = json.loads(CLAUDE.command_line(SPEC).files[settings])["hooks"]
    driven = json.loads(CLAUDE.driven["sdk"](SPEC).line.files[settings])["hooks"]

    assert in_terminal.keys() - driven.keys() == {"PermissionRequest"}
    assert driven.keys() <= in_terminal.keys()


def test_the_driver_knows_the_conversation() -> None:
    made = CLAUDE.driven["sdk"](SPEC)

    assert made.driver == "sdk"
    assert made.options == {
        "native_id": "new",
        "model": "opus",
        "earlier_cost": 0,
        "untrusted": ("--setting-sources=user", "--strict-mcp-config"),
    }
