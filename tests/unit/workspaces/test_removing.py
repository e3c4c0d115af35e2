from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import anyio
import pytest

from rookery.model.facts import WorkspacePruneRequested
from rookery.model.workspaces import WorkspaceState
from rookery.store import workspaces
from rookery.store.journal import Journal
from rookery.workspace_settings import WorkspaceSettings
from rookery.workspaces.child_programs import ProgramOutput, ProgramRun
from rookery.workspaces.git import Git
from tests.support.fakes.database import ObservedDatabase
from tests.support.repositories import make_repository
from tests.support.workshop import SOON, Workshop

pytestmark = pytest.mark.anyio


@pytest.fixture
def workshop(database: ObservedDatabase, journal: Journal, tmp_path: Path) -> Workshop:
    return Workshop(database, journal, tmp_path)


@pytest.mark.spec("L3")
async def test_a_worktree_without_work_goes_with_its_session(workshop: Workshop) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        (tree.path / ".git-ignored").mkdir()
        removed = await workshop.end("fix")

    assert (removed.state, removed.reason) == (WorkspaceState.REMOVED, "")
    assert not tree.path.exists()
    assert workshop.repository.branches() == ["main"]
    assert workshop.repository.git("worktree", "list").count("\n") == 0


@pytest.mark.spec("L3", "A10")
async def test_the_worktree_of_a_lost_session_is_kept_until_it_is_checked_again(
    workshop: Workshop,
) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        session = await workshop.id_of("fix")
        await workshop.talk(session)
        await workshop.finish(session, lost=True)
        kept = await workshop.until(session, WorkspaceState.KEPT, WorkspaceState.REMOVED)
        assert tree.path.exists()

        def check_again(db: Connection) -> None:
            workspaces.recheck(db, str(tree.path))
            workshop.journal.append(
                db, WorkspacePruneRequested(session, str(tree.path), "person")
            )

        await workshop.database.write(check_again)
        removed = await workshop.until(session, WorkspaceState.REMOVED)

    assert kept.reason == "its session was lost and can be resumed"
    assert removed.state is WorkspaceState.REMOVED


@pytest.mark.spec("L3", "A10")
async def test_the_worktree_of_a_lost_session_that_cannot_be_resumed_is_not_kept_for_it(
    workshop: Workshop,
) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        session = await workshop.id_of("fix")
        await workshop.finish(session, lost=True)  # it had no turn
        removed = await workshop.until(session, WorkspaceState.KEPT, WorkspaceState.REMOVED)

    assert (removed.state, removed.reason) == (WorkspaceState.REMOVED, "")
    assert not tree.path.exists()


@pytest.mark.spec("L3")
@pytest.mark.parametrize("change", ["untracked", "modified", "staged", "deleted"])
async def test_a_worktree_with_anything_uncommitted_is_kept(
    workshop: Workshop, change: str
) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        if change == "untracked":
            tree.write("new/file.txt", "work")
        elif change == "deleted":
            (tree.path / "a.txt").unlink()
        else:
            tree.write("a.txt", "work")
        if change == "staged":
            tree.git("add", "--all")
        kept = await workshop.end("fix")

    assert kept.state is WorkspaceState.KEPT
    assert kept.reason.endswith("not committed")
    assert tree.path.exists()


@pytest.mark.spec("L3")
@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
@pytest.mark.parametrize("changed", [False, True])
async def test_a_change_that_git_was_told_to_overlook_counts(
    workshop: Workshop, mark: str, *, changed: bool
) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.git("update-index", mark, "a.txt")
        if changed:
            tree.write("a.txt", "work")
        (tree.path / "a.txt").touch()
        done = await workshop.end("fix")

    if changed:
        assert (done.state, done.reason) == (WorkspaceState.KEPT, "a.txt not committed")
    else:
        assert done.state is WorkspaceState.REMOVED


