"""Which folders count as accepted by the user in Claude Code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rookery.agents.claude.driver.trust import is_trusted


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


def accept(home: Path, *folders: Path) -> dict[str, str]:
    projects = {str(each): {"hasTrustDialogAccepted": True} for each in folders}
    (home / ".claude.json").write_text(json.dumps({"projects": projects}))
    return {"HOME": str(home)}


def folder(*parts: Path | str) -> Path:
    made = Path(*parts)
    made.mkdir(parents=True)
    return made


def test_an_accepted_folder_is_trusted_and_those_in_it_are_not(
    home: Path, tmp_path: Path
) -> None:
    project = folder(tmp_path, "project")
    inner = folder(project, "inner")
    environment = accept(home, project)

    assert is_trusted(project, environment)
    assert not is_trusted(inner, environment)
    assert is_trusted(project, {"CLAUDE_CONFIG_DIR": str(home), "HOME": "/nonexistent"})


def test_a_repository_is_trusted_as_a_whole(home: Path, tmp_path: Path) -> None:
    project = folder(tmp_path, "project")
    folder(project, ".git")
    inner = folder(project, "inner")

    assert is_trusted(inner, accept(home, project))
    assert not is_trusted(inner, accept(home, inner))


def linked(main: Path, tree: Path, *, back: Path) -> None:
    """Make the files of a linked working tree, which main links back to ``back``."""
    own = folder(main, ".git", "worktrees", "tree")
    (own / "gitdir").write_text(f"{back}\n")
    (tree / ".git").write_text(f"gitdir: {own}\n")


def test_a_linked_working_tree_is_trusted_like_its_repository(
    home: Path, tmp_path: Path
) -> None:
    main, tree = folder(tmp_path, "main"), folder(tmp_path, "tree")
    linked(main, tree, back=tree / ".git")

    assert is_trusted(tree, accept(home, main))


def test_a_folder_that_claims_to_belong_to_a_trusted_repository_is_not_trusted(
    home: Path, tmp_path: Path
) -> None:
    main, tree = folder(tmp_path, "main"), folder(tmp_path, "tree")
    linked(main, tree, back=tmp_path / "another" / ".git")

    assert not is_trusted(tree, accept(home, main))


@pytest.mark.parametrize("answers", ["", "[]", '{"projects": []}', '{"projects": {"/": 1}}'])
def test_an_unclear_answer_is_no(home: Path, answers: str) -> None:
    (home / ".claude.json").write_text(answers)

    assert not is_trusted(Path("/"), {"HOME": str(home)})
    assert not is_trusted(Path("/"), {})
