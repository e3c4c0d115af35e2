"""What is said about worktrees when sessions end or share one."""

from __future__ import annotations

import pytest

from tests.support.cli import Scripted, made, typed

pytestmark = pytest.mark.spec("L3", "I5")

TREE = {"path": "/w/fix", "branch": "rookery/fix", "state": "ready", "in_use": True}
WORKSPACE = {"path": "/w/fix", "branch": "rookery/fix", "repository": "/shop/.git"}


class Daemon(Scripted):
    """Resumes and ends a session in a worktree in which others work, too."""

    def __init__(self, *users: str) -> None:
        over = {"status": "killed", "activity": None, "ended_at": None}
        self.session = made("fix", workspace=WORKSPACE, **over)
        super().__init__(sessions=self.session, turns={"turns": [], "unheard": []})
        self.users = users

    def get(self, *path: str, **query: object) -> object:
        if path[-1] == "workspace":
            return {**TREE, "users": [*self.users]}
        if path[-1] == "turns":
            return {"turns": [], "unheard": []}
        return self.session

    post = get


@pytest.mark.parametrize(
    ("users", "expected"),
    [
        ((), "Its worktree stays: another session works in it."),
        (("api",), "Its worktree stays: api works in it."),
        (("api", "docs"), "Its worktree stays: api, docs work in it."),
    ],
)
def test_the_end_names_the_sessions_that_still_work_in_the_worktree(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    users: tuple[str, ...],
    expected: str,
) -> None:
    assert typed(monkeypatch, Daemon(*users), "end", "fix") in {0, None}

    assert expected in capsys.readouterr().out


@pytest.mark.parametrize(
    ("users", "expected"),
    [
        (("fix",), ""),
        (
            ("fix", "api"),
            "It works in /w/fix on branch rookery/fix. api works in the same worktree.",
        ),
    ],
)
def test_a_fork_names_the_sessions_with_which_it_shares_its_worktree(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    users: tuple[str, ...],
    expected: str,
) -> None:
    typed(monkeypatch, Daemon(*users), "fork", "api", "--name", "fix")

    printed = capsys.readouterr().err
    assert expected in printed
    assert ("worktree" in printed) is bool(expected)


@pytest.mark.spec("L4")
@pytest.mark.parametrize(
    ("files", "is_worktree", "said"),
    [
        (1, False, "1 file not committed in the folder of api, also by others, compared"),
        (0, False, "Nothing in the folder of api differs from HEAD (1234567)."),
        (0, True, "api has changed nothing since HEAD (1234567)."),
    ],
)
def test_changes_in_a_shared_folder_are_not_said_to_be_of_one_session(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    files: int,
    *,
    is_worktree: bool,
    said: str,
) -> None:
    changed = [{"path": "a.txt", "added": 1, "removed": 0}] * files
    found = {"name": "api", "against": "HEAD", "commit": "1234567", "files": changed}

    daemon = Scripted(sessions={**found, "is_worktree": is_worktree})
    typed(monkeypatch, daemon, "diff", "api", "--stat")

    assert said in capsys.readouterr().err
