from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rookery.model.errors import CommandRefused, GitFailed, LandingConflict
from rookery.model.workspaces import WorkspaceState
from rookery.store.journal import Journal
from rookery.workspaces import landing
from rookery.workspaces.landing import Landing, LandMethod, LandRequest
from tests.support.fakes.database import ObservedDatabase
from tests.support.repositories import GitFolder
from tests.support.workshop import Workshop

pytestmark = pytest.mark.anyio


@pytest.fixture
def workshop(database: ObservedDatabase, journal: Journal, tmp_path: Path) -> Workshop:
    return Workshop(database, journal, tmp_path)


@pytest.fixture
async def tree(workshop: Workshop) -> GitFolder:
    async with workshop.kept():
        return await workshop.make("fix")


async def prepare(workshop: Workshop, **request: object) -> Landing:
    found = await workshop.until(await workshop.id_of("fix"), WorkspaceState.READY)
    wanted = LandRequest(name="fix", **request)  # type: ignore[arg-type]
    return await landing.prepare(workshop.worktrees.git, found, wanted)


async def carry_out(workshop: Workshop, prepared: Landing) -> None:
    found = await workshop.until(await workshop.id_of("fix"), WorkspaceState.READY)
    await landing.carry_out(workshop.worktrees.git, found, prepared)


async def land(workshop: Workshop, **request: object) -> Landing:
    prepared = await prepare(workshop, **request)
    await carry_out(workshop, prepared)
    return prepared


@pytest.mark.spec("L3")
async def test_a_file_whose_name_is_not_utf_8_lands(
    workshop: Workshop, tree: GitFolder
) -> None:
    name = tree.write_oddly_named()

    with pytest.raises(CommandRefused, match=re.escape(name)):
        await prepare(workshop)
    landed = await land(workshop, commit_message="Add it")

    assert landed.committed == (name,)
    assert landed.new == workshop.repository.git("rev-parse", "main")


@pytest.mark.spec("L3")
async def test_a_conflict_names_files_whose_names_are_not_utf_8(
    workshop: Workshop, tree: GitFolder
) -> None:
    for folder, text in ((tree, "ours\n"), (workshop.repository, "theirs\n")):
        name = folder.write_oddly_named(text)
        folder.git("add", "--all")
        folder.git("commit", "--quiet", "--message", "add it")

    with pytest.raises(LandingConflict, match=re.escape(name)) as conflict:
        await prepare(workshop)

    assert conflict.value.details["files"] == name


def commits_of(workshop: Workshop, *branches: str) -> list[str]:
    return [workshop.repository.git("rev-parse", each) for each in branches]


def diverge(workshop: Workshop, tree: GitFolder) -> None:
    """Let both sides make commits that do not conflict."""
    tree.commit("b.txt", "b\n", "add b")
    tree.commit("c.txt", "c\n", "add c")
    workshop.repository.commit("main.txt", "m\n", "add main")


@pytest.mark.spec("L3")
async def test_a_branch_that_has_not_moved_is_moved_forward(
    workshop: Workshop, tree: GitFolder
) -> None:
    tip = tree.commit("b.txt", "b\n")

    landed = await land(workshop)

    assert (landed.into, landed.commits, landed.new) == ("main", 1, tip)
    assert workshop.repository.git("rev-parse", "main") == tip
    assert (workshop.repository.path / "b.txt").read_text() == "b\n"
    assert workshop.repository.git("status", "--porcelain") == ""


@pytest.mark.spec("L3")
@pytest.mark.parametrize("method", [LandMethod.AUTO, LandMethod.MERGE])
async def test_a_branch_that_has_moved_is_merged(
    workshop: Workshop, tree: GitFolder, method: LandMethod
) -> None:
    diverge(workshop, tree)

    await land(workshop, method=method)

    log = workshop.repository.git("log", "-1", "--format=%s|%an|%p").split("|")
    assert log[:2] == ["Merge fix into main", "Anna"]
    assert len(log[2].split()) == 2
    assert workshop.repository.git("status", "--porcelain") == ""
    assert (workshop.repository.path / "c.txt").exists()


