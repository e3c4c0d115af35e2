from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import replace

import pytest

from rookery.agents.catalog import AGENTS
from rookery.processes import (
    FoundProgram,
    Kernel,
    Process,
    ancestors,
    caller_of,
    find_agent,
    is_running,
    program_of,
    run_as,
    signal_sessions,
)
from tests.support.fakes.processes import FakeTable
from tests.support.real.rookery import eventually

PROGRAMS = {run_as(agent): agent.name for agent in AGENTS.values()}


def runs(pid: int, program: str) -> bool:
    """Whether a process has become what it is to run: that takes it a moment."""
    seen = Kernel().look(pid)
    return bool(seen and seen.argv and seen.argv[0] == program)


@pytest.fixture
def table() -> FakeTable:
    return FakeTable()


@pytest.mark.spec("B6")
@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("claude", "claude"),
        ("/opt/bin/claude --resume 5", "claude"),
        ("/opt/claude-code/bin/claude.exe", "claude"),
        ("node /usr/lib/node_modules/.bin/codex resume", "codex"),
        ("/usr/bin/node --max-old-space-size=8000 /usr/bin/gemini", "gemini"),
        ("node -r ./hook.js /usr/lib/gemini.js", "gemini"),
        ("bun /opt/opencode", "opencode"),
        ("python3.11 -I -m rookery.programs.demo --model x", "rookery.programs.demo"),
        ("-bash", ""),
        ("sh -c claude", ""),
        ("python -c claude", ""),
        ("node -e claude", ""),
        ("node", ""),
        ("vim claude", "vim"),
        ("claude-squad", "claude-squad"),
        ("codex app-server --listen unix://", ""),
        ("node /usr/bin/codex -c a=b app-server", ""),
        ("codex mcp-server", ""),
        ("claude mcp serve", ""),
        ("opencode serve --port 4096", ""),
        ("/opt/bin/claude/ --resume 5", "claude"),
    ],
)
def test_a_command_line_tells_its_program(line: str, program: str) -> None:
    assert program_of(line.split()) == program


def test_a_program_without_a_command_line_is_none() -> None:
    assert program_of(()) == ""


@pytest.mark.spec("B6")
def test_an_agent_is_found_below_a_shell(table: FakeTable) -> None:
    table.run(10, "-zsh")
    agent = table.run(11, "claude", "--resume", below=10)

    assert find_agent(table, 10, PROGRAMS) == FoundProgram("claude", agent)


@pytest.mark.spec("B6")
def test_an_agent_that_is_the_pane_itself_is_found(table: FakeTable) -> None:
    agent = table.run(10, "gemini")

    assert find_agent(table, 10, PROGRAMS) == FoundProgram("gemini", agent)


@pytest.mark.spec("B6")
def test_of_an_agent_that_runs_itself_once_more_the_outer_one_is_it(table: FakeTable) -> None:
    table.run(10, "bash")
    outer = table.run(11, "node", "/usr/bin/codex", below=10)
    inner = table.run(12, "/opt/codex/codex", below=11)
    table.run(13, "sh", "-c", "ls", below=12)

    assert find_agent(table, 10, PROGRAMS) == FoundProgram("codex", outer, (inner,))


@pytest.mark.spec("B6")
def test_an_agent_is_found_below_wrappers(table: FakeTable) -> None:
    table.run(10, "bash")
    table.run(11, "npm", "exec", "codex", below=10)
    table.run(12, "sh", "-c", "codex", below=11)
    outer = table.run(13, "node", "/usr/bin/codex", below=12)

    assert find_agent(table, 10, PROGRAMS) == FoundProgram("codex", outer)


@pytest.mark.spec("B6")
def test_a_script_that_is_called_like_its_agent_is_not_the_agent(table: FakeTable) -> None:
    table.run(10, "bash")
    table.run(11, "/bin/sh", "/home/person/bin/claude", below=10)
    agent = table.run(12, "/opt/claude", below=11)

    assert find_agent(table, 10, PROGRAMS) == FoundProgram("claude", agent)


def test_a_script_that_is_an_agent_itself_is_found(table: FakeTable) -> None:
    table.run(10, "bash")
    agent = table.run(11, "/bin/sh", "/home/person/bin/claude", below=10)
    table.run(12, "cat", below=11)

    assert find_agent(table, 10, PROGRAMS) == FoundProgram("claude", agent)


@pytest.mark.spec("B6")
def test_an_agent_that_another_one_runs_is_not_the_panes(table: FakeTable) -> None:
    outer = table.run(10, "claude")
    table.run(11, "sh", "-c", "codex exec", below=10)
    table.run(12, "codex", "exec", "hello", below=11)

    assert find_agent(table, 10, PROGRAMS) == FoundProgram("claude", outer)


