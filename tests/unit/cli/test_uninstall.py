"""What uninstall leaves, it names; what its advice would delete, it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from rookery.model.errors import NotRunning
from tests.support.cli import FakeClient, typed

pytestmark = pytest.mark.spec("C1", "I5")


class Stopped(FakeClient):
    """A client whose daemon does not run."""

    def get(self, *path: str, **_: object) -> object:
        raise NotRunning(str(path))


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    state = tmp_path / "home"
    state.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOKERY_HOME", str(state))
    monkeypatch.delenv("ROOKERY_DEMO_HOME", raising=False)
    return state


def uninstall(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    typed(monkeypatch, Stopped(), "uninstall", "--yes")
    return capsys.readouterr().out


def test_the_command_that_deletes_the_home_says_that_it_deletes_worktrees_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state: Path
) -> None:
    worktree = state / "workspaces" / "shop-3b" / "fix"
    worktree.mkdir(parents=True)

    said = uninstall(monkeypatch, capsys)

    assert f"\n  {worktree}\n" in said
    assert "rookery workspace ls   (starts the daemon again)" in said
    assert "AND the worktrees above, with all that is not committed in them:\n  rm -r" in said
    assert "git worktree prune" in said


def test_without_worktrees_only_the_home_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state: Path
) -> None:
    said = uninstall(monkeypatch, capsys)

    assert f"is left. To remove it:\n  rm -r {state}\n" in said
    assert "Worktrees" not in said
    assert "AND" not in said


def test_the_conversations_of_the_demo_agent_are_named_as_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state: Path
) -> None:
    conversations = state.parent / ".rookery-demo"
    conversations.mkdir()

    assert str(conversations) in uninstall(monkeypatch, capsys)
