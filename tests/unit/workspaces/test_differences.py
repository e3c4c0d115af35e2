from __future__ import annotations

from pathlib import Path

import pytest

from rookery.model.errors import CommandRefused
from rookery.model.workspaces import WorkspaceState
from rookery.store.journal import Journal
from rookery.workspaces.differences import (
    MAX_DIFF_BYTES,
    Difference,
    folder_difference,
    worktree_difference,
)
from tests.support.fakes.database import ObservedDatabase
from tests.support.repositories import (
    GitFolder,
    change_within_the_second,
    check_content_again,
    filter_in_repository,
)
from tests.support.workshop import Workshop

pytestmark = pytest.mark.anyio


@pytest.fixture
def workshop(database: ObservedDatabase, journal: Journal, tmp_path: Path) -> Workshop:
    return Workshop(database, journal, tmp_path)


async def made(workshop: Workshop) -> GitFolder:
    async with workshop.kept():
        return await workshop.make("fix")


async def seen(workshop: Workshop, *, with_text: bool = True) -> Difference:
    found = await workshop.until(await workshop.id_of("fix"), WorkspaceState.READY)
    return await worktree_difference(workshop.worktrees.git, found, with_text=with_text)


@pytest.mark.spec("L2")
async def test_a_name_that_is_not_utf_8_is_shown_with_its_bytes(workshop: Workshop) -> None:
    tree = await made(workshop)
    name = tree.write_oddly_named()

    found = await seen(workshop)

    assert [(each.path, each.added) for each in found.files] == [(name, 1)]


@pytest.mark.spec("L2")
async def test_committed_staged_unstaged_and_untracked_changes_are_shown(
    workshop: Workshop,
) -> None:
    workshop.repository.commit("b.txt", "one\n")
    tree = await made(workshop)
    tree.commit("committed.txt", "c\n")
    tree.write("staged.txt", "s\n")
    tree.git("add", "staged.txt")
    tree.write("b.txt", "two\n")
    tree.write("new folder/ünträcked.txt", "u\n")
    workshop.repository.commit("later.txt", "not ours\n")

    found = await seen(workshop)

    assert {
        each.path: (each.added, each.removed, each.is_untracked) for each in found.files
    } == {
        "b.txt": (1, 1, False),
        "committed.txt": (1, 0, False),
        "new folder/ünträcked.txt": (1, 0, True),
        "staged.txt": (1, 0, False),
    }
    assert (found.base.name, found.base.commits) == ("main", 1)
    assert all(f"+{each}\n" in found.text for each in ("c", "s", "two", "u"))
    assert "not ours" not in found.text
    assert tree.git("status", "--porcelain").splitlines()[-1].startswith("??")


@pytest.mark.spec("L2")
async def test_a_change_in_the_second_of_the_checkout_is_shown(workshop: Workshop) -> None:
    workshop.repository.commit("b.txt", "one\n")
    tree = await made(workshop)
    change_within_the_second(tree, "b.txt", "two\n")

    found = await seen(workshop)

    assert [each.path for each in found.files] == ["b.txt"]


@pytest.mark.spec("L2")
async def test_an_unchanged_file_with_a_filter_of_the_repository_is_not_shown(
    workshop: Workshop,
) -> None:
    filter_in_repository(workshop.repository)
    tree = await made(workshop)
    tree.write("b.txt", "b\n")
    check_content_again(tree)

    found = await seen(workshop)

    assert [each.path for each in found.files] == ["b.txt"]
    assert "secret" not in found.text
    assert "+b\n" in found.text


@pytest.mark.spec("L2")
async def test_a_committed_change_of_a_file_with_a_filter_of_the_repository_is_shown(
    workshop: Workshop,
) -> None:
    filter_in_repository(workshop.repository)
    tree = await made(workshop)
    tree.commit("secrets/secret ü.txt", "attack at dusk\n")
    check_content_again(tree)

    found = await seen(workshop)

    assert [each.path for each in found.files] == ["secrets/secret ü.txt"]
    assert "secret" in found.text


@pytest.mark.spec("L2")
async def test_what_has_landed_is_no_longer_a_change(workshop: Workshop) -> None:
    tree = await made(workshop)
    tree.commit("b.txt", "b\n")
    workshop.repository.git("merge", "--quiet", "--no-ff", "rookery/fix")
    tree.commit("c.txt", "c\n")

    assert [each.path for each in (await seen(workshop)).files] == ["c.txt"]


@pytest.mark.spec("L2")
async def test_renames_and_binary_files_are_counted(workshop: Workshop) -> None:
    workshop.repository.commit("old.txt", "line\n" * 30)
    tree = await made(workshop)
    tree.git("mv", "old.txt", "new.txt")
    (tree.path / "picture").write_bytes(b"\0\1\2")

    found = await seen(workshop, with_text=False)

    assert [(each.path, each.added) for each in found.files] == [
        ("new.txt", 0),
        ("picture", None),
    ]
    assert found.text == ""


@pytest.mark.spec("L2")
async def test_a_long_difference_is_cut(workshop: Workshop) -> None:
    tree = await made(workshop)
    tree.write("long.txt", "x" * 99 + "\n" + ("y" * 99 + "\n") * (MAX_DIFF_BYTES // 50))

    found = await seen(workshop)

    assert found.is_cut
    assert len(found.text) == MAX_DIFF_BYTES
    assert [each.path for each in found.files] == ["long.txt"]


@pytest.mark.spec("L2")
async def test_an_ordinary_folder_is_compared_with_its_head(workshop: Workshop) -> None:
    repository = workshop.repository
    repository.commit("sub/b.txt", "b\n")
    repository.write("a.txt", "changed\n")
    repository.write("sub/new.txt", "new\n")

    git = workshop.worktrees.git
    found = await folder_difference(git, repository.path / "sub", with_text=True)

    assert [each.path for each in found.files] == ["a.txt", "sub/new.txt"]
    assert found.base.name == "HEAD"


@pytest.mark.spec("L2")
async def test_a_repository_without_commits_is_compared_with_nothing(
    workshop: Workshop, tmp_path: Path
) -> None:
    empty = GitFolder(tmp_path / "empty", workshop.repository.home)
    empty.path.mkdir()
    empty.git("init", "--quiet")
    empty.write("a.txt", "a\n")

    found = await folder_difference(workshop.worktrees.git, empty.path, with_text=True)

    assert [each.path for each in found.files] == ["a.txt"]


@pytest.mark.spec("L2")
async def test_a_folder_outside_of_git_has_no_difference(
    workshop: Workshop, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()

    with pytest.raises(CommandRefused, match="is not in a git repository"):
        await folder_difference(workshop.worktrees.git, tmp_path / "plain", with_text=True)
