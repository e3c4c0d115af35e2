"""Agents' own processes are no owners, whether Rookery started the agent or only knows it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.real.rookery import SOON, Rookery, eventually

pytestmark = [pytest.mark.real, pytest.mark.spec("K5", "D3", "I2")]

#: An agent that its user started anywhere: runs its hook, or a command, for each line it reads.
AGENT = """
import json, subprocess, sys
for line in sys.stdin:
    asked = json.loads(line)
    words = asked.get("run") or sys.argv[1:]
    done = subprocess.run(words, input=line.encode(), capture_output=True)
    print(json.dumps([done.returncode, (done.stdout + done.stderr).decode()]), flush=True)
"""

#: Asks for something on the socket without a token; prints the status of the answer.
ASK = """
import socket, sys
door = socket.socket(socket.AF_UNIX); door.connect(sys.argv[1])
method, path, body = sys.argv[2:5]
head = f"{method} /v1/{path} HTTP/1.0\\r\\nHost: x\\r\\nContent-Type: application/json\\r\\n"
door.sendall((head + f"Content-Length: {len(body)}\\r\\n\\r\\n" + body).encode())
answer = b""
while part := door.recv(65536):
    answer += part
text = answer.split(b" ", 2)[1].decode()
if len(sys.argv) > 5:
    open(sys.argv[5] + ".part", "w").write(text)
    import os; os.rename(sys.argv[5] + ".part", sys.argv[5])
print(text)
"""


class Agent:
    def __init__(self, running: subprocess.Popen[str]) -> None:
        self._running = running

    def _tell(self, line: Mapping[str, object]) -> tuple[int, str]:
        assert self._running.stdin
        assert self._running.stdout
        self._running.stdin.write(json.dumps(line) + "\n")
        self._running.stdin.flush()
        code, said = json.loads(self._running.stdout.readline())
        return code, said

    def hook(self, event: str, **more: object) -> None:
        payload = {"session_id": "n-1", "cwd": "/x/agent", "hook_event_name": event}
        self._tell({**payload, **more})

    def runs(self, *words: str) -> tuple[int, str]:
        """Run a command, as the agent's own shell tool does."""
        return self._tell({"run": list(words)})

    def asks(self, rookery: Rookery, method: str, path: str, **body: object) -> int:
        words = [*asking(rookery), method, path, json.dumps(body)]
        return int(self._tell({"run": words})[1])


def asking(rookery: Rookery) -> list[str]:
    return [sys.executable, "-c", ASK, str(rookery.home.door)]


@contextmanager
def headless(rookery: Rookery) -> Iterator[Agent]:
    """Run an agent that is known by its hooks only."""
    program = rookery.folder / "claude"
    program.write_text(AGENT)
    home = rookery.home
    hook = (sys.executable, "-I", "-S", home.hook, home.hook_door, home.spool, "claude")
    running = subprocess.Popen(
        [sys.executable, program, *hook],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={},
    )
    try:
        yield Agent(running)
    finally:
        running.communicate()


def test_an_agent_that_hooks_told_of_is_no_owner(rookery: Rookery) -> None:
    rookery.start("stranger")
    with headless(rookery) as agent:
        before = agent.asks(rookery, "GET", "tokens")
        agent.hook("SessionStart")
        eventually(lambda: agent.asks(rookery, "GET", "tokens") == 403)
        refused = [
            agent.asks(rookery, "POST", "tokens", scope="owner"),
            agent.asks(rookery, "POST", "sessions/stranger/end"),
            agent.asks(rookery, "GET", "sessions/stranger"),
            agent.asks(rookery, "POST", "mode", mode="local"),
        ]
        own = agent.asks(rookery, "GET", "sessions/n-1")

    assert before == 200
    assert refused == [403, 403, 403, 403]
    assert own == 200
    assert rookery.session("stranger")["status"] == "running"


@pytest.mark.spec("E1", "K1")
def test_an_agent_that_was_started_by_hand_starts_others_by_the_command(
    rookery: Rookery,
) -> None:
    given = {**rookery.environment, "LANG": "C.UTF-8"}
    environment = [f"{name}={value}" for name, value in given.items()]
    start = ["start", "--agent", "demo", "--name", "child", "--project", str(rookery.project)]
    with headless(rookery) as agent:
        agent.hook("SessionStart", cwd=str(rookery.project))
        eventually(lambda: agent.asks(rookery, "GET", "tokens") == 403)
        code, said = agent.runs("env", *environment, sys.executable, "-m", "rookery", *start)

    assert code == 0, said
    parent = rookery.session("n-1")
    assert rookery.session("child")["parent"] == parent["id"]


@pytest.mark.parametrize("how", ["detached", "job", "window"])
def test_what_an_agent_starts_elsewhere_is_no_owner(rookery: Rookery, how: str) -> None:
    answer = rookery.project / "answer"
    script = rookery.project / "ask.py"
    script.write_text(ASK)
    ask = f"{sys.executable} {script} {rookery.home.door} GET tokens '' {answer}"
    tmux = f"tmux -u -S {rookery.home.tmux}"
    commands = {
        "detached": f"setsid -f env -u ROOKERY_BADGE {ask}",
        "job": f'{tmux} run-shell -b "{ask}"',
        "window": f'{tmux} new-window -d "{ask}"',
    }
    line = f"unset TMUX; {commands[how]}; sleep 60"

    rookery.start("sly", agent="shell", command=["sh", "-c", line])
    eventually(answer.exists)

    assert answer.read_text() == "403"


def test_a_process_that_outlives_its_session_reads_no_strangers(rookery: Rookery) -> None:
    rookery.start("stranger")
    gate, answers = rookery.project / "gate", rookery.project / "answers"
    script = rookery.project / "ask.py"
    script.write_text(ASK)
    ask = f"env -u ROOKERY_BADGE {sys.executable} {script} {rookery.home.door} GET"
    left = rookery.project / "left.sh"
    left.write_text(
        f"while [ ! -e {gate} ]; do sleep 0.05; done\n"
        f"{ask} sessions/stranger '' > {answers}.part\n{ask} tokens '' >> {answers}.part\n"
        f"mv {answers}.part {answers}\n"
    )
    line = f"setsid -f sh {left} </dev/null >/dev/null 2>&1; sleep 0.2"

    rookery.client.post(
        "sessions",
        agent="shell",
        name="gone",
        project=str(rookery.project),
        command=["sh", "-c", line],
    )
    ended: dict[str, Any] = rookery.ended("gone", within=SOON)
    gate.touch()
    eventually(answers.exists)

    assert ended["ended_at"]
    assert answers.read_text().split() == ["403", "403"]
