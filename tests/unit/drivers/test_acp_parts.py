"""The answers, files and commands of ACP sessions."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import anyio
import pytest
from acp.schema import PermissionOption, RequestPermissionResponse

from rookery.drivers.acp.answers import is_allowing, is_unasked, respond
from rookery.drivers.acp.diffs import unified
from rookery.drivers.acp.files import OutOfReach, ProjectFiles
from rookery.drivers.acp.terminals import TerminalRefused, Terminals
from rookery.drivers.acp.tools import FileDiff, NamedCall
from rookery.drivers.acp.turns import turn_over
from rookery.drivers.commands import AgentAnswer
from rookery.drivers.events import TurnOver
from rookery.model.blocks import MAX_TEXT_CHARACTERS
from rookery.processes import Process, is_running
from rookery.processes.exit_watch import ExitWatch

BASH = NamedCall("Bash", {"command": "ls"})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def options(*kinds: str) -> list[PermissionOption]:
    return [
        PermissionOption.model_validate({"optionId": kind, "name": kind, "kind": kind})
        for kind in kinds
    ]


def chosen(response: RequestPermissionResponse) -> str:
    return str(getattr(response.outcome, "option_id", response.outcome.outcome))


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("kinds", "allow", "wanted"),
    [
        (("allow_always", "allow_once", "reject_once"), True, "allow_once"),
        (("allow_always", "reject_once"), True, "reject_once"),
        (("allow_once", "reject_always", "reject_once"), False, "reject_once"),
        (("allow_once", "reject_always"), False, "reject_always"),
        (("allow_once", "allow_always"), False, "cancelled"),
        ((), True, "cancelled"),
    ],
)
def test_an_answer_is_for_one_call_and_never_becomes_more(
    kinds: tuple[str, ...], allow: bool, wanted: str
) -> None:
    response = respond(options(*kinds), AgentAnswer("s", "r", allow=allow), BASH)
    assert chosen(response) == wanted
    assert is_allowing(options(*kinds), response) == (wanted == "allow_once")


def test_a_question_without_its_answer_is_refused() -> None:
    question = NamedCall("AskUserQuestion", {"questions": [{}]})
    offered = options("allow_once", "reject_once")
    assert (
        chosen(respond(offered, AgentAnswer("s", "r", allow=True), question)) == "reject_once"
    )


def test_tools_are_allowed_unasked_by_pattern() -> None:
    assert is_unasked(NamedCall("mcp__rookery__x", {}), ["mcp__rookery__*"])
    assert not is_unasked(NamedCall("mcp__other__x", {}), ["mcp__rookery__*"])
    assert not is_unasked(BASH, [])


@pytest.mark.parametrize(
    ("reason", "is_cut_off", "how"),
    [
        ("end_turn", False, "finished"),
        ("end_turn", True, "interrupted"),
        ("cancelled", False, "interrupted"),
        ("max_tokens", False, "failed"),
        ("max_turn_requests", False, "failed"),
        ("refusal", False, "failed"),
    ],
)
def test_the_reason_of_a_stop_says_how_the_turn_ended(
    reason: str, is_cut_off: bool, how: str
) -> None:
    over = turn_over(reason, "text", is_cut_off=is_cut_off)
    assert isinstance(over, TurnOver)
    assert (over.text, over.how) == ("text", how)
    assert bool(over.reason) == (how == "failed")


def test_a_long_diff_is_cut() -> None:
    diff = unified(FileDiff("/p/a", "", "x\n" * 100_000))
    assert len(diff) <= MAX_TEXT_CHARACTERS
    assert diff.endswith("more characters)")


def test_lines_of_a_file_are_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one\ntwo\nthree\n")
    files = ProjectFiles(tmp_path)
    located = files.locate(str(file))
    assert files.read(located, None, None) == "one\ntwo\nthree\n"
    assert files.read(located, 2, 1) == "two\n"
    assert files.read(located, None, 1) == "one\n"
    assert files.read(files.locate(str(tmp_path / "none")), None, None) is None


@pytest.mark.parametrize("path", ["../secret", "link", "folder/secret", "new/../../secret"])
def test_nothing_outside_the_project_is_read_or_written(tmp_path: Path, path: str) -> None:
    project, secret = tmp_path / "project", tmp_path / "secret"
    project.mkdir()
    secret.write_text("s")
    (project / "link").symlink_to(secret)
    (project / "folder").symlink_to(tmp_path)
    files = ProjectFiles(project)
    with pytest.raises(OutOfReach, match="is not in the project folder"):
        files.locate(str(project / path))


@pytest.mark.parametrize("was_there", [True, False])
@pytest.mark.parametrize("how", ["link", "hard link", "folder", "other file"])
def test_a_file_that_was_replaced_after_it_was_located_is_not_written(
    tmp_path: Path, how: str, was_there: bool
) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    (project / "a").mkdir(parents=True)
    other.mkdir()
    file, secret = project / "a" / "file", other / "file"
    secret.write_text("secret")
    if was_there:
        file.write_text("old")
    files = ProjectFiles(project)
    located = files.locate(str(file))
    (project / "new").write_text("secret")
    file.unlink(missing_ok=True)
    match how:
        case "link":
            file.symlink_to(secret)
        case "hard link":
            file.hardlink_to(secret)
        case "folder":
            file.parent.rmdir()
            file.parent.symlink_to(other)
        case _:
            (project / "new").rename(file)

    with pytest.raises(OutOfReach, match="it was replaced meanwhile"):
        files.write(located, "new")

    assert secret.read_text() == "secret"


def test_a_file_that_became_a_link_after_it_was_located_is_not_read(tmp_path: Path) -> None:
    project, secret = tmp_path / "project", tmp_path / "secret"
    project.mkdir()
    secret.write_text("secret")
    (project / "file").write_text("text")
    files = ProjectFiles(project)
    located = files.locate(str(project / "file"))
    (project / "file").unlink()
    (project / "file").symlink_to(secret)

    with pytest.raises(OutOfReach, match="it was replaced meanwhile"):
        files.read(located, None, None)


def test_a_pipe_and_a_relative_path_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    files = ProjectFiles(tmp_path)
    with pytest.raises(OutOfReach, match="not a regular file"):
        files.read(files.locate(str(tmp_path / "pipe")), None, None)
    with pytest.raises(OutOfReach, match="not an absolute path"):
        files.locate("a")


def test_a_file_is_made_with_its_folders_and_replaced_whole(tmp_path: Path) -> None:
    files, path = ProjectFiles(tmp_path), tmp_path / "a" / "b"
    files.write(files.locate(str(path)), "a longer text")
    files.write(files.locate(str(path)), "short")
    assert path.read_text() == "short"


@pytest.mark.parametrize("old", ["old\n", "old\n" * 100])
def test_a_file_for_whose_new_text_there_is_no_room_keeps_its_text(
    tmp_path: Path, old: str
) -> None:
    files, path = ProjectFiles(tmp_path), tmp_path / "a"
    path.write_text(old)
    located = files.locate(str(path))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(old) + 10, limits[1]))
    try:
        with pytest.raises(OutOfReach, match="cannot be written"):
            files.write(located, "new\n" * 200)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert path.read_text() == old


@pytest.mark.anyio
async def test_the_end_of_a_commands_output_is_kept(tmp_path: Path) -> None:
    started: list[Process] = []
    terminals = Terminals({"PATH": os.environ["PATH"], "A": "1"}, started.append)
    argv = ("/bin/sh", "-c", "echo first; echo $A$B last; exit 3")
    terminal = terminals.find(await terminals.create(argv, {"B": "2"}, tmp_path, 8))
    ended = await terminal.wait()
    assert (ended.code, ended.signal) == (3, None)
    assert terminal.output == "12 last\n"
    assert terminal.is_cut
    assert [each.pid for each in started] == [terminal.leader.pid]


@pytest.mark.anyio
async def test_a_command_is_killed_with_what_it_started(tmp_path: Path) -> None:
    terminals = Terminals({"PATH": os.environ["PATH"]}, lambda _: None)
    argv = ("/bin/sh", "-c", "sleep 100 & echo $! > pid; wait")
    terminal = terminals.find(await terminals.create(argv, {}, tmp_path, None))
    terminal.kill()
    assert (await terminal.wait()).signal == "SIGKILL"
    terminals.close()
    with pytest.raises(TerminalRefused):
        terminals.find("terminal-1")


@pytest.mark.anyio
@pytest.mark.parametrize("is_released", [True, False])
async def test_what_an_ended_command_left_is_killed_with_the_session(
    tmp_path: Path, is_released: bool
) -> None:
    terminals = Terminals({"PATH": os.environ["PATH"]}, lambda _: None)
    argv = ("/bin/sh", "-c", "sleep 100 > /dev/null 2>&1 & echo $!")
    name = await terminals.create(argv, {}, tmp_path, None)
    terminal = terminals.find(name)
    await terminal.wait()
    if is_released:
        terminals.release(name)
    left = Process.of(int(terminal.output))
    assert left
    assert is_running(left)
    ended = anyio.Event()
    ExitWatch(left, ended.set)

    terminals.close()

    with anyio.fail_after(10):
        await ended.wait()


@pytest.mark.anyio
async def test_a_command_has_ended_although_it_left_a_program_with_its_output(
    tmp_path: Path,
) -> None:
    terminals = Terminals({"PATH": os.environ["PATH"]}, lambda _: None)
    argv = ("/bin/sh", "-c", "sleep 100 & echo ok")
    terminal = terminals.find(await terminals.create(argv, {}, tmp_path, None))

    with anyio.fail_after(10):
        ended = await terminal.wait()

    assert (ended.code, ended.signal) == (0, None)
    assert terminal.output == "ok\n"
    terminals.close()


@pytest.mark.anyio
async def test_what_a_released_command_left_can_go_on_writing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "released")
    terminals = Terminals({"PATH": os.environ["PATH"]}, lambda _: None)
    left = "read it < released; head -c 1000000 /dev/zero; echo done > written"
    argv = ("/bin/sh", "-c", f"sh -c '{left}' & echo $! > pid")
    name = await terminals.create(argv, {}, tmp_path, None)
    await terminals.find(name).wait()
    process = Process.of(int((tmp_path / "pid").read_text()))
    assert process
    ended = anyio.Event()
    ExitWatch(process, ended.set)

    terminals.release(name)
    (tmp_path / "released").write_text("go\n")

    with anyio.fail_after(10):
        await ended.wait()
    assert (tmp_path / "written").exists()
    terminals.close()
