"""Git or the set-up is killed in the middle, or the disk is full: nothing half stays."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rookery.model.lifecycle import Status
from rookery.model.workspaces import WorkspaceState
from rookery.store.journal import Journal
from rookery.workspaces.git import Git
from tests.support.fakes.database import ObservedDatabase
from tests.support.repositories import GitFolder, environment_in
from tests.support.workshop import Workshop

pytestmark = pytest.mark.anyio


@pytest.fixture
def workshop(database: ObservedDatabase, journal: Journal, tmp_path: Path) -> Workshop:
    return Workshop(database, journal, tmp_path)


def run_in(repository: GitFolder, script: str) -> None:
    subprocess.run(
        ["sh", "-c", script],
        cwd=repository.path,
        env=environment_in(repository.home),
        check=True,
    )


def is_clean(workshop: Workshop) -> bool:
    return (
        workshop.repository.branches() == ["main"]
        and workshop.repository.git("worktree", "list").count("\n") == 0
        and not (workshop.root.exists() and list(workshop.root.rglob("*")))
    )


@pytest.mark.spec("L1")
async def test_a_full_disk_fails_the_start_and_leaves_nothing(workshop: Workshop) -> None:
    (workshop.repository.path / "big").write_bytes(os.urandom(200_000))
    workshop.repository.commit("b.txt", "b\n")
    workshop.replace_git(
        'case "$*" in *"worktree add"*) ulimit -f 50; trap "" XFSZ;; esac\nexec $GIT "$@"',
    )
    async with workshop.kept():
        session = await workshop.request("fix")
        await workshop.until(session.id, WorkspaceState.REMOVED)

    over = await workshop.session(session.id)
    assert over.status is Status.FAILED
    assert "git worktree: " in over.reason
    assert "unable to write file big" in over.reason
    assert is_clean(workshop)


@pytest.mark.spec("L1")
@pytest.mark.parametrize(
    "half",
    [
        # Git was killed after it had made the branch, its own folder, or a part of the tree.
        "mkdir -p .git/worktrees/fix; echo initializing > .git/worktrees/fix/locked",
        "$GIT worktree add -q --no-checkout --lock '{path}' rookery/fix",
        "$GIT worktree add -q --no-checkout '{path}' rookery/fix; rm '{path}/.git'",
        "mkdir -p '{path}'; echo half > '{path}/a.txt'",
    ],
)
async def test_a_killed_git_leaves_no_half_worktree_that_blocks_the_name(
    workshop: Workshop, half: str
) -> None:
    session = await workshop.request("fix")
    assert session.workspace
    workshop.repository.git("branch", "rookery/fix")
    script = half.replace("$GIT", "git").replace("{path}", session.workspace.path)
    run_in(workshop.repository, script)

    async with workshop.kept():
        found = await workshop.until(session.id, WorkspaceState.READY, WorkspaceState.REMOVED)

    tree = workshop.repository.at(found.path)
    assert found.state is WorkspaceState.READY
    assert tree.git("status", "--porcelain") == ""
    assert (tree.path / "a.txt").read_text() == "one\n"


@pytest.mark.spec("L1")
async def test_a_git_that_is_killed_by_a_signal_fails_the_start(workshop: Workshop) -> None:
    workshop.replace_git('case "$*" in *"worktree add"*) kill -9 $$;; esac\nexec $GIT "$@"')
    async with workshop.kept():
        session = await workshop.request("fix")
        await workshop.until(session.id, WorkspaceState.REMOVED)

    assert (await workshop.session(session.id)).status is Status.FAILED
    assert is_clean(workshop)


@pytest.mark.spec("L1")
async def test_a_computer_without_git_says_so(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    git = Git({**workshop.worktrees.environment, "PATH": str(tmp_path / "empty")})
    object.__setattr__(workshop.worktrees, "git", git)

    with pytest.raises(Exception, match="git cannot be run"):
        await workshop.request("fix")