@pytest.mark.spec("B6")
def test_a_server_that_an_agent_has_made_of_itself_is_nobody(table: FakeTable) -> None:
    table.run(10, "bash")
    table.run(11, "codex", "app-server", "--listen", "unix://", below=10)

    assert find_agent(table, 10, PROGRAMS) is None


@pytest.mark.spec("B6")
def test_of_several_agents_in_a_pane_the_one_in_front_is_found(table: FakeTable) -> None:
    table.run(10, "bash")
    table.run(11, "claude", below=10, is_in_front=False)
    front = table.run(12, "codex", below=10)
    table.run(13, "gemini", below=10, is_in_front=False)

    assert find_agent(table, 10, PROGRAMS) == FoundProgram("codex", front)


def test_whoever_has_vanished_was_not_there(table: FakeTable) -> None:
    assert find_agent(table, 10, PROGRAMS) is None


def test_a_shell_alone_is_no_agent(table: FakeTable) -> None:
    table.run(10, "bash")
    table.run(11, "vim", "claude", below=10)

    assert find_agent(table, 10, PROGRAMS) is None


def test_a_word_is_read_as_it_was_written() -> None:
    process = Process(4711, "1135124")

    assert Process.read(process.key) == process


def test_the_kernel_tells_who_runs_what_and_below_whom() -> None:
    kernel = Kernel()
    with subprocess.Popen(["sleep", "60"]) as child:
        eventually(lambda: runs(child.pid, "sleep"))
        seen = kernel.look(child.pid)
        children = kernel.children(os.getpid())
        above = ancestors(child.pid)
        folder = kernel.folder(child.pid)
        child.kill()

    assert seen
    assert seen.argv == ("sleep", "60")
    assert seen.process == above[0]
    assert above[1] == Process.of(os.getpid())
    assert child.pid in children
    assert folder == os.getcwd()  # noqa: PTH109 - as text
    assert not is_running(seen.process)
    assert kernel.look(child.pid) is None
    assert kernel.began(child.pid) is None


def test_a_process_that_has_ended_and_was_not_waited_for_is_gone() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        process = Process.of(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

        assert process
        assert not is_running(process)
        assert Kernel().look(child.pid) is None


def test_whose_hook_it_is_is_told_by_who_is_above_it() -> None:
    hook = "sleep 60 & echo $!; wait"
    inner = f"(exec -a claude bash -c '{hook}')"
    with subprocess.Popen(
        ["claude", "-c", f"{inner}; true"], executable="/bin/bash", stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdout
        pid = int(agent.stdout.readline())
        eventually(lambda: runs(pid, "sleep"))

        assert caller_of(pid, "claude") == Process.of(agent.pid)
        assert caller_of(pid, "codex") is None
        assert caller_of(agent.pid, "claude") == Process.of(agent.pid)  # it may call itself
        for each in ancestors(pid)[:3]:
            if each.pid != os.getpid():
                with suppress(ProcessLookupError):  # it has ended with the one below it
                    os.kill(each.pid, signal.SIGKILL)


def test_the_line_of_a_process_ends_where_one_above_it_is_over() -> None:
    """What is below a parent that nobody has waited for tells nothing of its ancestors."""
    script = "sleep 60 & echo $!; exec sleep 60"
    with subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        below = Process.of(pid)
        eventually(lambda: ancestors(pid)[1:2] == (Process.of(parent.pid),))

        parent.kill()
        os.waitid(os.P_PID, parent.pid, os.WEXITED | os.WNOWAIT)
        above = ancestors(pid)
        os.kill(pid, signal.SIGKILL)

    assert above[0] == below
    assert parent.pid not in {each.pid for each in above}


@pytest.mark.spec("C4")
def test_a_process_that_becomes_another_program_is_seen_as_that_at_once() -> None:
    with subprocess.Popen(
        ["claude", "-c", "read line; exec sleep 60"],
        executable="/bin/bash",
        stdin=subprocess.PIPE,
    ) as agent:
        assert agent.stdin
        eventually(lambda: runs(agent.pid, "claude"))
        before = caller_of(agent.pid, "claude")

        agent.stdin.write(b"\n")
        agent.stdin.flush()
        eventually(lambda: runs(agent.pid, "sleep"))
        after = caller_of(agent.pid, "claude")
        agent.kill()

    assert before == Process(agent.pid, before.started if before else "")
    assert after is None


def test_a_number_that_another_process_has_now_is_not_signalled() -> None:
    with subprocess.Popen(["sleep", "100"], start_new_session=True) as running:
        process = Process.of(running.pid)
        assert process

        signal_sessions([replace(process, started="0")], signal.SIGKILL)
        was_left = running.poll() is None
        signal_sessions([process], signal.SIGKILL)

    assert was_left
    assert running.returncode == -signal.SIGKILL