@pytest.mark.spec("L3")
async def test_squash_makes_one_commit_of_all(workshop: Workshop, tree: GitFolder) -> None:
    diverge(workshop, tree)
    before = workshop.repository.git("rev-parse", "main")

    await land(workshop, method=LandMethod.SQUASH)

    assert workshop.repository.git("rev-parse", "main^") == before
    message = workshop.repository.git("log", "-1", "--format=%B")
    assert message == "Land fix\n\n- add b\n- add c"
    again = await land(workshop, method=LandMethod.SQUASH)
    assert again.new == again.old


@pytest.mark.spec("L3")
async def test_rebase_copies_each_commit_with_its_author(
    workshop: Workshop, tree: GitFolder
) -> None:
    tree.git("config", "user.name", "Agent Ünal")
    diverge(workshop, tree)
    tree.git("config", "--unset", "user.name")

    await land(workshop, method=LandMethod.REBASE)

    log = workshop.repository.git("log", "--format=%s|%an|%cn").splitlines()
    assert log == [
        "add c|Agent Ünal|Anna",
        "add b|Agent Ünal|Anna",
        "add main|Agent Ünal|Agent Ünal",
        "first|Anna|Anna",
    ]
    assert workshop.repository.git("status", "--porcelain") == ""


@pytest.mark.spec("L3")
@pytest.mark.parametrize("method", list(LandMethod))
async def test_a_conflict_changes_nothing_and_names_the_files(
    workshop: Workshop, tree: GitFolder, method: LandMethod
) -> None:
    tree.commit("a.txt", "theirs\n")
    workshop.repository.commit("a.txt", "ours\n")
    before = commits_of(workshop, "main", "rookery/fix")

    with pytest.raises(LandingConflict, match=r"a\.txt") as caught:
        await land(workshop, method=method)

    assert caught.value.details == {"files": "a.txt"}
    assert commits_of(workshop, "main", "rookery/fix") == before
    assert workshop.repository.git("status", "--porcelain") == ""
    assert tree.git("status", "--porcelain") == ""
    assert workshop.repository.git("worktree", "list").count("\n") == 1


@pytest.mark.spec("L3")
@pytest.mark.parametrize("method", list(LandMethod))
async def test_a_conflict_commits_nothing_on_the_branch_of_the_worktree(
    workshop: Workshop, tree: GitFolder, method: LandMethod
) -> None:
    tree.write("a.txt", "theirs\n")
    tree.write("new.txt", "work\n")
    workshop.repository.commit("a.txt", "ours\n")
    before = commits_of(workshop, "main", "rookery/fix")
    status = tree.git("status", "--porcelain")

    with pytest.raises(LandingConflict):
        await land(workshop, method=method, commit_message="all of it")

    assert commits_of(workshop, "main", "rookery/fix") == before
    assert tree.git("status", "--porcelain") == status


@pytest.mark.spec("L3")
async def test_a_base_that_moves_meanwhile_leaves_the_files_uncommitted(
    workshop: Workshop, tree: GitFolder
) -> None:
    tree.write("new.txt", "work\n")
    prepared = await prepare(workshop, commit_message="all of it")
    workshop.repository.commit("other.txt", "x\n")
    before = commits_of(workshop, "main", "rookery/fix")

    with pytest.raises(GitFailed, match="cannot lock ref"):
        await carry_out(workshop, prepared)

    assert commits_of(workshop, "main", "rookery/fix") == before
    assert tree.git("status", "--porcelain") == "A  new.txt"


@pytest.mark.spec("L3")
async def test_nothing_lands_while_something_is_not_committed(
    workshop: Workshop, tree: GitFolder
) -> None:
    tree.commit("b.txt", "b\n")
    tree.write("new.txt", "work\n")

    with pytest.raises(CommandRefused, match=r"not committed new\.txt\. Commit them first"):
        await land(workshop)

    assert not (workshop.repository.path / "b.txt").exists()


