"""The branch of a folder is read from real repositories, without running git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rookery.tracking.git_branches import branch_of, branches_of

pytestmark = pytest.mark.spec("I5")


def git(folder: Path, *words: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": "/nowhere"}
    person = ["-c", "user.name=Anna", "-c", "user.email=anna@example.org"]
    done = subprocess.run(
        ["git", *person, *words],
        cwd=folder,
        env={**os.environ, **own},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "first")
    return folder


def test_a_folder_has_the_branch_of_its_repository(repository: Path) -> None:
    below = repository / "src" / "deep"
    below.mkdir(parents=True)
    git(repository, "checkout", "--quiet", "-b", "fix/login page".replace(" ", "-"))

    assert branch_of(str(repository)) == branch_of(str(below)) == "fix/login-page"


def test_a_worktree_has_a_branch_of_its_own(repository: Path) -> None:
    other = repository.parent / "other"
    git(repository, "worktree", "add", "--quiet", "-b", "other", str(other))

    assert (branch_of(str(repository)), branch_of(str(other))) == ("main", "other")


def test_a_submodule_has_a_branch_of_its_own(repository: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet", "--initial-branch", "outside")
    allowed = ("-c", "protocol.file.allow=always")
    git(outer, *allowed, "submodule", "--quiet", "add", str(repository), "inner")

    assert branch_of(str(outer / "inner")) == "main"


def test_a_repository_without_commits_has_a_branch(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch", "fresh")

    assert branch_of(str(tmp_path)) == "fresh"


def test_a_detached_head_is_shown_by_its_commit(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "--quiet", "--detach")

    assert branch_of(str(repository)) == commit[:7]


def test_folders_without_a_readable_repository_have_no_branch(tmp_path: Path) -> None:
    fifo, strange, gone = tmp_path / "fifo", tmp_path / "strange", tmp_path / "gone"
    for folder, head in ((fifo, None), (strange, "\x1b[2Jref: nonsense")):
        (folder / ".git").mkdir(parents=True)
        if head is None:
            os.mkfifo(folder / ".git" / "HEAD")
        else:
            (folder / ".git" / "HEAD").write_text(head)

    assert branches_of(map(str, (fifo, strange, gone))) == {}
