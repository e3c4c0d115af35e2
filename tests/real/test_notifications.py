"""A person is told what sessions need: by real programs, a real terminal, a real tmux."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract.notifiers import recorded, recorder
from tests.support.real.agent_cases import CASES, Case
from tests.support.real.agents import configure
from tests.support.real.attached import attached, attached_to
from tests.support.real.by_hand import ByHand
from tests.support.real.rookery import SOON, Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.spec("H4")]

#: All channels; what happens at the same moment is told together.
CONFIGURATION = """
[notifications]
batch_seconds = 0.1
[notifications.command]
run = ["~/tell"]
[notifications.desktop]
enabled = true
[notifications.bell]
enabled = true
"""


@pytest.fixture
def told(cold: Rookery) -> Rookery:
    """Give a daemon that tells by every channel, with a notify-send that records."""
    recorder(cold.folder, "tell")
    recorder(cold.folder, "notify-send")
    # The login shell says where programs are.
    (cold.folder / ".profile").write_text(f'PATH="{cold.folder}:$PATH"\nexport PATH\n')
    cold.configure(CONFIGURATION)
    cold.up()
    return cold


def by_command(rookery: Rookery) -> list[dict[str, Any]]:
    found = recorded(rookery.folder / "tell.received")
    return [json.loads(json.loads(each)[-1]) for each in found]


def on_desktop(rookery: Rookery) -> list[list[str]]:
    found = recorded(rookery.folder / "notify-send.received")
    return [json.loads(each)[:-1] for each in found]


def states(rookery: Rookery, session: str, kind: str) -> dict[str, tuple[str, str]]:
    """Return what became of the notifications about a session, by channel."""
    found = rookery.json("notify", "ls", "-n", "100")["notifications"]
    return {
        each["channel"]: (each["state"], each["reason"])
        for each in found
        if (each["name"], each["kind"], each["is_reminder"]) == (session, kind, False)
    }


def test_a_request_is_told_once_by_every_channel_and_shown_in_the_status_line(
    told: Rookery,
) -> None:
    told.start("api")
    told.start("web")
    with attached(told, "web") as terminal:
        eventually(lambda: b"C-q" in terminal.shown)
        told.send("api", "permission: Bash rm -rf build")
        eventually(lambda: {"sent"} == {each for each, _ in ended(told, "api")})
        eventually(lambda: b"1 wait" in terminal.shown)
        shown = bytes(terminal.shown)

    (notification,) = by_command(told)
    (session,) = notification["sessions"]
    assert notification["title"] == "api needs you"
    assert (session["name"], session["folder"]) == ("api", str(told.project))
    assert session["text"] == "May it use Bash? rm -rf build"
    ((*_, title, body),) = on_desktop(told)
    assert (title, body) == ("api needs you", f"{told.project}\n{session['text']}")
    assert shown.count(b"\033]9;api needs you: ") == 1
    assert shown.count(b"\033]777;notify;api needs you;") == 1
    assert b"rm -rf build\033\\\a" in shown
    assert told.run("status", "--line").stdout == "1 wait\n"
    shown_line = ("show-options", "-gqv", "@rookery-line")
    assert told.tmux(*shown_line) == "1 wait\n"
    told.stop()
    assert told.tmux(*shown_line).strip() == ""


def ended(rookery: Rookery, session: str) -> list[tuple[str, str]]:
    found = states(rookery, session, "needs-you")
    return [*found.values()] if len(found) == 3 else []


def test_nothing_is_told_about_a_session_that_the_user_watches_or_has_muted(
    told: Rookery,
) -> None:
    told.start("api")
    told.start("web")
    told.run("mute", "web", "--for", "1h")
    with attached(told, "api") as terminal:
        eventually(lambda: b"C-q" in terminal.shown)
        told.send("api", "question: Which one? | Red | Blue")
        told.send("web", "permission: Bash ls")
        eventually(lambda: ended(told, "api") and ended(told, "web"))
        eventually(lambda: "skipped" in {each for each, _ in ended(told, "web")})

    watched = {"you are attached to this session"}
    assert {reason for _, reason in ended(told, "api")} == watched
    assert all("muted until" in reason for _, reason in ended(told, "web"))
    assert (by_command(told), on_desktop(told)) == ([], [])
    assert told.run("status", "--line").stdout == "1 wait\n"


@pytest.mark.spec("H5")
def test_a_program_that_runs_when_the_daemon_dies_is_not_run_again(cold: Rookery) -> None:
    begun, gate = cold.folder / "begun", cold.folder / "gate"
    program = cold.folder / "tell"
    program.write_text(f"#!/bin/sh\necho begun >> '{begun}'\nread line < '{gate}'\n")
    program.chmod(0o755)
    os.mkfifo(gate)
    cold.configure('[notifications.command]\nrun = ["~/tell"]')
    cold.up()
    cold.start("api")
    cold.send("api", "say: Done.")
    eventually(begun.exists)

    cold.kill()
    gate.write_text("go on\n")
    cold.up()

    eventually(lambda: states(cold, "api", "finished")["command"][0] == "unsure")
    assert begun.read_text() == "begun\n"


def test_the_users_own_tmux_rings_and_shows_the_line(cold: Rookery, tmp_path: Path) -> None:
    own = ByHand(tmp_path)
    sockets = f"[discovery]\ntmux_sockets = ['{own.socket}']\n"
    cold.configure(f"{sockets}[notifications.bell]\nenabled = true")
    cold.up()
    cold.start("api")
    try:
        own.run("work", cold.project, "cat")
        home = f"ROOKERY_HOME={cold.environment['ROOKERY_HOME']}"
        line = f"#({home} {sys.executable} -m rookery status --line)"
        own.tmux("set-option", "-g", "status-interval", "1")
        own.tmux("set-option", "-g", "status-right", line)
        with attached_to(own.socket, "=own") as terminal:
            eventually(lambda: own.tmux("list-clients"))
            cold.send("api", "permission: Bash ls")
            eventually(lambda: b"\033]9;api needs you: " in terminal.shown)
            eventually(lambda: b"1 wait" in terminal.shown)
    finally:
        own.clear_away()


@pytest.mark.spec("C8")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.agent)
def test_a_dialog_and_an_answer_of_a_real_agent_are_told_once_each(
    cold: Rookery, models: ModelServer, case: Case
) -> None:
    recorder(cold.folder, "tell")
    configure(cold, models.url)
    cold.configure(cold.home.settings.read_text() + CONFIGURATION)
    cold.up()
    cold.start("it", agent=case.agent)
    cold.send("it", case.asking)
    eventually(lambda: by_command(cold))

    assert cold.run("allow", "it").returncode == 0
    eventually(lambda: len(by_command(cold)) > 1)
    cold.client.get("sessions", "it", "wait", until="stop", timeout=SOON)

    assert [(each["kind"], each["title"]) for each in by_command(cold)] == [
        ("needs-you", "it needs you"),
        ("finished", "it is finished"),
    ]
    first, last = by_command(cold)
    assert "touch made" in first["body"]
    assert last["body"].endswith("allowed")