@pytest.mark.spec("L3")
async def test_everything_is_committed_first_if_a_message_is_given(
    workshop: Workshop, tree: GitFolder
) -> None:
    tree.write("new.txt", "work\n")
    tree.write("a.txt", "changed\n")
    tree.write(".env", "SECRET=1\n")

    landed = await land(workshop, commit_message="-m evil\n\n'; rm", copied=(".env",))

    assert landed.committed == ("a.txt", "new.txt")
    assert workshop.repository.git("log", "-1", "--format=%B") == "-m evil\n\n'; rm"
    assert (workshop.repository.path / "new.txt").exists()
    assert tree.git("status", "--porcelain") == "?? .env"


@pytest.mark.spec("L3")
async def test_a_repository_within_the_worktree_is_not_committed_as_a_mere_link(
    workshop: Workshop, tree: GitFolder
) -> None:
    tree.write("new.txt", "work\n")
    inner = tree.at(tree.path / "new/tool ü")
    inner.path.mkdir(parents=True)
    inner.git("init", "--quiet")
    inner.commit("c.txt", "work\n")
    before = commits_of(workshop, "main", "rookery/fix")

    with pytest.raises(CommandRefused, match=r"new/tool ü/ has a repository of its own") as why:
        await land(workshop, commit_message="all of it")

    assert ".git" in str(why.value)
    assert commits_of(workshop, "main", "rookery/fix") == before
    assert tree.git("status", "--porcelain", "--untracked-files=no") == ""


@pytest.mark.spec("L3")
async def test_changes_in_the_checkout_of_the_base_are_never_touched(
    workshop: Workshop, tree: GitFolder
) -> None:
    tree.commit("a.txt", "landed\n")
    workshop.repository.write("a.txt", "my own work\n")

    with pytest.raises(
        CommandRefused, match=r"is checked out in .* uncommitted changes: a\.txt"
    ):
        await land(workshop)

    assert (workshop.repository.path / "a.txt").read_text() == "my own work\n"


@pytest.mark.spec("L3")
async def test_an_untracked_file_in_the_way_stops_the_landing(
    workshop: Workshop, tree: GitFolder
) -> None:
    tree.commit("new.txt", "landed\n")
    workshop.repository.write("new.txt", "my own work\n")
    before = workshop.repository.git("rev-parse", "main")

    with pytest.raises(GitFailed, match="would be overwritten"):
        await land(workshop)

    assert (workshop.repository.path / "new.txt").read_text() == "my own work\n"
    assert workshop.repository.git("rev-parse", "main") == before


@pytest.mark.spec("L3")
async def test_a_base_that_is_not_checked_out_is_moved_without_a_tree(
    workshop: Workshop, tree: GitFolder
) -> None:
    workshop.repository.git("checkout", "--quiet", "-b", "elsewhere")
    workshop.repository.write("a.txt", "my own work\n")
    tip = tree.commit("b.txt", "b\n")

    landed = await land(workshop)

    assert landed.checkout == ""
    assert workshop.repository.git("rev-parse", "main") == tip
    assert (workshop.repository.path / "a.txt").read_text() == "my own work\n"


@pytest.mark.spec("L3")
async def test_a_base_that_moves_meanwhile_is_not_overwritten(
    workshop: Workshop, tree: GitFolder
) -> None:
    workshop.repository.git("checkout", "--quiet", "-b", "elsewhere")
    tree.commit("b.txt", "b\n")
    prepared = await prepare(workshop)
    moved = workshop.repository.commit("other.txt", "x\n")
    workshop.repository.git("update-ref", "refs/heads/main", moved)

    with pytest.raises(GitFailed, match="cannot lock ref"):
        await carry_out(workshop, prepared)

    assert workshop.repository.git("rev-parse", "main") == moved


