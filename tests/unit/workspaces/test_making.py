from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import anyio
import pytest

from rookery.model.errors import CommandRefused
from rookery.model.lifecycle import Status
from rookery.model.workspaces import WorkspaceState
from rookery.store.journal import Journal
from rookery.workspace_settings import RepositorySettings, WorkspaceSettings
from tests.support.fakes.database import ObservedDatabase
from tests.support.repositories import GitFolder, make_repository
from tests.support.waiting import kinds
from tests.support.workshop import Workshop

pytestmark = pytest.mark.anyio


@pytest.fixture
def workshop(database: ObservedDatabase, journal: Journal, tmp_path: Path) -> Workshop:
    return Workshop(database, journal, tmp_path)


def with_settings(
    database: ObservedDatabase, journal: Journal, folder: Path, **settings: object
) -> Workshop:
    return Workshop(database, journal, folder, WorkspaceSettings.model_validate(settings))


@pytest.mark.spec("L1")
async def test_a_session_gets_a_worktree_and_a_branch_of_its_own(workshop: Workshop) -> None:
    async with workshop.kept():
        session = await workshop.request("fix")
        found = await workshop.until(session.id, WorkspaceState.READY)

    tree = workshop.repository.at(found.path)
    assert tree.git("branch", "--show-current") == "rookery/fix"
    assert tree.git("rev-parse", "HEAD") == workshop.repository.git("rev-parse", "main")
    assert Path(found.path).is_relative_to(workshop.root)
    assert session.project_path == found.path
    assert session.workspace
    assert (session.workspace.base, session.workspace.branch) == ("main", "rookery/fix")
    assert stat.S_IMODE(Path(found.path).parent.stat().st_mode) == 0o700


@pytest.mark.spec("L1")
async def test_a_given_branch_begins_at_the_given_base(workshop: Workshop) -> None:
    first = workshop.repository.git("rev-parse", "HEAD")
    workshop.repository.commit("a.txt", "two\n")
    workshop.repository.git("tag", "old", first)
    async with workshop.kept():
        tree = await workshop.make("fix", branch="feature/x", base="old")

    assert tree.git("branch", "--show-current") == "feature/x"
    assert tree.git("rev-parse", "HEAD") == first


@pytest.mark.spec("L1")
async def test_an_existing_branch_is_checked_out_and_never_deleted(workshop: Workshop) -> None:
    workshop.repository.git("branch", "feature")
    async with workshop.kept():
        tree = await workshop.make("fix", branch="feature")
        removed = await workshop.end("fix")

    assert removed.state is WorkspaceState.REMOVED
    assert not tree.path.exists()
    assert "feature" in workshop.repository.branches()


@pytest.mark.spec("L1")
async def test_two_starts_at_once_get_two_worktrees(workshop: Workshop) -> None:
    async with workshop.kept():
        sessions = await asyncio.gather(*(workshop.request(f"fix-{n}") for n in range(6)))
        found = [await workshop.until(each.id, WorkspaceState.READY) for each in sessions]

    assert len({each.path for each in found}) == len({each.branch for each in found}) == 6
    assert all(workshop.file(each, "a.txt").exists() for each in found)


@pytest.mark.spec("L1")
async def test_a_branch_that_is_left_over_does_not_block_its_name(workshop: Workshop) -> None:
    workshop.repository.git("branch", "rookery/fix")
    async with workshop.kept():
        tree = await workshop.make("fix")

    assert tree.git("branch", "--show-current") == "rookery/fix-2"


@pytest.mark.spec("L1")
async def test_two_sessions_cannot_have_the_same_branch(workshop: Workshop) -> None:
    await workshop.request("one", branch="feature")

    with pytest.raises(CommandRefused, match="has a worktree already"):
        await workshop.request("two", branch="feature")