@pytest.mark.spec("L3")
async def test_files_that_a_sparse_checkout_leaves_out_are_not_missed(
    workshop: Workshop,
) -> None:
    workshop.repository.commit("part/b.txt", "b\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.git("sparse-checkout", "set", "other")
        assert not (tree.path / "part").exists()
        removed = await workshop.end("fix")

    assert removed.state is WorkspaceState.REMOVED


IGNORED = ".env*\n*.sqlite\nnode_modules/\n*.log\n"


@pytest.mark.spec("L3")
async def test_an_ignored_file_that_is_only_there_keeps_a_worktree(workshop: Workshop) -> None:
    workshop.repository.commit(".gitignore", IGNORED)
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.write(".env", "KEY=1\n")
        tree.write("data.sqlite", "rows\n")
        kept = await workshop.end("fix")

    assert kept.state is WorkspaceState.KEPT
    assert kept.reason == ".env, data.sqlite ignored by git and only there"


@pytest.mark.spec("L3")
async def test_ignored_folders_and_what_programs_make_go_with_a_worktree(
    workshop: Workshop,
) -> None:
    workshop.repository.commit(".gitignore", IGNORED)
    workshop.repository.write(".env", "KEY=1\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.write("node_modules/a/index.js", "x\n")
        tree.write("cache/.gitignore", "*\n")
        tree.write("cache/entry", "x\n")
        tree.write("run.log", "x\n")
        tree.write(".env", "KEY=1\n")  # the same as in the checkout of the start
        removed = await workshop.end("fix")

    assert (removed.state, removed.reason) == (WorkspaceState.REMOVED, "")


@pytest.mark.spec("L3")
@pytest.mark.parametrize("changed", [False, True])
async def test_an_ignored_file_of_the_set_up_counts_only_if_it_was_changed(
    database: ObservedDatabase, journal: Journal, tmp_path: Path, *, changed: bool
) -> None:
    setup = ["sh", "-c", "echo PORT=1 > .env.local"]
    settings = WorkspaceSettings.model_validate({"setup": setup})
    workshop = Workshop(database, journal, tmp_path, settings)
    workshop.repository.commit(".gitignore", IGNORED)
    async with workshop.kept():
        tree = await workshop.make("fix")
        if changed:
            tree.write(".env.local", "PORT=22\n")
        done = await workshop.end("fix")

    assert done.state is (WorkspaceState.KEPT if changed else WorkspaceState.REMOVED)


@pytest.mark.spec("L3")
async def test_a_worktree_with_commits_that_are_not_merged_is_kept(workshop: Workshop) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.commit("b.txt", "work")
        tree.commit("c.txt", "work")
        kept = await workshop.end("fix")

    assert (kept.state, kept.reason) == (
        WorkspaceState.KEPT,
        "2 commits of rookery/fix not in main",
    )
    assert tree.path.exists()


@pytest.mark.spec("L3")
@pytest.mark.parametrize("detached", [False, True])
async def test_commits_that_only_the_worktree_has_are_never_lost(
    workshop: Workshop, *, detached: bool
) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        if detached:
            tree.git("checkout", "--quiet", "--detach")
        tip = tree.commit("b.txt", "work")
        if not detached:
            tree.git("checkout", "--quiet", "--detach", "main")
        kept = await workshop.end("fix")

    assert kept.state is WorkspaceState.KEPT
    assert workshop.repository.git("cat-file", "-t", tip) == "commit"


@pytest.mark.spec("L3")
async def test_a_merged_worktree_goes_with_its_branch(workshop: Workshop) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.commit("b.txt", "work")
        workshop.repository.git("merge", "--quiet", "--no-ff", "rookery/fix")
        removed = await workshop.end("fix")

    assert removed.state is WorkspaceState.REMOVED
    assert workshop.repository.branches() == ["main"]


@pytest.mark.spec("L3")
async def test_an_unfinished_rebase_is_kept(workshop: Workshop) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        git_dir = Path(tree.git("rev-parse", "--absolute-git-dir"))
        (git_dir / "rebase-merge").mkdir()
        kept = await workshop.end("fix")

    assert kept.reason == "a rebase is not finished"


@pytest.mark.spec("L3")
async def test_initialised_submodules_are_kept(workshop: Workshop, tmp_path: Path) -> None:
    part = make_repository(tmp_path / "part", workshop.repository.home)
    allow = ("-c", "protocol.file.allow=always")
    workshop.repository.git(*allow, "submodule", "--quiet", "add", str(part.path), "part")
    workshop.repository.git("commit", "--quiet", "--message", "part")
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.git(*allow, "submodule", "--quiet", "update", "--init")
        tree.at(tree.path / "part").commit("work.txt", "work")
        tree.git("submodule", "--quiet", "update", "--checkout")
        kept = await workshop.end("fix")

    assert "initialised submodules" in kept.reason
    assert (tree.path / "part").exists()


@pytest.mark.spec("L3")
@pytest.mark.parametrize("changed", [False, True])
async def test_a_copied_file_counts_only_if_it_was_changed(
    database: ObservedDatabase, journal: Journal, tmp_path: Path, *, changed: bool
) -> None:
    settings = WorkspaceSettings.model_validate({"copy": [".env"]})
    workshop = Workshop(database, journal, tmp_path, settings)
    workshop.repository.write(".env", "KEY=1\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        if changed:
            tree.write(".env", "KEY=2\n")
        done = await workshop.end("fix")

    assert done.state is (WorkspaceState.KEPT if changed else WorkspaceState.REMOVED)


@pytest.mark.spec("L3")
async def test_a_worktree_stays_while_another_session_works_in_it(workshop: Workshop) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        (tree.path / "sub").mkdir()
        child = await workshop.settle("child", tree.path / "sub")
        live = await workshop.request("other")
        await workshop.finish(await workshop.id_of("fix"))
        await workshop.until(live.id, WorkspaceState.READY)
        assert tree.path.exists()

        await workshop.finish(child)
        await workshop.until(
            await workshop.id_of("fix"), WorkspaceState.KEPT, WorkspaceState.REMOVED
        )

    assert not tree.path.exists()


@pytest.mark.spec("L3")
async def test_a_worktree_that_its_person_removed_is_noticed(workshop: Workshop) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.commit("b.txt", "work")
        workshop.repository.git("worktree", "remove", "--force", str(tree.path))
        removed = await workshop.end("fix")

    assert removed.state is WorkspaceState.REMOVED
    assert removed.reason == "the branch rookery/fix stays: it is not merged"
    assert "rookery/fix" in workshop.repository.branches()


@pytest.mark.spec("L3", "K3")
async def test_a_removal_that_was_interrupted_is_finished(workshop: Workshop) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
    session = await workshop.id_of("fix")
    await workshop.finish(session)
    await workshop.database.write(
        lambda db: workspaces.advance(db, str(tree.path), WorkspaceState.REMOVING)
    )
    (tree.path / ".git").unlink()
    (tree.path / "a.txt").unlink()

    async with workshop.kept():
        removed = await workshop.until(session, WorkspaceState.REMOVED, WorkspaceState.KEPT)

    assert (removed.state, removed.reason) == (WorkspaceState.REMOVED, "")
    assert not tree.path.exists()


@pytest.mark.spec("L3", "K3")
async def test_an_interrupted_removal_spares_what_was_added_meanwhile(
    workshop: Workshop,
) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
    session = await workshop.id_of("fix")
    await workshop.finish(session)
    await workshop.database.write(
        lambda db: workspaces.advance(db, str(tree.path), WorkspaceState.REMOVING)
    )
    (tree.path / "a.txt").unlink()
    tree.write("new.txt", "work")

    async with workshop.kept():
        kept = await workshop.until(session, WorkspaceState.REMOVED, WorkspaceState.KEPT)

    assert (kept.state, kept.reason) == (WorkspaceState.KEPT, "new.txt not committed")
    assert (tree.path / "new.txt").exists()


@pytest.mark.spec("L3")
@pytest.mark.parametrize("discarded", [False, True])
async def test_a_worktree_in_which_a_session_works_is_not_removed(
    workshop: Workshop, *, discarded: bool
) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
    session = await workshop.id_of("fix")
    await workshop.finish(session)
    await workshop.settle("by hand", tree.path)

    def begin(db: Connection) -> None:
        workspaces.advance(db, str(tree.path), WorkspaceState.REMOVING)
        if discarded:
            workspaces.discard(db, str(tree.path), "it failed")

    await workshop.database.write(begin)
    async with workshop.kept():
        kept = await workshop.until(session, WorkspaceState.REMOVED, WorkspaceState.KEPT)

    assert (kept.state, kept.reason) == (WorkspaceState.KEPT, "a session works in it")
    assert (tree.path / "a.txt").exists()


@pytest.mark.spec("L3")
async def test_a_read_only_folder_does_not_keep_a_worktree(workshop: Workshop) -> None:
    workshop.repository.commit(".gitignore", "cache\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.write("cache/module/x", "x")
        (tree.path / "cache/module").chmod(0o500)
        removed = await workshop.end("fix")

    assert removed.state is WorkspaceState.REMOVED
    assert not tree.path.exists()


@pytest.mark.spec("L3", "K5")
async def test_no_folder_outside_of_the_root_is_removed(
    workshop: Workshop, tmp_path: Path
) -> None:
    async with workshop.kept():
        await workshop.make("fix")
    precious = tmp_path / "precious"
    precious.mkdir()
    session = await workshop.id_of("fix")
    await workshop.finish(session)
    await workshop.database.write(
        lambda db: db.execute(
            "update workspaces set path = ?, state = 'removing', is_discarded = 1",
            (str(precious),),
        )
    )
    async with workshop.kept():
        kept = await workshop.until(session, WorkspaceState.KEPT)

    assert precious.exists()
    assert "is not below" in kept.reason


@pytest.mark.spec("L3")
async def test_a_branch_that_moves_during_the_removal_is_not_deleted(
    workshop: Workshop,
) -> None:
    async with workshop.kept():
        await workshop.make("fix")
    workshop.repository.git("checkout", "--quiet", "--detach")
    work = workshop.repository.commit("b.txt", "work")
    workshop.repository.git("checkout", "--quiet", "main")
    move = f'(cd "{workshop.repository.path}" && $GIT update-ref refs/heads/rookery/fix {work})'
    workshop.replace_git(f'case "$*" in *"update-ref -d"*) {move};; esac\nexec $GIT "$@"')
    async with workshop.kept():
        kept = await workshop.end("fix")

    assert kept.state is WorkspaceState.KEPT
    assert "cannot lock ref" in kept.reason
    assert workshop.repository.git("rev-parse", "rookery/fix") == work


@dataclass(frozen=True)
class GitWithVisitor(Git):
    """Git during whose check of a worktree a session comes to work there."""

    come: Callable[[], Awaitable[object]]
    checked: anyio.Event

    async def run(self, program_run: ProgramRun) -> ProgramOutput:
        if "status" in program_run.argv:
            await self.come()
        output = await Git.run(self, program_run)
        if "ls-files" in program_run.argv:  # the last question about uncommitted files
            self.checked.set()
        return output


@pytest.mark.spec("L3")
async def test_a_worktree_that_is_used_again_during_its_check_is_not_kept(
    database: ObservedDatabase, journal: Journal, tmp_path: Path
) -> None:
    workshop = Workshop(database, journal, tmp_path)
    async with workshop.kept():
        tree = await workshop.make("fix")
    tree.write("new.txt", "work")
    session, checked = await workshop.id_of("fix"), anyio.Event()
    come = partial(workshop.settle, "again", tree.path)
    git = GitWithVisitor(workshop.worktrees.git.environment, come, checked)
    workshop.worktrees = replace(workshop.worktrees, git=git)

    async with workshop.kept():
        await workshop.finish(session)
        with anyio.fail_after(SOON):
            await checked.wait()
        await database.rest()
        found = await workshop.workspace(session)

    assert found
    assert found.state is WorkspaceState.READY