@pytest.mark.spec("L3")
async def test_a_checkout_that_switches_to_another_branch_meanwhile_stays_as_it_is(
    workshop: Workshop, tree: GitFolder
) -> None:
    tree.commit("b.txt", "b\n")
    prepared = await prepare(workshop)
    workshop.repository.git("checkout", "--quiet", "-b", "other")
    before = commits_of(workshop, "main", "other")

    with pytest.raises(GitFailed, match="HEAD is now at refs/heads/other"):
        await carry_out(workshop, prepared)

    assert commits_of(workshop, "main", "other") == before
    assert not (workshop.repository.path / "b.txt").exists()
    workshop.repository.commit("c.txt", "nothing is left locked\n")


@pytest.mark.spec("L3")
async def test_a_checked_out_base_that_is_reset_meanwhile_is_not_moved(
    workshop: Workshop, tree: GitFolder
) -> None:
    first = workshop.repository.git("rev-parse", "main")
    workshop.repository.commit("bad.txt", "x\n", "a mistake")
    tree.commit("b.txt", "b\n")
    prepared = await prepare(workshop)
    workshop.repository.git("reset", "--quiet", "--hard", first)

    with pytest.raises(GitFailed, match="cannot lock ref"):
        await carry_out(workshop, prepared)

    assert workshop.repository.git("rev-parse", "main") == first
    assert workshop.repository.git("status", "--porcelain") == ""


@pytest.mark.spec("L3")
async def test_a_base_that_is_checked_out_meanwhile_is_not_moved(
    workshop: Workshop, tree: GitFolder
) -> None:
    workshop.repository.git("checkout", "--quiet", "-b", "elsewhere")
    tree.commit("b.txt", "b\n")
    prepared = await prepare(workshop)
    workshop.repository.git("checkout", "--quiet", "main")

    with pytest.raises(CommandRefused, match=r"main was checked out in .* meanwhile"):
        await carry_out(workshop, prepared)

    assert workshop.repository.git("status", "--porcelain") == ""


@pytest.mark.spec("L3")
@pytest.mark.parametrize("command", ["checkout -b other", "symbolic-ref HEAD refs/heads/other"])
async def test_no_other_branch_can_be_checked_out_while_the_files_are_updated(
    workshop: Workshop, tree: GitFolder, command: str
) -> None:
    tip = tree.commit("b.txt", "b\n")
    workshop.replace_git(
        f'case "$*" in "read-tree -m"*) $GIT {command} && touch ../switched;; esac\n'
        'exec $GIT "$@"'
    )

    await land(workshop)

    assert not (workshop.repository.path.parent / "switched").exists()
    assert workshop.repository.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert workshop.repository.git("rev-parse", "main") == tip
    assert workshop.repository.git("status", "--porcelain") == ""


@pytest.mark.spec("L3")
async def test_the_files_go_back_if_the_branch_cannot_be_moved_after_all(
    workshop: Workshop, tree: GitFolder
) -> None:
    tree.commit("b.txt", "b\n")
    before = commits_of(workshop, "main", "rookery/fix")
    # The transaction ends between the files and the commit, as it does on a full disk.
    workshop.replace_git(
        'case "$*" in update-ref*--stdin*) head -n 4 | $GIT "$@"; exit 1;; esac\nexec $GIT "$@"'
    )

    with pytest.raises(GitFailed):
        await land(workshop)

    assert commits_of(workshop, "main", "rookery/fix") == before
    assert workshop.repository.git("status", "--porcelain") == ""
    assert not (workshop.repository.path / "b.txt").exists()


@contextmanager
def fixed(folder: Path) -> Iterator[None]:
    """Let no file in a folder be replaced, not even by root; skip the test if that fails."""
    chattr = shutil.which("chattr")
    if os.geteuid():
        folder.chmod(0o500)
    elif not chattr or subprocess.run([chattr, "+i", folder], check=False).returncode:
        pytest.skip("a folder cannot be fixed here")
    try:
        yield
    finally:
        if os.geteuid():
            folder.chmod(0o700)
        elif chattr:
            subprocess.run([chattr, "-i", folder], check=True)