@pytest.mark.spec("L1")
async def test_uncommitted_changes_stay_behind_and_are_counted(workshop: Workshop) -> None:
    workshop.repository.write("a.txt", "changed\n")
    workshop.repository.write("new.txt", "new\n")
    async with workshop.kept():
        session = await workshop.request("fix")
        found = await workshop.until(session.id, WorkspaceState.READY)

    assert session.workspace
    assert session.workspace.uncommitted == 2
    assert workshop.file(found, "a.txt").read_text() == "one\n"
    assert not workshop.file(found, "new.txt").exists()


@pytest.mark.spec("L1")
@pytest.mark.parametrize("name", ["my project", "café ☕", "-dash", "a'b\"c"])
async def test_spaces_and_unicode_in_paths_are_no_problem(
    database: ObservedDatabase, journal: Journal, tmp_path: Path, name: str
) -> None:
    workshop = Workshop(database, journal, tmp_path, repository_name=name)
    workshop.repository.commit("naïve näme.txt", "x")
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.commit("naïve näme.txt", "y")
        workshop.repository.git("merge", "--quiet", "rookery/fix")
        removed = await workshop.end("fix")

    assert (removed.state, removed.reason) == (WorkspaceState.REMOVED, "")
    assert workshop.repository.branches() == ["main"]


@pytest.mark.spec("L1")
async def test_a_session_below_the_root_starts_in_the_same_folder_of_its_worktree(
    workshop: Workshop,
) -> None:
    workshop.repository.commit("src/app/main.py", "x")
    async with workshop.kept():
        session = await workshop.request("fix", folder=workshop.repository.path / "src/app")
        found = await workshop.until(session.id, WorkspaceState.READY)

    assert session.project_path == str(Path(found.path, "src/app"))
    assert workshop.file(found, "src/app/main.py").exists()


@pytest.mark.spec("L1")
async def test_a_folder_that_is_not_committed_is_refused(workshop: Workshop) -> None:
    workshop.repository.write("new/x.txt", "x")

    with pytest.raises(CommandRefused, match="new is not in commit"):
        await workshop.request("fix", folder=workshop.repository.path / "new")


@pytest.mark.spec("L1")
async def test_a_detached_head_is_a_base_without_a_branch(workshop: Workshop) -> None:
    workshop.repository.git("checkout", "--quiet", "--detach")
    async with workshop.kept():
        session = await workshop.request("fix")
        await workshop.until(session.id, WorkspaceState.READY)

    assert session.workspace
    assert session.workspace.base == ""
    assert session.workspace.base_commit == workshop.repository.git("rev-parse", "HEAD")


