from __future__ import annotations

import json
import os
from pathlib import Path
from threading import BoundedSemaphore, Event

import pytest

from rookery.agents.catalog import AGENTS
from rookery.model.overlaps import FileInRepository
from rookery.permissions.path_resolver import in_daemon_thread
from rookery.tracking.edited_files import EditedFileFinder, find_in_repository
from tests.support.paths import ROOT
from tests.support.repositories import GitFolder, make_repository

RECORDINGS = ROOT / "tests" / "recordings"


@pytest.fixture
def repository(tmp_path: Path) -> GitFolder:
    return make_repository(tmp_path / "my project", tmp_path / "user")


@pytest.mark.spec("L4")
@pytest.mark.parametrize(
    ("agent", "recording", "files"),
    [
        ("claude", "claude-2.1.325/hooks/PostToolUse.Write.json", ["/code/project/w1.txt"]),
        ("claude", "claude-2.1.325/hooks/PostToolUse.json", []),
        ("claude", "claude-2.1.325/hooks/PreToolUse.Write.json", []),
        (
            "codex",
            "codex-0.166.0/hooks/PostToolUse.apply_patch.json",
            ["/code/project/new.txt"],
        ),
        ("gemini", "gemini-0.61.0/hooks/AfterTool.json", []),
        ("opencode", "opencode-1.18.33/hooks/PostToolUse.json", []),
    ],
)
def test_the_files_of_a_recorded_call_are_found(
    agent: str, recording: str, files: list[str]
) -> None:
    hooks = AGENTS[agent].hooks
    assert hooks

    found = hooks.edited_files(json.loads((RECORDINGS / recording).read_text()))

    assert list(found) == files


@pytest.mark.spec("L4")
@pytest.mark.parametrize(
    ("agent", "event", "tool", "field"),
    [
        ("claude", "PostToolUse", "Edit", "file_path"),
        ("claude", "PostToolUse", "NotebookEdit", "notebook_path"),
        ("gemini", "AfterTool", "replace", "file_path"),
        ("opencode", "PostToolUse", "edit", "filePath"),
        ("demo", "PostToolUse", "Edit", "command"),
    ],
)
def test_the_tools_that_change_files_are_known(
    agent: str, event: str, tool: str, field: str
) -> None:
    hooks = AGENTS[agent].hooks
    assert hooks
    payload = {"hook_event_name": event, "tool_name": tool, "tool_input": {field: "a.py"}}

    assert list(hooks.edited_files(payload)) == ["a.py"]
    assert not hooks.edited_files({**payload, "tool_input": {field: 3}})
    assert not hooks.edited_files({**payload, "tool_input": None})


@pytest.mark.spec("L4")
def test_a_patch_names_all_its_files() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n+*** Add File: no\n"
        "*** Delete File: c d.py\n*** End Patch"
    )
    hooks = AGENTS["codex"].hooks
    assert hooks
    payload = {
        "hook_event_name": "PostToolUse",
        "tool_name": "apply_patch",
        "tool_input": {"command": patch},
    }

    assert list(hooks.edited_files(payload)) == ["a.py", "b.py", "c d.py"]


@pytest.mark.spec("L4")
def test_a_file_of_a_worktree_is_one_of_its_repository(
    repository: GitFolder, tmp_path: Path
) -> None:
    repository.git("worktree", "add", "--quiet", str(tmp_path / "tree"))
    (repository.path / "src").mkdir()
    common = str(repository.path / ".git")

    here = find_in_repository(str(repository.path / "src/app.py"))
    there = find_in_repository(str(tmp_path / "tree" / "src/app.py"))

    assert here == FileInRepository(common, "src/app.py")
    assert there == FileInRepository(common, "src/app.py")


@pytest.mark.spec("L4")
def test_links_lead_to_the_same_file(repository: GitFolder, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository.path)

    found = find_in_repository(f"{tmp_path}/link/src/../a.txt")

    assert found == FileInRepository(str(repository.path / ".git"), "a.txt")


@pytest.mark.spec("L4")
def test_outside_of_repositories_there_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / ".git").write_text("gitdir: /nowhere\n")

    assert find_in_repository(str(tmp_path / "a.txt")) is None
    assert find_in_repository(str(tmp_path / "broken" / "a.txt")) is None
    assert find_in_repository("/bad\0folder/a.txt") is None


@pytest.mark.spec("L4")
@pytest.mark.anyio
async def test_a_relative_path_begins_at_the_agents_folder(repository: GitFolder) -> None:
    found = await EditedFileFinder().find(str(repository.path), ["a.txt", "/outside"])
    unknown = await EditedFileFinder().find("", ["a.txt"])

    assert found == [FileInRepository(os.fspath(repository.path / ".git"), "a.txt")]
    assert unknown == []


@pytest.mark.spec("L4")
@pytest.mark.anyio
async def test_a_folder_that_does_not_answer_delays_a_hook_only_a_little() -> None:
    forever, threads = Event(), BoundedSemaphore(1)

    slow = await in_daemon_thread(forever.wait, threads=threads, timeout_s=0.01)
    full = await in_daemon_thread(lambda: True, threads=threads, timeout_s=1)

    assert (slow, full) == (None, None)
    forever.set()