@pytest.mark.spec("L3")
async def test_files_that_are_updated_before_another_cannot_be_are_put_back(
    workshop: Workshop, tree: GitFolder
) -> None:
    repository = workshop.repository
    for each in ("a/f", "c/old", "z/f"):
        repository.commit(each, "one\n")
    tree.git("merge", "--quiet", "main")
    (tree.path / "c/old").unlink()
    (tree.path / "a.txt").unlink()
    (tree.path / "a/link").symlink_to("f")
    for each in ("a/f", "a/new", "a.txt/new ü", "z/f"):
        tree.commit(each, "landed\n")
    before = commits_of(workshop, "main", "rookery/fix")

    with (
        fixed(repository.path / "z"),
        pytest.raises(GitFailed, match="unable to unlink") as why,
    ):
        await land(workshop)

    assert "could not be put back" not in str(why.value)
    assert commits_of(workshop, "main", "rookery/fix") == before
    assert repository.git("status", "--porcelain") == ""
    assert (repository.path / "a/f").read_text() == "one\n"
    assert not (repository.path / "a/new").exists()
    await land(workshop)
    assert (repository.path / "z/f").read_text() == "landed\n"


@pytest.mark.spec("L3")
async def test_files_that_a_failed_update_leaves_with_other_content_are_named(
    workshop: Workshop, tree: GitFolder
) -> None:
    workshop.repository.commit("b.txt", "one\n")
    tree.git("merge", "--quiet", "main")
    tree.commit("b.txt", "landed\n")
    tree.commit("a.txt", "landed\n")
    tree.commit("new.txt", "landed\n")
    # It writes one file wholly and two in part, and loses one, as on a full disk.
    written = "echo landed > a.txt; printf lan > new.txt; rm b.txt"
    workshop.replace_git(
        f'case "$*" in "read-tree -m"*) {written}; exit 128;; esac\nexec $GIT "$@"'
    )

    with pytest.raises(GitFailed, match=r"could not be put back: new\.txt"):
        await land(workshop)

    assert workshop.repository.git("status", "--porcelain") == "?? new.txt"
    assert (workshop.repository.path / "new.txt").read_text() == "lan"


@pytest.mark.spec("L3")
async def test_no_file_is_removed_if_a_failed_update_cannot_be_compared(
    workshop: Workshop, tree: GitFolder
) -> None:
    tree.commit("new.txt", "landed\n")
    workshop.replace_git(
        'case "$*" in "read-tree -m"*) echo mine > new.txt; exit 128;;'
        ' *--index-info*) exit 128;; esac\nexec $GIT "$@"'
    )

    with pytest.raises(GitFailed, match=r"could not be put back: .* exit status 128"):
        await land(workshop)

    assert (workshop.repository.path / "new.txt").read_text() == "mine\n"


@pytest.mark.spec("L3")
@pytest.mark.parametrize("name", ["a.txt", "new.txt"])
async def test_a_refused_update_leaves_a_file_that_already_has_the_landed_content(
    workshop: Workshop, tree: GitFolder, name: str
) -> None:
    tree.commit(name, "landed\n")
    prepared = await prepare(workshop)
    workshop.repository.write(name, "landed\n")

    with pytest.raises(GitFailed):
        await carry_out(workshop, prepared)

    assert (workshop.repository.path / name).read_text() == "landed\n"


@pytest.mark.spec("L3")
@pytest.mark.parametrize("hint", ["--assume-unchanged", "--skip-worktree"])
async def test_a_change_that_git_was_told_to_overlook_stops_the_landing(
    workshop: Workshop, tree: GitFolder, hint: str
) -> None:
    tree.commit("a.txt", "landed\n")
    before = commits_of(workshop, "main")
    workshop.repository.git("update-index", hint, "a.txt")
    workshop.repository.write("a.txt", "my own work\n")

    with pytest.raises(GitFailed, match="not uptodate"):
        await land(workshop)

    assert commits_of(workshop, "main") == before
    assert (workshop.repository.path / "a.txt").read_text() == "my own work\n"


