"""Nothing is removed at the end that would be lost, also where git does not tell of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from rookery.model.facts import WorkspacePruneRequested
from rookery.model.workspaces import Workspace, WorkspaceState
from rookery.store import workspaces
from rookery.store.journal import Journal
from tests.support.fakes.database import ObservedDatabase
from tests.support.repositories import GitFolder
from tests.support.workshop import Workshop

pytestmark = pytest.mark.anyio

UNKNOWN = "git does not know it any more, so Rookery cannot tell what is in it"


@pytest.fixture
def workshop(database: ObservedDatabase, journal: Journal, tmp_path: Path) -> Workshop:
    return Workshop(database, journal, tmp_path)


async def prune(workshop: Workshop, name: str, *, force: bool = False) -> Workspace:
    """Let a kept worktree be checked again, or removed; return what became of it."""
    session = await workshop.id_of(name)
    kept = await workshop.until(session, WorkspaceState.KEPT)
    if force:
        change = partial(workspaces.discard, path=kept.path, reason="")
    else:
        change = partial(workspaces.recheck, path=kept.path)
    fact = WorkspacePruneRequested(session, kept.path, "person", force=force)
    await workshop.database.write(change)
    await workshop.database.write(lambda db: workshop.journal.append(db, fact))
    return await workshop.until(session, WorkspaceState.KEPT, WorkspaceState.REMOVED)


def rename_repository(workshop: Workshop) -> None:
    workshop.repository.path.rename(workshop.folder / "renamed")


def clone_again(workshop: Workshop) -> None:
    rename_repository(workshop)
    source = str(workshop.folder / "renamed")
    workshop.repository.at(workshop.folder).git("clone", "--quiet", source, "project")


def remove_record(workshop: Workshop) -> None:
    shutil.rmtree(workshop.repository.path / ".git/worktrees")


@pytest.mark.spec("L3")
@pytest.mark.parametrize("forget", [rename_repository, clone_again, remove_record])
async def test_a_worktree_that_git_does_not_know_any_more_is_kept(
    workshop: Workshop, forget: Callable[[Workshop], None]
) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.write("new.txt", "work\n")
        forget(workshop)
        kept = await workshop.end("fix")
        still_kept = await prune(workshop, "fix")
        assert (tree.path / "new.txt").exists()
        removed = await prune(workshop, "fix", force=True)

    assert (kept.state, kept.reason) == (WorkspaceState.KEPT, UNKNOWN)
    assert (still_kept.state, still_kept.reason) == (WorkspaceState.KEPT, UNKNOWN)
    assert removed.state is WorkspaceState.REMOVED
    assert not tree.path.exists()


@pytest.mark.spec("L3")
async def test_a_worktree_is_kept_for_a_file_whose_name_is_not_utf_8(
    workshop: Workshop,
) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        name = tree.write_oddly_named()
        kept = await workshop.end("fix")

    assert (kept.state, kept.reason) == (WorkspaceState.KEPT, f"{name} not committed")


@pytest.mark.spec("L3")
async def test_an_empty_folder_that_git_does_not_know_is_removed(workshop: Workshop) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        rename_repository(workshop)
        shutil.rmtree(tree.path)
        tree.path.mkdir()
        removed = await workshop.end("fix")

    assert removed.state is WorkspaceState.REMOVED
    assert not tree.path.exists()


@pytest.mark.spec("L3")
async def test_a_worktree_that_git_has_recorded_by_a_relative_path_is_checked(
    workshop: Workshop,
) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        write_relative_record(workshop, tree)
        found = await workshop.until(await workshop.id_of("fix"), WorkspaceState.READY)
        without_work = await workshop.worktrees.why_keep(found)
        tree.write("new.txt", "work\n")
        kept = await workshop.end("fix")

    assert without_work == ""
    assert (kept.state, kept.reason) == (WorkspaceState.KEPT, "new.txt not committed")


def write_relative_record(workshop: Workshop, tree: GitFolder) -> None:
    """Name the worktree as git 2.48 does with ``worktree.useRelativePaths``."""
    record = workshop.repository.path / ".git/worktrees/fix"
    relative = os.path.relpath(tree.path / ".git", record)
    (record / "gitdir").write_text(f"{relative}\n")


@pytest.mark.spec("L3")
async def test_a_worktree_below_a_link_is_checked(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    workshop.root.symlink_to(tmp_path / "elsewhere")
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.write("new.txt", "work\n")
        kept = await workshop.end("fix")

    assert (kept.state, kept.reason) == (WorkspaceState.KEPT, "new.txt not committed")


@pytest.mark.spec("L3")
async def test_a_record_that_cannot_be_read_keeps_a_worktree(workshop: Workshop) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.write("new.txt", "work\n")
        record = workshop.repository.path / ".git/worktrees/fix/gitdir"
        record.unlink()
        record.mkdir()
        kept = await workshop.end("fix")

    assert kept.state is WorkspaceState.KEPT
    assert "it could not be checked. " in kept.reason
    assert (tree.path / "new.txt").exists()


def nest(tree: GitFolder, name: str, file: str = "c.txt") -> GitFolder:
    """Make a repository in a worktree, with a commit and an uncommitted file."""
    inner = tree.at(tree.path / name)
    inner.path.mkdir(parents=True)
    inner.git("init", "--quiet", "--initial-branch", "main")
    inner.commit(file, "work\n")
    inner.write("uncommitted.txt", "work\n")
    return inner


@pytest.mark.spec("L3")
async def test_a_repository_that_was_committed_within_a_worktree_is_kept(
    workshop: Workshop,
) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        inner = nest(tree, "tools/tool ü")
        nest(tree, "tools/two")
        tree.git("add", "--all")
        tree.git("commit", "--quiet", "--message", "tools")
        workshop.repository.git("merge", "--quiet", "rookery/fix")
        kept = await workshop.end("fix")

    assert kept.state is WorkspaceState.KEPT
    assert kept.reason == (
        "tools/tool ü, tools/two with a repository of its own, whose commits could be lost"
    )
    assert (inner.path / "uncommitted.txt").exists()


@pytest.mark.spec("L3")
@pytest.mark.parametrize("is_ignored", [True, False])
async def test_a_worktree_with_another_worktree_in_it_is_kept(
    workshop: Workshop, *, is_ignored: bool
) -> None:
    if is_ignored:
        workshop.repository.commit(".gitignore", ".agent/\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.git("worktree", "add", "--quiet", "--detach", ".agent/worktrees/x ü")
        inner = tree.at(tree.path / ".agent/worktrees/x ü")
        inner.write("uncommitted.txt", "work\n")
        kept = await workshop.end("fix")
        assert (inner.path / "uncommitted.txt").exists()
        tree.git("worktree", "remove", "--force", str(inner.path))
        removed = await prune(workshop, "fix")

    assert kept.state is WorkspaceState.KEPT
    assert kept.reason == (
        "the worktree .agent/worktrees/x ü of the same repository would be lost with it"
    )
    assert removed.state is WorkspaceState.REMOVED


@pytest.mark.spec("L3")
@pytest.mark.parametrize("name", ["scratch", "scratch/tool ü"])
async def test_a_repository_in_an_ignored_folder_is_kept(workshop: Workshop, name: str) -> None:
    workshop.repository.commit(".gitignore", "scratch/\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        inner = nest(tree, name)
        kept = await workshop.end("fix")

    assert kept.state is WorkspaceState.KEPT
    assert kept.reason == f"{name} with a repository of its own, whose commits could be lost"
    assert (inner.path / "uncommitted.txt").exists()


@pytest.mark.spec("L3")
async def test_sources_that_a_build_has_loaded_do_not_keep_a_worktree(
    workshop: Workshop,
) -> None:
    workshop.repository.commit(".gitignore", "build/\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        nest(tree, "build/_deps/library-src")
        removed = await workshop.end("fix")

    assert (removed.state, removed.reason) == (WorkspaceState.REMOVED, "")


@pytest.mark.spec("L3")
async def test_a_submodule_that_is_not_initialised_does_not_keep_a_worktree(
    workshop: Workshop,
) -> None:
    nest(workshop.repository, "part")
    workshop.repository.git("add", "part")
    workshop.repository.git("commit", "--quiet", "--message", "part")
    async with workshop.kept():
        tree = await workshop.make("fix")
        assert (tree.path / "part").is_dir()
        removed = await workshop.end("fix")

    assert (removed.state, removed.reason) == (WorkspaceState.REMOVED, "")


@pytest.mark.spec("L3")
@pytest.mark.parametrize("is_named", [True, False])
async def test_commits_of_a_worktree_stay_while_only_a_worktree_that_began_there_has_them(
    workshop: Workshop, *, is_named: bool
) -> None:
    async with workshop.kept():
        one = await workshop.make("one")
        work = one.commit("b.txt", "work\n")
        if is_named:
            await workshop.make("two", base="rookery/one")
        else:
            session = await workshop.request("two", folder=one.path)
            await workshop.until(session.id, WorkspaceState.READY)
        first = await workshop.end("one")
        second = await workshop.end("two")

    assert (first.state, first.reason) == (WorkspaceState.REMOVED, "")
    assert second.state is WorkspaceState.KEPT
    assert second.reason == "1 commit of rookery/two in no other branch"
    assert workshop.repository.git("rev-parse", "rookery/two") == work


@pytest.mark.spec("L3")
async def test_a_branch_with_the_last_copy_of_commits_stays_if_its_folder_is_gone(
    workshop: Workshop,
) -> None:
    async with workshop.kept():
        one = await workshop.make("one")
        work = one.commit("b.txt", "work\n")
        two = await workshop.make("two", base="rookery/one")
        await workshop.end("one")
        workshop.repository.git("worktree", "remove", str(two.path))
        removed = await workshop.end("two")

    assert removed.reason == "the branch rookery/two stays: it is not merged"
    assert workshop.repository.git("rev-parse", "rookery/two") == work


@pytest.mark.spec("L3")
@pytest.mark.parametrize(
    ("hold", "state"),
    [
        ("tag release {work}", WorkspaceState.REMOVED),
        ("update-ref refs/remotes/origin/main {work}", WorkspaceState.REMOVED),
        ("worktree add --quiet --detach ../other {work}", WorkspaceState.REMOVED),
        ("commit --quiet --allow-empty --message other", WorkspaceState.KEPT),
        ("cherry-pick {work}", WorkspaceState.REMOVED),  # as after a pull with a rebase
    ],
)
async def test_a_worktree_that_began_at_a_commit_is_removed_if_something_else_has_it(
    workshop: Workshop, hold: str, state: WorkspaceState
) -> None:
    first = workshop.repository.git("rev-parse", "main")
    work = workshop.repository.commit("b.txt", "work\n")
    async with workshop.kept():
        await workshop.make("fix")
        workshop.repository.git("reset", "--quiet", "--hard", first)
        if hold.startswith("cherry-pick"):
            workshop.repository.commit("pulled.txt", "x\n")
        workshop.repository.git(*hold.format(work=work).split())
        done = await workshop.end("fix")

    assert done.state is state


@pytest.mark.spec("L3")
async def test_a_detached_worktree_does_not_hold_its_own_commits(workshop: Workshop) -> None:
    first = workshop.repository.git("rev-parse", "main")
    workshop.repository.commit("b.txt", "work\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.git("checkout", "--quiet", "--detach")
        workshop.repository.git("reset", "--quiet", "--hard", first)
        kept = await workshop.end("fix")

    assert kept.state is WorkspaceState.KEPT


@pytest.mark.spec("L3")
@pytest.mark.parametrize("folder", ["config", "config/deep ü", "src/new", "out"])
async def test_an_ignored_file_in_a_folder_that_is_not_ignored_keeps_a_worktree(
    workshop: Workshop, folder: str
) -> None:
    workshop.repository.commit("src/main.c", "int x;\n")
    workshop.repository.commit(".gitignore", "*.env\n*.pyc\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.write(f"{folder}/prod.env", "KEY=1\n")
        tree.write(f"{folder}/module.pyc", "x\n")
        kept = await workshop.end("fix")

    assert kept.state is WorkspaceState.KEPT
    assert kept.reason == f"{folder}/prod.env ignored by git and only there"


@pytest.mark.spec("L3")
async def test_folders_all_of_whose_files_are_ignored_by_name_of_the_folder_are_left_out(
    workshop: Workshop,
) -> None:
    workshop.repository.commit(".gitignore", "node_modules/\ndist/*\nlogs/**\n*.env\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.write("packages/a/node_modules/b/c.js", "x\n")
        tree.write("dist/bundle.js", "x\n")
        tree.write("dist/maps/x.map", "x\n")
        tree.write("logs/today/x.txt", "x\n")
        tree.write("tools/.venv/.gitignore", "*\n")
        tree.write("tools/.venv/lib/x/y.env", "x\n")
        tree.write("tools/.venv/pyvenv.cfg", "x\n")
        removed = await workshop.end("fix")

    assert (removed.state, removed.reason) == (WorkspaceState.REMOVED, "")


@pytest.mark.spec("L3")
async def test_a_list_of_what_is_not_ignored_does_not_make_every_folder_an_ignored_one(
    workshop: Workshop,
) -> None:
    workshop.repository.commit(".gitignore", "*\n!*/\n!.gitignore\n!*.py\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.write("notes/plan.txt", "work\n")
        kept = await workshop.end("fix")

    assert kept.reason == "notes/plan.txt ignored by git and only there"


@pytest.mark.spec("L3")
async def test_a_kept_folder_with_an_ignored_file_is_not_an_ignored_one(
    workshop: Workshop,
) -> None:
    workshop.repository.commit("data/.gitignore", "*\n!.gitignore\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.write("data/rows.sqlite", "work\n")
        kept = await workshop.end("fix")

    assert kept.reason == "data/rows.sqlite ignored by git and only there"
