"""What an allowed call covers, and what the rules see of a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rookery.agents.claude.acp import name_tool as claude
from rookery.agents.codex.acp import name_tool as codex
from rookery.drivers.acp.files import LocatedFile, ProjectFiles
from rookery.drivers.acp.grants import Grants
from rookery.drivers.acp.tools import (
    EDIT,
    EXECUTE,
    RUN_COMMAND,
    AcpCall,
    FileDiff,
    NamedCall,
    NameTool,
    by_kind,
)

PROJECT = Path("/project")


def command(tool_input: dict[str, Any], **more: Any) -> AcpCall:  # noqa: ANN401 - its fields
    return AcpCall("1", kind=EXECUTE, input=tool_input, **more)


def new_file(path: str) -> LocatedFile:
    return LocatedFile(Path(path), None)


def granted(call: AcpCall, name_tool: NameTool) -> Grants:
    grants = Grants(PROJECT, name_tool)
    grants.add(grants.read(call, name_tool(call)))
    return grants


def asked(tool_input: dict[str, Any], name_tool: NameTool) -> NamedCall:
    return name_tool(command(tool_input, method=RUN_COMMAND))


@pytest.mark.spec("D1")
@pytest.mark.parametrize("name_tool", [by_kind, codex])
def test_an_allowed_command_is_granted_once(name_tool: NameTool) -> None:
    grants = granted(command({"command": "make", "cwd": "/project"}), name_tool)
    again = asked({"command": "make"}, name_tool)

    assert [grants.take_command(again), grants.take_command(again)] == [True, False]


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    "other",
    [
        {"command": "make all"},
        {"command": "make", "cwd": "/project/sub"},
        {"command": "make", "env": {"CC": "x"}},
        {"command": ["make"]},
        {"command": "make", "cwd": "/project\0"},
    ],
)
def test_another_line_folder_or_variable_is_not_granted(other: dict[str, Any]) -> None:
    grants = granted(command({"command": "make"}), by_kind)

    assert not grants.take_command(asked(other, by_kind))


@pytest.mark.spec("D1")
def test_the_command_of_a_tool_that_is_no_shell_is_not_granted() -> None:
    meta = {"claudeCode": {"toolName": "mcp__server__tool"}}
    grants = granted(command({"command": "make"}, meta=meta), claude)

    assert not grants.take_command(asked({"command": "make"}, claude))


@pytest.mark.spec("D1")
@pytest.mark.parametrize("name_tool", [by_kind, codex])
def test_all_changes_that_are_shown_are_granted(name_tool: NameTool) -> None:
    diffs = (FileDiff("/project/a", None, "x"), FileDiff("/project/b", None, "y"))
    grants = granted(AcpCall("1", kind=EDIT, diffs=diffs), name_tool)

    assert grants.take_change(new_file("/project/b"), "y")
    assert not grants.take_change(new_file("/project/a"), "another text")
    assert grants.take_change(new_file("/project/a"), "x")


@pytest.mark.spec("D1")
@pytest.mark.parametrize("name", ["link", "file"])
def test_a_file_that_is_replaced_while_a_person_decides_is_not_granted(
    tmp_path: Path, name: str
) -> None:
    for each in ("file", "other"):
        (tmp_path / each).write_text(each)
    shown, other = tmp_path / name, tmp_path / "other"
    if name == "link":
        shown.symlink_to("file")
    grants, files = Grants(tmp_path, by_kind), ProjectFiles(tmp_path)
    call = AcpCall("1", kind=EDIT, diffs=(FileDiff(str(shown), "file", "x"),))

    asked = grants.read(call, by_kind(call))
    shown.unlink()
    shown.hardlink_to(other) if name == "file" else shown.symlink_to("other")
    grants.add(asked)

    assert not grants.take_change(files.locate(str(shown)), "x")
    assert not grants.take_change(files.locate(str(other)), "x")


@pytest.mark.spec("D1")
def test_a_folder_that_is_replaced_while_a_person_decides_is_not_granted(
    tmp_path: Path,
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    grants = Grants(tmp_path, by_kind)
    call = command({"command": "make", "cwd": str(tmp_path / "link")})

    shown = grants.read(call, by_kind(call))
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("other")
    grants.add(shown)

    other = {"command": "make", "cwd": str(tmp_path / "other")}
    assert not grants.take_command(asked(other, by_kind))


@pytest.mark.spec("D1")
def test_a_change_that_the_input_does_not_name_is_not_granted() -> None:
    meta = {"claudeCode": {"toolName": "Edit"}}
    diffs = (FileDiff("/project/a", None, "x"), FileDiff("/project/b", None, "y"))
    given = {"file_path": "/project/a"}
    call = AcpCall("1", kind=EDIT, input=given, diffs=diffs, meta=meta)

    grants = granted(call, claude)

    assert grants.take_change(new_file("/project/a"), "x")
    assert not grants.take_change(new_file("/project/b"), "y")


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, {"path": ["/a", "/b", "/c"]}),
        ({"path": "/a"}, {"path": ["/a", "/b", "/c"]}),
        ({"path": "/z"}, {"path": ["/z", "/a", "/b", "/c"]}),
        ({"file_path": "/b", "x": 1}, {"file_path": "/b", "x": 1, "path": ["/a", "/c"]}),
    ],
)
def test_the_rules_see_all_files_of_a_call(
    given: dict[str, Any], shown: dict[str, Any]
) -> None:
    diffs = (FileDiff("/a", None, "x"), FileDiff("/b", None, "y"))
    call = AcpCall("1", kind=EDIT, input=given, diffs=diffs, paths=("/a", "/c"))

    changes = [{"path": "/a", "content": "x"}, {"path": "/b", "content": "y"}]
    assert by_kind(call) == NamedCall(EDIT, {**shown, "changes": changes})


@pytest.mark.spec("D1", "D2")
@pytest.mark.parametrize(
    ("given", "added"),
    [
        ({"note": "fix"}, {"content": "x"}),
        ({"content": "harmless"}, {"changes": [{"path": "/a", "content": "x"}]}),
        ({"content": "y", "changes": 1}, {"changes_": [{"path": "/a", "content": "x"}]}),
        ({"content": "x"}, {}),
        ({"old": "y", "new": "x"}, {"content": "x"}),  # it might change to either
    ],
)
def test_the_input_has_the_change_that_an_answer_is_for(
    given: dict[str, Any], added: dict[str, Any]
) -> None:
    named = {"file_path": "/a", **given}
    call = AcpCall("1", kind=EDIT, input=named, diffs=(FileDiff("/a", None, "x"),))

    assert by_kind(call).input == {**named, **added}
