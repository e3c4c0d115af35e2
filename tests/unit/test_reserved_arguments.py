"""Which arguments a person may give to an agent's program."""

from __future__ import annotations

import pytest

from rookery.agents.catalog import AGENTS

pytestmark = pytest.mark.spec("I5")


@pytest.mark.parametrize(
    ("agent", "arguments"),
    [
        ("claude", ["--settings", "mine.json"]),
        ("claude", ["--add-dir", "x", "--mcp-config=mine.json"]),
        ("claude", ["--session-id", "x"]),
        ("claude", ["--bare"]),
        ("claude", ["-p"]),
        ("codex", ["-c", "hooks.Stop=[]"]),
        ("codex", ["-c", "features={}"]),
        ("codex", ["--config=mcp_servers.rookery.command='x'"]),
        ("codex", ["-cmcp_servers={}"]),
        ("codex", ["--disable", "hooks"]),
        ("codex", ["--cd", "/"]),
        ("gemini", ["-i", "x"]),
        ("opencode", ["--pure"]),
        ("demo", ["--no-hooks"]),
        ("demo", ["say hello"]),
        ("demo", ["--x", "a\0b"]),
    ],
)
def test_what_would_cut_rookery_off_is_refused(agent: str, arguments: list[str]) -> None:
    assert AGENTS[agent].reserved.why_not(arguments)


@pytest.mark.parametrize(
    ("agent", "arguments"),
    [
        ("claude", ["--add-dir", "../lib", "--effort", "high"]),
        ("codex", ["--search", "-c", "model_reasoning_effort=high", "--enable", "x"]),
        ("codex", ["-c", "mcp_servers.mine.command='x'"]),
        ("gemini", ["--include-directories", "../lib"]),
        ("demo", ["--trust-dialog"]),
        ("demo", []),
    ],
)
def test_all_else_is_allowed(agent: str, arguments: list[str]) -> None:
    assert AGENTS[agent].reserved.why_not(arguments) == ""


def test_a_refusal_names_the_option_to_use() -> None:
    reserved = AGENTS["claude"].reserved

    assert reserved.why_not(["--model=x"]) == (
        "--model is for Rookery to set; before --, give --model."
    )
    assert (
        reserved.why_not(["--resume"]) == "--resume is for Rookery to set; use rookery resume."
    )
