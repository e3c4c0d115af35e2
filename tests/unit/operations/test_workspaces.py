from __future__ import annotations

import os
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from rookery.model.errors import BadInput, CommandRefused, Forbidden
from rookery.model.facts import SessionId, TurnStarted
from rookery.model.scopes import Identity, Scope
from rookery.model.workspaces import WorkspaceState
from rookery.operations import resume
from rookery.operations.landing import Landed
from rookery.store import sessions, workspaces
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk, session_caller
from tests.support.repositories import GitFolder
from tests.support.workshop import SOON, Workshop

pytestmark = pytest.mark.anyio

READER = Identity(Scope.READER, "unix")


class Bench:
    """A desk, and the worktrees of its sessions."""

    def __init__(self, desk: Desk, workshop: Workshop) -> None:
        self.desk, self.workshop = desk, workshop

    async def start(self, name: str, **more: Any) -> Any:  # noqa: ANN401 - a session
        project = str(self.workshop.repository.path)
        return await self.desk.ask(
            "start", agent="demo", project=project, name=name, worktree=True, **more
        )

    async def make(self, name: str) -> GitFolder:
        """Start a session in a worktree; it is up and idle."""
        session = await self.start(name)
        await self.workshop.until(session.id, WorkspaceState.READY)
        await self.workshop.come_up(session.id)
        return self.workshop.repository.at(session.workspace.path)


@pytest.fixture
def bench(database: ObservedDatabase, journal: Journal, tmp_path: Path) -> Bench:
    desk, workshop = Desk(database, journal), Workshop(database, journal, tmp_path)
    desk.context = replace(desk.context, worktrees=workshop.worktrees)
    return Bench(desk, workshop)


@pytest.mark.spec("L1")
async def test_a_start_in_a_worktree_is_accepted_as_a_row(bench: Bench) -> None:
    session = await bench.start("fix", branch="feature/x")

    row = await bench.workshop.workspace(session.id)
    assert row
    assert (row.state, row.branch) == (WorkspaceState.REQUESTED, "feature/x")
    assert await bench.desk.database.read(sessions.needing_supervision) == []
    assert bench.workshop.repository.branches() == ["main"]


@pytest.mark.spec("L1", "A3")
async def test_a_start_under_the_same_key_is_the_same_start(bench: Bench) -> None:
    one = await bench.start("fix", idempotency_key="k1")
    two = await bench.start("fix", idempotency_key="k1")

    assert one.id == two.id


@pytest.mark.spec("L1", "K5")
async def test_only_the_owner_may_ask_for_a_worktree(bench: Bench) -> None:
    parent = await bench.desk.settle("parent", bench.workshop.repository.path)

    with pytest.raises(Forbidden, match="only the owner may start a session in a worktree"):
        await bench.start("child", by=session_caller(parent))
    with pytest.raises(Forbidden):
        await bench.start("child", by=READER)


@pytest.mark.spec("L1")
async def test_a_base_without_a_worktree_is_refused(bench: Bench) -> None:
    project = str(bench.workshop.repository.path)

    with pytest.raises(BadInput, match="add --worktree"):
        await bench.desk.ask("start", agent="demo", project=project, base="main")