@pytest.mark.spec("L1")
async def test_a_bare_repository_can_have_worktrees(workshop: Workshop, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    workshop.repository.git("clone", "--quiet", "--bare", ".", str(bare))
    async with workshop.kept():
        session = await workshop.request("fix", folder=bare)
        found = await workshop.until(session.id, WorkspaceState.READY)
        removed = await workshop.end("fix")

    assert Path(found.path).name == "fix"
    assert (removed.state, workshop.file(found, "").exists()) == (WorkspaceState.REMOVED, False)


@pytest.mark.spec("L1")
async def test_a_worktree_of_a_worktree_is_one_of_the_same_repository(
    workshop: Workshop,
) -> None:
    async with workshop.kept():
        first = await workshop.make("first")
        session = await workshop.request("second", folder=first.path)
        found = await workshop.until(session.id, WorkspaceState.READY)

    assert session.workspace
    assert session.workspace.base == "rookery/first"
    assert Path(found.path).parent == first.path.parent


@pytest.mark.spec("L1")
async def test_a_folder_outside_of_git_is_refused(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()

    with pytest.raises(CommandRefused, match="is not in a git repository"):
        await workshop.request("fix", folder=tmp_path / "plain")


@pytest.mark.spec("L1")
async def test_a_repository_without_commits_is_refused(
    workshop: Workshop, tmp_path: Path
) -> None:
    empty = GitFolder(tmp_path / "empty", workshop.repository.home)
    empty.path.mkdir()
    empty.git("init", "--quiet")

    with pytest.raises(CommandRefused, match="has no commits yet"):
        await workshop.request("fix", folder=empty.path)


@pytest.mark.spec("L1")
@pytest.mark.parametrize(
    ("branch", "base", "why"),
    [
        ("main", "", "is checked out in"),
        ("a..b", "", "not a valid name"),
        ("--force", "", "is not the name of a branch"),
        ("", "nowhere", "has no commit, branch or tag named 'nowhere'"),
        ("", "--all", "is not the name of a branch or a commit"),
        ("other", "main", "so it cannot begin at main"),
    ],
)
async def test_what_git_would_refuse_is_refused_in_words(
    workshop: Workshop, branch: str, base: str, why: str
) -> None:
    workshop.repository.git("branch", "other")

    with pytest.raises(CommandRefused, match=why):
        await workshop.request("fix", branch=branch, base=base)


@pytest.mark.spec("L1")
async def test_files_are_copied_and_the_command_is_run_as_configured(
    database: ObservedDatabase, journal: Journal, tmp_path: Path
) -> None:
    setup = ["sh", "-c", 'cp .env made && echo "$ROOKERY_SOURCE" >> made']
    workshop = with_settings(database, journal, tmp_path, setup=setup, copy=[".env", "absent"])
    workshop.repository.write(".env", "KEY=1\n")
    async with workshop.kept():
        tree = await workshop.make("fix")

    made = (tree.path / "made").read_text()
    assert made == f"KEY=1\n{workshop.repository.path}\n"


@pytest.mark.spec("L1")
async def test_a_repository_can_have_settings_of_its_own(
    database: ObservedDatabase, journal: Journal, tmp_path: Path
) -> None:
    own = {str(tmp_path / "project"): {"setup": ["touch", "own"]}}
    workshop = with_settings(
        database, journal, tmp_path, setup=["touch", "general"], repositories=own
    )
    async with workshop.kept():
        tree = await workshop.make("fix")

    assert (tree.path / "own").exists()
    assert not (tree.path / "general").exists()
    assert WorkspaceSettings().of("/elsewhere") == RepositorySettings(setup=(), copy=())


@pytest.mark.spec("L1")
async def test_nothing_is_copied_through_a_link_of_the_repository(
    database: ObservedDatabase, journal: Journal, tmp_path: Path
) -> None:
    workshop = with_settings(database, journal, tmp_path, copy=["config/key"])
    outside = tmp_path / "outside"
    outside.mkdir()
    workshop.repository.git("branch", "old")
    (workshop.repository.path / "config").symlink_to(outside)
    workshop.repository.git("add", "--all")
    workshop.repository.git("commit", "--quiet", "--message", "a link")
    (workshop.repository.path / "config").unlink()
    workshop.repository.write("config/key", "secret")
    async with workshop.kept():
        session = await workshop.request("fix")
        found = await workshop.until(session.id, WorkspaceState.REMOVED)

    assert list(outside.iterdir()) == []
    assert "a link of the repository leads elsewhere" in found.reason


@pytest.mark.spec("L1")
async def test_no_folder_is_copied_through_a_link_within_it(
    database: ObservedDatabase, journal: Journal, tmp_path: Path
) -> None:
    workshop = with_settings(database, journal, tmp_path, copy=["config"])
    outside = tmp_path / "outside"
    outside.mkdir()
    workshop.repository.write("config/known", "known")
    (workshop.repository.path / "config/sub").symlink_to(outside)
    workshop.repository.git("add", "--all")
    workshop.repository.git("commit", "--quiet", "--message", "a link")
    (workshop.repository.path / "config/sub").unlink()
    workshop.repository.write("config/sub/key", "secret")
    async with workshop.kept():
        session = await workshop.request("fix")
        found = await workshop.until(session.id, WorkspaceState.REMOVED)

    assert list(outside.iterdir()) == []
    assert "config/sub is not copied" in found.reason


@pytest.mark.spec("L1", "A3")
@pytest.mark.parametrize("setup", [["sh", "-c", "echo no such package >&2; exit 3"], ["nope"]])
async def test_a_set_up_that_fails_is_a_failed_start_that_leaves_nothing(
    database: ObservedDatabase, journal: Journal, tmp_path: Path, setup: list[str]
) -> None:
    workshop = with_settings(database, journal, tmp_path, setup=setup)
    async with workshop.kept():
        session = await workshop.request("fix")
        await workshop.until(session.id, WorkspaceState.REMOVED)

    over = await workshop.session(session.id)
    assert over.status is Status.FAILED
    assert "the set-up command" in over.reason
    assert ("no such package" in over.reason) == (setup[0] == "sh")
    check_nothing_left(workshop)


@pytest.mark.spec("L1")
async def test_a_set_up_that_takes_too_long_is_ended(
    database: ObservedDatabase, journal: Journal, tmp_path: Path
) -> None:
    workshop = with_settings(
        database, journal, tmp_path, setup=["sleep", "600"], setup_seconds=0.1
    )
    async with workshop.kept():
        session = await workshop.request("fix")
        await workshop.until(session.id, WorkspaceState.REMOVED)

    assert "sleep took longer than 0.1 s." in (await workshop.session(session.id)).reason
    check_nothing_left(workshop)


@pytest.mark.spec("L1", "A3")
async def test_a_failure_of_git_is_reported_in_its_own_words_and_leaves_nothing(
    workshop: Workshop,
) -> None:
    blob = workshop.repository.git("rev-parse", "HEAD:a.txt")
    objects = workshop.repository.path / ".git/objects"
    session = await workshop.request("fix")
    (objects / blob[:2] / blob[2:]).unlink()
    async with workshop.kept():
        await workshop.until(session.id, WorkspaceState.REMOVED)

    over = await workshop.session(session.id)
    assert over.status is Status.FAILED
    assert "git worktree: " in over.reason
    assert "unable to read" in over.reason
    check_nothing_left(workshop)


@pytest.mark.spec("L1", "A4")
async def test_a_session_that_is_ended_during_its_set_up_leaves_nothing(
    database: ObservedDatabase, journal: Journal, tmp_path: Path
) -> None:
    pipe = tmp_path / "pid"
    os.mkfifo(pipe)
    setup = ["sh", "-c", f"echo $$ > {pipe}; sleep 600"]
    workshop = with_settings(database, journal, tmp_path, setup=setup)
    async with workshop.kept():
        session = await workshop.request("fix")
        pid = await anyio.to_thread.run_sync(pipe.read_text)
        await workshop.ask_to_end(session.id)
        await workshop.finish(session.id)
        await workshop.until(session.id, WorkspaceState.REMOVED)

    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)
    check_nothing_left(workshop)


@pytest.mark.spec("L1")
async def test_a_start_reports_its_steps(
    database: ObservedDatabase, journal: Journal, tmp_path: Path
) -> None:
    workshop = with_settings(database, journal, tmp_path, setup=["true"], copy=[".env"])
    async with workshop.kept():
        await workshop.make("fix")

    steps = [each for each in await database.read(kinds) if each.startswith("workspace")]
    assert steps == [*["workspace-progressed"] * 3, "workspace-ready"]


@pytest.mark.spec("L1")
async def test_submodules_are_named_and_not_initialised(
    workshop: Workshop, tmp_path: Path
) -> None:
    part = make_repository(tmp_path / "part", workshop.repository.home)
    allow = ("-c", "protocol.file.allow=always")
    workshop.repository.git(*allow, "submodule", "--quiet", "add", str(part.path), "part")
    workshop.repository.git("commit", "--quiet", "--message", "part")
    async with workshop.kept():
        session = await workshop.request("fix")
        found = await workshop.until(session.id, WorkspaceState.READY)
        inside = list(workshop.file(found, "part").iterdir())
        removed = await workshop.end("fix")

    assert session.workspace
    assert session.workspace.has_submodules
    assert inside == []
    assert removed.state is WorkspaceState.REMOVED


def check_nothing_left(workshop: Workshop) -> None:
    assert workshop.repository.branches() == ["main"]
    assert workshop.repository.git("worktree", "list").count("\n") == 0
    assert not workshop.root.exists() or list(workshop.root.rglob("*")) == []