@pytest.mark.spec("L3")
async def test_a_file_that_becomes_a_folder_lands(workshop: Workshop, tree: GitFolder) -> None:
    (tree.path / "a.txt").unlink()
    tree.commit("a.txt/new.txt", "x\n")

    await land(workshop)

    assert (workshop.repository.path / "a.txt/new.txt").read_text() == "x\n"
    assert workshop.repository.git("status", "--porcelain") == ""


@pytest.mark.spec("L3")
@pytest.mark.parametrize(
    ("mine", "landed", "pattern"),
    [
        (".env", ".env", ".env"),
        ("build", "build/x", "build"),
        ("out/log/x", "out", "out/log/*"),
        ("cache/x/y", "cache/x/y", "cache/"),
    ],
)
async def test_an_ignored_file_in_the_way_stops_the_landing(
    workshop: Workshop, tree: GitFolder, mine: str, landed: str, pattern: str
) -> None:
    workshop.repository.write(".git/info/exclude", f"{pattern}\n")
    tree.write(landed, "landed\n")
    tree.git("add", "--force", landed)
    tree.git("commit", "--quiet", "--message", "add it")
    workshop.repository.write(mine, "my own work\n")

    with pytest.raises(CommandRefused, match=f"{mine} in .* would be overwritten"):
        await land(workshop)

    assert (workshop.repository.path / mine).read_text() == "my own work\n"


@pytest.mark.spec("L3")
async def test_another_branch_can_be_named(workshop: Workshop, tree: GitFolder) -> None:
    workshop.repository.git("branch", "develop")
    tip = tree.commit("b.txt", "b\n")

    await land(workshop, into="develop")

    assert workshop.repository.git("rev-parse", "develop") == tip
    for absent in ("absent", "main~0", "main@{0}", "../heads/main"):
        with pytest.raises(CommandRefused, match=re.escape(f"There is no branch {absent!r}")):
            await land(workshop, into=absent)
    with pytest.raises(CommandRefused, match="cannot land in itself"):
        await land(workshop, into="rookery/fix")


@pytest.mark.spec("L3")
async def test_a_worktree_on_another_branch_does_not_land(
    workshop: Workshop, tree: GitFolder
) -> None:
    tree.git("checkout", "--quiet", "-b", "mine")

    with pytest.raises(CommandRefused, match="is on the branch mine and not on rookery/fix"):
        await land(workshop)


@pytest.mark.spec("L3")
async def test_a_worktree_that_was_removed_by_hand_does_not_land(
    workshop: Workshop, tree: GitFolder
) -> None:
    shutil.rmtree(tree.path)

    with pytest.raises(CommandRefused, match=r"The worktree .* is gone"):
        await land(workshop)


@pytest.mark.spec("L3")
async def test_a_user_without_a_name_is_told_how_to_set_it(
    workshop: Workshop, tree: GitFolder
) -> None:
    diverge(workshop, tree)
    (workshop.repository.home / ".gitconfig").write_text("")

    with pytest.raises(CommandRefused, match=r"git config --global user\.name"):
        await land(workshop)


@pytest.mark.spec("L3")
async def test_landing_a_second_time_is_nothing_to_do(
    workshop: Workshop, tree: GitFolder
) -> None:
    tree.commit("b.txt", "b\n")
    await land(workshop)

    again = await land(workshop)

    assert again.new == again.old


@pytest.mark.spec("L3")
async def test_a_start_at_a_detached_head_needs_a_branch_to_land_in(
    workshop: Workshop,
) -> None:
    workshop.repository.git("checkout", "--quiet", "--detach")
    async with workshop.kept():
        tree = await workshop.make("fix")
    tree.commit("b.txt", "b\n")

    with pytest.raises(CommandRefused, match="--into BRANCH"):
        await land(workshop)