@pytest.mark.spec("L1", "K5")
async def test_a_child_stays_in_its_parents_worktree(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("parent")
    parent = session_caller(await bench.workshop.id_of("parent"))
    outside = str(bench.workshop.repository.path)

    child = await bench.desk.ask("start", by=parent, agent="demo", project=str(tree.path))
    with pytest.raises(Forbidden, match="in its own project only"):
        await bench.desk.ask("start", by=parent, agent="demo", project=outside)

    assert child.project_path == str(tree.path)


@pytest.mark.spec("L1")
async def test_a_resumed_session_goes_on_in_its_worktree(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
        tree.write("new.txt", "work\n")
        kept = await bench.workshop.end("fix")
        resumed = await bench.desk.ask("resume", session="fix")

        row = await bench.workshop.workspace(resumed.id)
    assert kept.state is WorkspaceState.KEPT
    assert (resumed.project_path, resumed.workspace.path) == (str(tree.path), str(tree.path))
    assert row
    assert row.state is WorkspaceState.READY


@pytest.mark.spec("L3", "A10")
async def test_a_resumed_session_gets_its_removed_worktree_again(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
        removed = await bench.workshop.end("fix")
        resumed = await bench.desk.ask("resume", session="fix")

        row = await bench.workshop.until(resumed.id, WorkspaceState.READY)
    assert removed.state is WorkspaceState.REMOVED
    assert (resumed.project_path, resumed.workspace.path) == (str(tree.path), str(tree.path))
    assert (row.path, row.branch) == (str(tree.path), "rookery/fix")
    assert tree.git("branch", "--show-current") == "rookery/fix"


@pytest.mark.spec("L3", "A10")
async def test_a_restored_worktree_has_the_last_commit_of_its_branch(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
        tree.commit("new.txt", "work\n")
        last = tree.git("rev-parse", "HEAD")
        await bench.desk.ask("land", session="fix", method="squash")
        removed = await bench.workshop.end("fix")
        resumed = await bench.desk.ask("resume", session="fix")
        await bench.workshop.until(resumed.id, WorkspaceState.READY)

    assert (removed.state, removed.last_commit) == (WorkspaceState.REMOVED, last)
    assert tree.git("rev-parse", "HEAD") == last
    assert tree.git("status", "--porcelain") == ""


@pytest.mark.spec("L3", "K3")
async def test_a_landing_is_finished_although_its_caller_leaves(bench: Bench) -> None:
    repository = bench.workshop.repository
    async with bench.workshop.kept():
        tree = await bench.make("fix")
        tip = tree.commit("new.txt", "work\n")
    begun, go = bench.workshop.folder / "begun", bench.workshop.folder / "go"
    for each in (begun, go):
        os.mkfifo(each)
    wait = f"echo x > '{begun}'; read -r x < '{go}'"
    bench.workshop.replace_git(f'case "$*" in "read-tree -m"*) {wait};; esac\nexec $GIT "$@"')
    bench.desk.context = replace(bench.desk.context, worktrees=bench.workshop.worktrees)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(bench.desk.ask, session="fix"), "land")
        with anyio.fail_after(SOON):
            await anyio.Path(begun).read_text()
        tasks.cancel_scope.cancel()
        os.write(os.open(go, os.O_RDWR), b"go\n")

    row = await bench.workshop.workspace(await bench.workshop.id_of("fix"))
    assert row
    assert (row.landed_commit, repository.git("rev-parse", "main")) == (tip, tip)
    assert repository.git("status", "--porcelain") == ""
    repository.commit("later.txt", "nothing is left locked\n")


METHODS = ["auto", "merge", "squash", "rebase"]


@pytest.mark.spec("L3")
@pytest.mark.parametrize("method", METHODS)
async def test_a_landing_that_was_taken_back_keeps_the_worktree(
    bench: Bench, method: str
) -> None:
    repository = bench.workshop.repository
    async with bench.workshop.kept():
        tree = await bench.make("fix")
        tip = tree.commit("new.txt", "work\n")
        before = repository.commit("other.txt", "x\n") if method == "rebase" else "HEAD"
        before = repository.git("rev-parse", before)
        await bench.desk.ask("land", session="fix", method=method)
        repository.git("reset", "--quiet", "--hard", before)
        changed = await bench.desk.ask("diff", session="fix")
        kept = await bench.workshop.end("fix")

    assert [each.path for each in changed.files] == ["new.txt"]
    assert (kept.state, kept.reason) == (
        WorkspaceState.KEPT,
        "1 commit of rookery/fix not in main",
    )
    assert repository.git("rev-parse", "rookery/fix") == tip


@pytest.mark.spec("L3")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("later", ["changed", "rewritten", "in another branch"])
async def test_a_landing_that_is_still_there_lets_the_worktree_go(
    bench: Bench, method: str, later: str
) -> None:
    repository = bench.workshop.repository
    async with bench.workshop.kept():
        tree = await bench.make("fix")
        tree.commit("new.txt", "work\n")
        before = repository.git("rev-parse", "main")
        await bench.desk.ask("land", session="fix", method=method)
        if later == "changed":
            repository.commit("new.txt", "changed since\n")
        elif later == "rewritten":
            repository.git("reset", "--quiet", "--soft", before)
            repository.git("commit", "--quiet", "--message", "in other words")
        else:
            repository.git("checkout", "--quiet", "-b", "topic")
            repository.git("branch", "--force", "main", before)
        removed = await bench.workshop.end("fix")

    assert (removed.state, removed.reason) == (WorkspaceState.REMOVED, "")
    assert "rookery/fix" not in repository.branches()


@pytest.mark.spec("L3", "A10")
async def test_a_restored_worktree_is_removed_again_with_its_session(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
        await bench.workshop.end("fix")
        resumed = await bench.desk.ask("resume", session="fix")
        await bench.workshop.until(resumed.id, WorkspaceState.READY)
        await bench.workshop.finish(resumed.id)
        await bench.workshop.until(resumed.id, WorkspaceState.REMOVED)

    assert not tree.path.exists()
    assert bench.workshop.repository.branches() == ["main"]


@pytest.mark.spec("L3", "A10")
async def test_a_worktree_whose_folder_was_deleted_is_made_again(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
        tree.commit("new.txt", "work\n")
        await bench.workshop.end("fix")
        shutil.rmtree(tree.path)
        resumed = await bench.desk.ask("resume", session="fix")
        await bench.workshop.until(resumed.id, WorkspaceState.READY)

    assert (tree.path / "new.txt").read_text() == "work\n"


@pytest.mark.spec("L3", "A10")
async def test_a_session_is_not_resumed_if_its_own_branch_was_deleted(bench: Bench) -> None:
    repository = bench.workshop.repository
    repository.git("branch", "feature")
    async with bench.workshop.kept():
        session = await bench.start("fix", branch="feature")
        await bench.workshop.until(session.id, WorkspaceState.READY)
        await bench.workshop.end("fix")
        repository.git("branch", "-D", "feature")

        with pytest.raises(CommandRefused, match=r"its branch feature is gone\. Create"):
            await bench.desk.ask("resume", session="fix")


@pytest.mark.spec("L3", "A10")
async def test_a_session_is_not_resumed_if_its_branch_is_checked_out(bench: Bench) -> None:
    repository = bench.workshop.repository
    repository.git("branch", "feature")
    async with bench.workshop.kept():
        session = await bench.start("fix", branch="feature")
        await bench.workshop.until(session.id, WorkspaceState.READY)
        await bench.workshop.end("fix")
        repository.git("checkout", "feature")

        with pytest.raises(CommandRefused, match="its branch feature is checked out in"):
            await bench.desk.ask("resume", session="fix")


@pytest.mark.spec("L3", "A10")
async def test_a_session_does_not_get_the_worktree_of_a_later_one(
    bench: Bench, clock: FakeClock
) -> None:
    async with bench.workshop.kept():
        await bench.make("fix")
        old = await bench.workshop.id_of("fix")
        await bench.workshop.end("fix")
        clock.advance(60)
        await bench.make("fix")

        with pytest.raises(CommandRefused, match="given to another session"):
            await bench.desk.ask("resume", session=old)


@pytest.mark.spec("L3", "A10")
async def test_a_worktree_that_was_resumed_meanwhile_is_not_removed(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
    await bench.workshop.finish(await bench.workshop.id_of("fix"))
    resumed = await bench.desk.ask("resume", session="fix")

    # What a keeper does that has checked the worktree before it was resumed.
    begin = partial(workspaces.begin_removal, path=str(tree.path))
    await bench.desk.database.write(begin)

    row = await bench.workshop.workspace(resumed.id)
    assert row
    assert row.state is WorkspaceState.READY


@pytest.mark.spec("L3")
@pytest.mark.parametrize("how", ["resume", "start"])
async def test_no_session_starts_in_a_worktree_that_is_being_removed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(resume, "REMOVAL_TIMEOUT_S", 0)
    async with bench.workshop.kept():
        tree = await bench.make("fix")
    await bench.workshop.finish(await bench.workshop.id_of("fix"))
    begin = partial(workspaces.begin_removal, path=str(tree.path))
    await bench.desk.database.write(begin)

    asked: dict[str, Any] = {
        "resume": {"session": "fix"},
        "start": {"agent": "demo", "project": str(tree.path)},
    }[how]
    with pytest.raises(CommandRefused, match="is being removed"):
        await bench.desk.ask(how, **asked)


@pytest.mark.spec("L3", "K5")
async def test_only_the_owner_may_have_a_worktree_made_again(bench: Bench) -> None:
    async with bench.workshop.kept():
        await bench.make("fix")
        ended = await bench.workshop.end("fix")
        child = await bench.desk.settle("child", parent=ended.session)

        with pytest.raises(Forbidden, match="whose worktree was removed"):
            await bench.desk.ask("resume", session="fix", by=session_caller(child))


@pytest.mark.spec("L2")
async def test_a_difference_is_shown_of_a_worktree_and_of_a_folder(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
    tree.write("new.txt", "work\n")
    await bench.desk.settle("plain", bench.workshop.repository.path)
    bench.workshop.repository.write("a.txt", "changed\n")

    own = await bench.desk.ask("diff", session="fix")
    plain = await bench.desk.ask("diff", session="plain", stat=True)

    assert (own.is_worktree, own.against, [each.path for each in own.files]) == (
        True,
        "main",
        ["new.txt"],
    )
    assert (plain.is_worktree, plain.against, plain.text) == (False, "HEAD", "")


@pytest.mark.spec("L2", "K5")
async def test_a_session_reads_no_difference_of_strangers(bench: Bench) -> None:
    await bench.desk.settle("one", bench.workshop.repository.path)
    stranger = await bench.desk.settle("two")

    with pytest.raises(Forbidden):
        await bench.desk.ask("diff", session="one", by=session_caller(stranger))
    listed = await bench.desk.ask("workspaces", by=session_caller(stranger))
    assert listed.workspaces == []


@pytest.mark.spec("L3")
async def test_an_idle_session_lands(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
    tip = tree.commit("b.txt", "b\n")

    landed: Landed = await bench.desk.ask("land", session="fix")

    assert (landed.into, landed.commit, landed.commits) == ("main", tip, 1)
    assert bench.workshop.repository.git("rev-parse", "main") == tip
    again: Landed = await bench.desk.ask("land", session="fix")
    assert again.commits == 0


@pytest.mark.spec("L3")
async def test_a_session_that_works_does_not_land(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
    tree.commit("b.txt", "b\n")
    working = TurnStarted(await bench.workshop.id_of("fix"), "go")
    journal = bench.desk.journal
    await bench.desk.database.write(lambda db: journal.append(db, working))

    with pytest.raises(CommandRefused, match=r"fix is working\. Wait until it is idle"):
        await bench.desk.ask("land", session="fix")


@pytest.mark.spec("L3", "K5")
async def test_only_the_owner_lands_and_prunes(bench: Bench) -> None:
    async with bench.workshop.kept():
        await bench.make("fix")
    own = session_caller(await bench.workshop.id_of("fix"))

    with pytest.raises(Forbidden):
        await bench.desk.ask("land", session="fix", by=own)
    with pytest.raises(Forbidden):
        await bench.desk.ask("prune_workspaces", names=("fix",), force=True, by=own)
    with pytest.raises(Forbidden):
        await bench.desk.ask("land", session="fix", by=READER)


@pytest.mark.spec("L3")
async def test_a_kept_worktree_goes_once_it_has_landed(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
        tree.commit("b.txt", "b\n")
        tree.commit("c.txt", "c\n")
        await bench.workshop.end("fix")
        await bench.desk.ask("land", session="fix", method="squash")
        session = await bench.workshop.id_of("fix")
        await bench.workshop.until(session, WorkspaceState.REMOVED)

    assert not tree.path.exists()
    assert bench.workshop.repository.branches() == ["main"]


@pytest.mark.spec("L2", "L3")
async def test_the_list_says_what_is_in_each_worktree(bench: Bench) -> None:
    async with bench.workshop.kept():
        used, kept = await bench.make("used"), await bench.make("kept")
        kept.commit("b.txt", "b\n")
        kept.write("new.txt", "work\n")
        await bench.workshop.end("kept")
        bench.workshop.repository.commit("main.txt", "m\n")
        listed = await bench.desk.ask("workspaces")
        alone = await bench.desk.ask("workspace", session="kept")

    second, first = sorted(listed.workspaces, key=lambda each: each.name)
    assert (first.name, first.in_use, first.ahead, first.behind) == ("used", True, 0, 1)
    assert first.path == str(used.path)
    assert (second.state, second.reason) == (WorkspaceState.KEPT, "new.txt not committed")
    assert (second.ahead, second.behind, second.dirty) == (1, 1, 1)
    assert alone == second


@pytest.mark.spec("L3")
async def test_a_worktree_that_was_removed_by_hand_is_listed_as_gone(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
    bench.workshop.repository.git("worktree", "remove", "--force", str(tree.path))

    (found,) = (await bench.desk.ask("workspaces")).workspaces

    assert found.dirty is None
    assert found.problem == "its folder is gone"


@pytest.mark.spec("L3")
async def test_prune_removes_what_is_safe_and_keeps_the_rest(bench: Bench) -> None:
    async with bench.workshop.kept():
        dirty, merged = await bench.make("dirty"), await bench.make("merged")
        dirty.write("new.txt", "work\n")
        merged.commit("b.txt", "b\n")
        await bench.workshop.end("dirty")
        await bench.workshop.end("merged")
        bench.workshop.repository.git("merge", "--quiet", "rookery/merged")
        pruned = await bench.desk.ask("prune_workspaces")

    assert [(each.name, each.state) for each in pruned.workspaces] == [
        ("dirty", WorkspaceState.KEPT),
        ("merged", WorkspaceState.REMOVED),
    ]
    assert (dirty.path.exists(), merged.path.exists()) == (True, False)


@pytest.mark.spec("L3")
async def test_force_needs_a_name_and_keeps_an_unmerged_branch(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
        tree.commit("b.txt", "b\n")
        tree.write("new.txt", "work\n")
        await bench.workshop.end("fix")
        with pytest.raises(CommandRefused, match="--force NAME"):
            await bench.desk.ask("prune_workspaces", force=True)
        with pytest.raises(CommandRefused, match="other has no worktree"):
            await bench.desk.ask("prune_workspaces", names=("other",), force=True)
        pruned = await bench.desk.ask("prune_workspaces", names=("fix",), force=True)

    (only,) = pruned.workspaces
    assert only.state is WorkspaceState.REMOVED
    assert only.reason == "the branch rookery/fix stays: it is not merged"
    assert not tree.path.exists()
    assert "rookery/fix" in bench.workshop.repository.branches()


@pytest.mark.spec("L3")
async def test_a_worktree_in_use_is_not_pruned(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")

        with pytest.raises(CommandRefused, match="A session works in the worktree of fix"):
            await bench.desk.ask("prune_workspaces", names=("fix",), force=True)

    assert tree.path.exists()


@pytest.mark.spec("L3")
async def test_the_end_of_a_worktree_can_be_waited_for(bench: Bench) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
        tree.write("new.txt", "work\n")
        await bench.workshop.finish(SessionId(await bench.workshop.id_of("fix")))
        with anyio.fail_after(30):
            found = await bench.desk.ask("workspace", session="fix", timeout=30)

    assert (found.state, found.reason) == (WorkspaceState.KEPT, "new.txt not committed")


@pytest.mark.spec("L3")
async def test_the_end_of_a_session_is_dealt_with_at_once_if_another_works_in_its_worktree(
    bench: Bench,
) -> None:
    async with bench.workshop.kept():
        tree = await bench.make("fix")
        await bench.workshop.settle("helper", tree.path)
        fix = await bench.workshop.id_of("fix")
        await bench.workshop.finish(fix)
        with anyio.fail_after(5):
            seen = await bench.desk.ask("workspace", session=fix, timeout=60)

    assert (seen.state, seen.in_use, seen.users) == (WorkspaceState.READY, True, ["helper"])
