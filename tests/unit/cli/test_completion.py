"""What a shell completes."""

from __future__ import annotations

import click
import pytest
from click.shell_completion import ShellComplete

from rookery.cli.root import rookery
from rookery.client import Client
from tests.support.cli import FakeClient, Scripted, made

pytestmark = pytest.mark.spec("I5")

SESSIONS = {
    "sessions": [
        made("api", activity="permission"),
        made("web"),
        made("old", ended_at="2026-01-01T00:00:00+00:00"),
        {**made("api"), "ended_at": "2026-01-01T00:00:00+00:00"},
    ]
}


def completed(client: Client, *words: str) -> list[tuple[str, str]]:
    """Complete the last word as a shell does."""
    shell = ShellComplete(rookery, {"obj": client}, "rookery", "_ROOKERY_COMPLETE")
    found = shell.get_completions([*words[:-1]], words[-1])
    return [(each.value, each.type) for each in found]


def values(client: Client, *words: str) -> list[str]:
    return [value for value, _ in completed(client, *words)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["send", ""], ["api", "web"]),
        (["end", "a"], ["api"]),
        (["output", ""], ["api", "web", "old"]),
        (["resume", "o"], ["old"]),
    ],
)
def test_sessions_are_offered_once_and_ended_ones_only_where_they_are_of_use(
    words: list[str], found: list[str]
) -> None:
    assert values(Scripted(sessions=SESSIONS), *words) == found


def test_who_asks_and_what_is_asked_is_offered_to_be_answered() -> None:
    daemon = Scripted(sessions=SESSIONS, permissions={"requests": [{"id": "82cd0e3d"}]})

    assert values(daemon, "allow", "") == ["api", "82cd0e3d"]


def test_keys_folders_and_agents_are_offered() -> None:
    daemon = FakeClient()

    assert values(daemon, "keys", "api", "shift") == ["shift-tab"]
    assert completed(daemon, "start", "--project", "sr") == [("sr", "dir")]
    assert values(daemon, "start", "cl") == ["claude"]
    assert values(daemon, "start", "claude", "co") == []
    assert values(daemon, "start", "-a", "demo", "co") == []


@pytest.mark.parametrize(
    ("words", "has", "lacks"),
    [
        (["--agent", "claude"], "acceptEdits", "yolo"),
        (["gemini"], "yolo", "acceptEdits"),
        ([], "yolo", "nonsense"),
    ],
)
def test_the_modes_of_the_named_agent_are_offered(
    words: list[str], has: str, lacks: str
) -> None:
    found = values(FakeClient(), "start", *words, "--permission-mode", "")

    assert has in found
    assert lacks not in found
    assert len(found) == len({*found})


def test_commands_are_completed_without_their_other_names() -> None:
    root = click.Context(rookery)

    assert "ps" not in rookery.list_commands(root)
