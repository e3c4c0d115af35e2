"""Agents without a terminal, known by their hooks only: their sessions end when they do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rookery.hook_setup import programs
from tests.support.paths import PROGRAMS
from tests.support.real.agents import KEY, configure
from tests.support.real.outsiders import outsider
from tests.support.real.rookery import SOON, Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300), pytest.mark.spec("A4", "A8")]


def only(rookery: Rookery) -> dict[str, Any]:
    (found,) = rookery.client.get("sessions", all=True)["sessions"]
    return dict(found)


@pytest.mark.parametrize("agent", ["codex", "gemini", "opencode"])
def test_an_agent_that_is_killed_or_ends_without_a_word_is_over(
    rookery: Rookery, agent: str
) -> None:
    told = {"session_id": "n-1", "cwd": "/x/agent"}
    with outsider(rookery, agent=agent, called=agent) as running:
        running.tell({**told, "hook_event_name": "SessionStart"})
        lives = only(rookery)["status"]
    # It read the end of its input, and left.
    ended = rookery.ended("n-1", within=SOON)

    assert lives == "running"
    assert (ended["runtime"], ended["status"]) == ("headless", "completed")


def codex(rookery: Rookery, prompt: str) -> subprocess.Popen[bytes]:
    """Run the real Codex without a terminal, with our hooks as its user has installed them."""
    home = rookery.folder / "codex"
    where = ("--config-dir", str(home))
    rookery.json("hooks", "install", "--agent", "codex", *where, "--trust", "--yes")
    own = {"HOME": str(rookery.folder), "CODEX_HOME": str(home), "FAKE_KEY": "x"}
    return subprocess.Popen(
        [PROGRAMS / "codex", "exec", "--skip-git-repo-check", prompt],
        cwd=rookery.project,
        env={**os.environ, **own},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def claude(rookery: Rookery, prompt: str, models: str) -> subprocess.Popen[bytes]:
    """Run the real Claude Code without a terminal, with our hooks in its settings."""
    config = rookery.folder / "claude"
    settings = json.dumps({"hooks": hooks_of(rookery)})
    return subprocess.Popen(
        [PROGRAMS / "claude", "-p", "--settings", settings, prompt],
        cwd=rookery.project,
        env={
            **os.environ,
            "HOME": str(rookery.folder),
            "CLAUDE_CONFIG_DIR": str(config),
            "ANTHROPIC_BASE_URL": models,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def hooks_of(rookery: Rookery) -> dict[str, Any]:
    command = programs.hook_command(rookery.home, "claude")
    run = [{"hooks": [{"type": "command", "command": command}]}]
    return dict.fromkeys(("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"), run)


@pytest.mark.parametrize("agent", ["codex", "claude"])
@pytest.mark.parametrize("how", ["killed", "by itself"])
def test_a_real_agent_without_a_terminal_ends_when_its_process_does(
    cold: Rookery, models: ModelServer, agent: str, how: str
) -> None:
    assert Path(PROGRAMS / agent).exists(), "make agents installs it"
    configure(cold, models.url)
    cold.up()
    prompt = "gate: later;; say: done"

    running = codex(cold, prompt) if agent == "codex" else claude(cold, prompt, models.url)
    try:
        eventually(lambda: any(record.gate == "later" for record in models.log))
        eventually(lambda: only(cold)["activity"] == "working")
        if how == "killed":
            running.kill()
        else:
            models.open_gate("later")
        running.wait(timeout=SOON)
        ended = cold.ended(only(cold)["id"], within=SOON)
    finally:
        # Its whole group: the program that npm installs for Codex starts the real one.
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait(timeout=SOON)

    expected = "failed" if how == "killed" else "completed"
    assert (ended["runtime"], ended["status"]) == ("headless", expected)


@pytest.mark.spec("A5", "C8")
def test_a_real_agent_that_reports_its_own_end_is_one_session(
    cold: Rookery, models: ModelServer
) -> None:
    configure(cold, models.url)
    cold.up()

    running = [claude(cold, f"say: {each}", models.url) for each in range(4)]
    for each in running:
        each.wait(timeout=SOON)
    # What the files of the agents said last has been read when the folder is empty.
    files = cold.folder / "claude" / "sessions"
    eventually(lambda: files.is_dir() and not list(files.glob("*.json")))
    with outsider(cold) as last:
        last.tell({"session_id": "n-1", "cwd": "/x", "hook_event_name": "SessionStart"})

    found = cold.client.get("sessions", all=True)["sessions"]
    ended = [each for each in found if each["agent"] == "claude" and each["ended_at"]]
    assert len({each["native_id"] for each in ended}) == len(ended) == len(running)


@pytest.mark.spec("A8", "I2")
def test_that_an_agent_has_no_terminal_and_said_nothing_is_said(rookery: Rookery) -> None:
    with outsider(rookery) as agent:
        agent.tell({"session_id": "n-1", "cwd": "/x", "hook_event_name": "SessionStart"})
        name = rookery.session("n-1")["name"]

        said, shown = rookery.run("output", name), rookery.run("screen", name)

    assert said.stdout == f"{name} has no terminal, and has answered nothing yet.\n"
    assert (said.returncode, shown.returncode) == (0, 1)
    assert f"{name} has no terminal." in shown.stderr


def test_what_is_in_no_pane_is_not_counted_as_in_tmux(rookery: Rookery) -> None:
    with outsider(rookery) as agent:
        agent.tell({"session_id": "n-1", "cwd": "/x", "hook_event_name": "SessionStart"})
        counted = rookery.json("status")

        said = rookery.run("down").stdout

    assert (counted["sessions"], counted["in_tmux"]) == (1, 0)
    assert said == "Rookery is down.\n"
