from __future__ import annotations

import pytest

from rookery.presentation.projects import project_folder, project_folders
from tests.support.cli import session

pytestmark = pytest.mark.spec("L1", "I5")


@pytest.mark.parametrize(
    ("repository", "folder", "project"),
    [
        ("/code/shop/.git", "/state/fix", "/code/shop"),
        ("/code/shop/.git", "/state/fix/api", "/code/shop/api"),
        ("/code/bare.git", "/state/fix", "/code/bare.git"),
        ("", "/state/fix", "/state/fix"),
    ],
)
def test_a_worktree_stands_for_the_same_folder_of_its_repository(
    repository: str, folder: str, project: str
) -> None:
    worktree = {"path": "/state/fix", "repository": repository}

    assert project_folder(session("a", project_path=folder, workspace=worktree)) == project


def test_a_child_belongs_to_the_project_of_its_worktree() -> None:
    worktree = {"path": "/state/fix", "repository": "/code/shop/.git"}
    parent = session("parent", project_path="/state/fix", workspace=worktree)
    child, other = session("child", project_path="/state/fix"), session("o", project_path="/o")

    folders = project_folders([child, parent, other])

    assert folders == {"child": "/code/shop", "parent": "/code/shop", "o": "/o"}
