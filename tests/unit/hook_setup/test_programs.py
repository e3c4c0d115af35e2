"""The command that stands in agents' settings, as their shells run it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from rookery.agents.catalog import AGENTS
from rookery.home import Home, find_home
from rookery.hook_protocol import read_call, with_checksum
from rookery.hook_setup import programs, quick_hook
from rookery.hook_setup.apply import write_programs
from tests.support.dialects import hooks_of
from tests.support.fakes.clock import FakeClock

PAYLOAD = b'{"hook_event_name": "Stop", "session_id": "n1", "cwd": "/"}'

SHELLS = [each for each in ("sh", "bash", "dash", "zsh", "fish", "ksh") if shutil.which(each)]


@pytest.fixture(params=["home", "a 'b' \"c\" $d", "quick 'b' \"c\" $d"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    found = find_home({"ROOKERY_HOME": str(tmp_path / request.param)})
    found.prepare()
    if request.param.startswith("quick") and not anyio.run(quick_hook.build, found):
        pytest.skip("there is no C compiler")
    return found


def run(
    words: list[str], *, folder: Path, payload: bytes = PAYLOAD
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        words, input=payload, capture_output=True, cwd=folder, timeout=20, check=False
    )


def before_tool(home: Home, agent: str) -> str:
    """Return what an agent's hook says before a tool runs."""
    event = hooks_of(agent).traits.before_tool
    payload = {"hook_event_name": event, "tool_name": "Bash", "session_id": "n1", "cwd": "/"}
    words = ["/bin/sh", "-c", programs.hook_command(home, agent)]
    done = run(words, folder=home.state, payload=json.dumps(payload).encode())
    assert done.returncode == 0
    return done.stdout.decode()


@pytest.mark.spec("C3", "D3")
@pytest.mark.parametrize(
    ("agent", "decision"),
    [("claude", "ask"), ("codex", "deny"), ("demo", "ask"), ("gemini", "ask")],
)
def test_without_a_daemon_and_its_offline_answers_it_asks_or_denies(
    home: Home, agent: str, decision: str
) -> None:
    programs.write(home, AGENTS)

    said = json.loads(before_tool(home, agent))

    said = said.get("hookSpecificOutput", said)
    assert said.get("permissionDecision", said.get("decision")) == decision


def remove(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def write_over(file: Path) -> None:
    file.write_bytes(b"\0" * file.stat().st_size)


@pytest.mark.spec("C3", "D3")
@pytest.mark.parametrize("damage", [remove, empty, write_over])
@pytest.mark.parametrize("which", ["python", "quick", "both"])
def test_a_damaged_program_lets_no_call_pass_and_blocks_no_other_event(
    home: Home, which: str, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    programs.write(home, AGENTS)
    quick = quick_hook.path(home)
    if which != "quick":
        damage(home.hook)
    if which != "python" and quick.exists():
        damage(quick)

    said = {agent: before_tool(home, agent) for agent in ("claude", "codex", "gemini")}
    stopped = run(["/bin/sh", "-c", programs.hook_command(home, "claude")], folder=tmp_path)
    home.offline_answers.write_bytes(with_checksum(b"{}"))
    without_rules = before_tool(home, "claude")

    assert '"ask"' in said["claude"]
    assert '"deny"' in said["codex"]
    assert '"ask"' in said["gemini"]
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (0, b"", b"")
    # Where neither program runs, nothing reads the stored answers but the script.
    assert without_rules == "" or (which == "python" and quick.exists())


@pytest.mark.spec("C3", "K4")
def test_a_program_that_was_changed_is_found_and_laid_again(home: Home) -> None:
    programs.write(home, AGENTS)
    problems = []
    for file in (home.hook, programs.script_path(home)):
        for damage in (remove, empty, write_over):
            damage(file)
            problems.append(programs.find_problem(home))
            programs.write(home, AGENTS)

    assert [str(home.state) in each for each in problems] == [True] * 6
    assert programs.find_problem(home) == ""


@pytest.mark.spec("C1", "C3", "D3")
def test_installed_before_the_first_daemon_it_goes_by_the_rules_in_the_file(
    home: Home,
) -> None:
    write_programs(home)
    without_rules = before_tool(home, "claude")
    home.offline_answers.unlink()
    home.rules.write_text('[[deny]]\ntool = "Bash"\n')
    write_programs(home)

    assert without_rules == ""
    assert '"ask"' in before_tool(home, "claude")


@pytest.mark.spec("C1")
@pytest.mark.parametrize("shell", SHELLS)
def test_it_tells_of_a_call_in_every_shell(home: Home, shell: str, tmp_path: Path) -> None:
    programs.write(home, AGENTS)

    done = run([shell, "-c", programs.hook_command(home, "claude")], folder=tmp_path)

    (spooled,) = home.spool.iterdir()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert read_call(spooled.read_bytes()).agent == "claude"


def test_it_needs_no_shell(home: Home, tmp_path: Path) -> None:
    programs.write(home, AGENTS)

    run(shlex.split(programs.hook_command(home, "demo")), folder=tmp_path)

    (spooled,) = home.spool.iterdir()
    assert read_call(spooled.read_bytes()).payload == json.loads(PAYLOAD)


@pytest.mark.spec("C1")
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("gone", ["home", "program", "script", "python", "spool"])
def test_it_is_silent_for_ever_once_rookery_is_gone(
    home: Home, gone: str, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if gone == "python":
        monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    programs.write(home, AGENTS)
    if gone == "home":
        shutil.rmtree(home.state)
    elif gone == "spool":
        home.spool.rmdir()
    elif gone != "python":
        {"program": home.hook, "script": programs.script_path(home)}[gone].unlink()

    done = run([shell, "-c", programs.hook_command(home, "claude")], folder=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_another_interpreter_changes_nothing_in_what_agents_are_told(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, script = programs.write(home, AGENTS), programs.script_path(home).read_text()
    monkeypatch.setattr(sys, "executable", "/opt/python")

    after = programs.write(home, AGENTS)

    assert after == before
    assert programs.script_path(home).read_text() != script


def test_it_is_private_and_laid_only_once(home: Home) -> None:
    programs.write(home, AGENTS)
    first = [each.stat() for each in (home.hook, programs.script_path(home))]
    programs.write(home, AGENTS)
    again = [each.stat() for each in (home.hook, programs.script_path(home))]

    assert [each.st_ino for each in first] == [each.st_ino for each in again]
    assert {each.st_mode & 0o777 for each in again} == {0o600}
    assert [each for each in os.listdir(home.state) if each.endswith(".new")] == []  # noqa: PTH208


@pytest.mark.anyio
@pytest.mark.spec("C3", "K4")
@pytest.mark.skipif(shutil.which("cc") is None, reason="the quick program needs a compiler")
async def test_a_quick_program_that_is_emptied_while_it_is_laid_is_laid_again(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = find_home({"ROOKERY_HOME": str(tmp_path / "home")})
    home.prepare()
    build = quick_hook.build
    emptied: list[int] = []

    async def build_and_empty_once(home: Home) -> bool:
        is_built = await build(home)
        if not emptied:
            emptied.append(quick_hook.path(home).write_bytes(b""))
        return is_built

    monkeypatch.setattr(quick_hook, "build", build_and_empty_once)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(programs.HookPrograms(home, AGENTS).keep, clock)
        with anyio.fail_after(40):
            while not quick_hook.runs(quick_hook.path(home)):
                await clock.someone_sleeps()
                clock.skip()
        tasks.cancel_scope.cancel()

    assert emptied
