"""The quick hook program, which the daemon builds where there is a C compiler."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.agents.catalog import AGENTS
from rookery.hook_setup import programs, quick_hook
from tests.support.real.quick_hooks import is_used
from tests.support.real.rookery import Rookery, eventually

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]


@pytest.mark.spec("C3")
def test_hooks_run_the_quick_program_once_the_daemon_has_built_it(cold: Rookery) -> None:
    old = cold.home.state / "hook-of-another-version"
    cold.home.prepare()
    old.touch()
    cold.up()
    eventually(lambda: is_used(cold))
    cold.home.hook.write_bytes(b"not a program: the quick one needs none")

    payload = {"hook_event_name": "SessionStart", "session_id": "n1", "cwd": str(cold.project)}
    done = subprocess.run(
        ["/bin/sh", "-c", programs.hook_command(cold.home, "demo")],
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert [each["native_id"] for each in cold.client.get("sessions")["sessions"]] == ["n1"]
    eventually(lambda: not old.exists())


@pytest.mark.spec("D3", "K4")
def test_a_call_that_is_too_large_is_not_let_through_by_either_program(cold: Rookery) -> None:
    cold.configure('[permissions]\nwhen_away = "pass"\n')
    cold.home.rules.write_text('[[deny]]\ntool = "Bash"\ninput.command = "touch *"\n')
    cold.up()
    eventually(lambda: is_used(cold))
    home = cold.home
    paths = map(str, (home.hook, home.hook_door, home.spool))
    in_python = [sys.executable, "-I", "-S", *paths, "claude"]
    quick = ["/bin/sh", "-c", programs.hook_command(home, "claude")]
    call = {
        "session_id": "n1",
        "cwd": str(cold.project),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": f"touch x #{'a' * 9_000_000}"},
    }

    said = [
        subprocess.run(
            words, input=json.dumps(call).encode(), capture_output=True, check=False
        ).stdout
        for words in (in_python, quick)
    ]

    decided = [json.loads(each)["hookSpecificOutput"]["permissionDecision"] for each in said]
    assert decided == ["ask", "ask"]
    assert "2 hook calls could not be processed" in cold.run("doctor").stdout


@pytest.mark.spec("C3", "D3", "K4")
@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"no program", id="garbage"),
        pytest.param(b"\x7fELF" + bytes(500), id="of another computer"),
    ],
)
def test_a_quick_program_that_does_not_run_is_replaced(cold: Rookery, broken: bytes) -> None:
    cold.home.prepare()
    program = quick_hook.path(cold.home)
    program.write_bytes(broken)
    program.chmod(0o700)

    before = programs.write(cold.home, AGENTS), is_used(cold)
    cold.up()
    eventually(lambda: is_used(cold))

    assert before[1] is False
    assert quick_hook.runs(program)


def is_emptied(file: Path) -> bool:
    """Empty a program, unless the daemon runs it at this moment to see its version."""
    try:
        file.write_bytes(b"")
    except OSError as error:
        if error.errno != errno.ETXTBSY:
            raise
        return False
    return True


@pytest.mark.spec("C3", "D3", "K4")
def test_a_running_daemon_restores_hook_programs_and_says_so(cold: Rookery) -> None:
    cold.up()
    eventually(lambda: is_used(cold))
    home = cold.home
    laid = (home.hook, quick_hook.path(home), programs.script_path(home))
    whole = [each.read_bytes() for each in laid]

    for file, content in zip(laid, whole, strict=True):
        # A program that is damaged while the others are written is restored without a word.
        eventually(lambda: is_used(cold) and not programs.find_problem(home))
        file.unlink()
        eventually(lambda: file.exists() and file.read_bytes() == content)  # noqa: B023
        eventually(lambda: is_emptied(file))  # noqa: B023
        eventually(lambda: file.read_bytes() == content)  # noqa: B023
    eventually(lambda: is_used(cold) and not programs.find_problem(home))

    said = [line for line in home.log.read_text().splitlines() if "written again" in line]
    assert [any(f"{file} " in line for line in said) for file in laid] == [True] * 3
    assert "they are unchanged" in cold.run("doctor").stdout


@pytest.mark.spec("C3", "I5", "K4")
def test_hook_programs_that_cannot_be_restored_are_said(cold: Rookery) -> None:
    cold.up()
    cold.start("it")
    eventually(lambda: is_used(cold))
    cold.home.hook.unlink()
    cold.home.hook.mkdir()  # nothing can be put in its place

    said = [cold.run(*words) for words in (["doctor"], ["status"], ["ls"], ["why", "it"])]

    assert [str(cold.home.hook) in each.stdout + each.stderr for each in said] == [True] * 4
    assert said[0].returncode == 1
    cold.home.hook.rmdir()
    eventually(lambda: not programs.find_problem(cold.home))


@pytest.mark.spec("C3", "K4")
@pytest.mark.parametrize(
    "says", ["exit 1", 'while [ "$1" != -o ]; do shift; done; echo garbage > "$2"']
)
def test_hooks_run_the_program_in_python_where_the_compiler_is_broken(
    cold: Rookery, says: str
) -> None:
    made_by(cold, says)
    cold.up()
    cold.start("it")

    assert cold.ask("it", "say: hello") == "hello"
    assert not is_used(cold)


@pytest.mark.spec("K4")
def test_a_compiler_that_hangs_does_not_hold_up_the_end_of_the_daemon(cold: Rookery) -> None:
    made_by(cold, "touch began; exec sleep 600")
    cold.up()
    eventually((cold.folder / "bin" / "began").exists)

    assert cold.run("down").returncode == 0


def made_by(rookery: Rookery, says: str) -> None:
    """Have a compiler that does only this, and no program that was built before."""
    folder = rookery.folder / "bin"
    folder.mkdir()
    compiler = folder / "cc"
    compiler.write_text(f"#!/bin/sh\ncd {folder}\n{says}\n")
    compiler.chmod(0o755)
    rookery.environment["PATH"] = f"{folder}:{rookery.environment['PATH']}"
    rookery.environment["PYTHONPYCACHEPREFIX"] = str(folder)
    rookery.is_warm = False  # a process that runs already would not look there
