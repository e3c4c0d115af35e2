"""What a waiting command shows, and what it does when the agent needs a person."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest

from rookery.cli.daemon_waits import WaitPlan, gathered
from rookery.cli.options import NO_AUTOSTART, may_start_daemon
from rookery.cli.person_needed import fails_when_asked
from rookery.cli.root import rookery
from rookery.cli.wait_line import WaitLine, shown_during, wait_line
from rookery.client.sessions import SessionInfo
from rookery.client.streams import ShownEvent
from rookery.model.errors import Answered
from tests.support.cli import Scripted, made, session, typed

pytestmark = pytest.mark.spec("I5")


def event(kind: str, **fields: str) -> ShownEvent:
    return ShownEvent(1, kind, json.dumps({"kind": kind, "session": "1", **fields}))


def test_the_line_says_what_a_session_does_now() -> None:
    line = WaitLine({"1": "api"}, {"1": "starting"})
    texts = [line.text()]

    for each in (
        event("turn-started"),
        event("tool-called", tool="Bash"),
        event("input-asked", asks="permission"),
        event("input-settled"),
        event("turn-ended"),
        ShownEvent(2, "turn-started", json.dumps({"session": "other"})),
    ):
        line.learn(each)
        texts.append(line.text())

    assert texts == [
        "api starting 0s",
        "api working 0s",
        "api working 0s · Bash",
        "api asks for permission 0s · Bash",
        "api working 0s",
        "api idle 0s",
        "api idle 0s",
    ]


def test_the_line_says_what_several_sessions_do() -> None:
    line = WaitLine({"1": "api", "2": "web"}, {"1": "idle", "2": "working"})

    assert line.text() == "0s · api idle, web working"


def test_the_line_is_redrawn_in_place_and_removed_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = WaitLine({"1": "api"}, {"1": "working"})
    answers = [Answered("still-working", "Not yet."), None]

    def ask(*, timeout: float) -> str:
        assert timeout <= 1.0
        if answer := answers.pop(0):
            raise answer
        return "done"

    assert shown_during(line, ask)(timeout=60) == "done"
    assert capsys.readouterr().err == "\r\x1b[Kapi working 0s" * 2 + "\r\x1b[K"


def test_without_a_terminal_there_is_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    with wait_line(Scripted(), [session("api")]) as line:
        assert line is None

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("chosen", "is_terminal", "fails"),
    [
        (None, True, False),
        (None, False, True),
        ("wait", False, False),
        ("fail", True, True),
    ],
)
def test_a_command_fails_when_asked_unless_a_person_is_there(
    monkeypatch: pytest.MonkeyPatch, *, chosen: str | None, is_terminal: bool, fails: bool
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: is_terminal, raising=False)

    assert fails_when_asked(chosen) is fails


def asking(name: str) -> dict[str, Any]:
    return made(name, activity="permission", reason="May it?", since="2026-01-01T00:00:00")


@pytest.mark.spec("D2", "E7")
def test_a_session_that_asks_is_told_of_once_and_waited_for_on() -> None:
    told: list[str] = []

    def tell(session: SessionInfo) -> None:
        told.append(session.name)

    daemon = Scripted(
        wait=[
            {"there": [asking("a")], "awaited": [made("b")]},
            {"there": [made("b"), made("a")], "awaited": []},
        ]
    )

    there = list(gathered(daemon, ["a", "b"], WaitPlan(2, "stop", None, tell)))

    assert told == ["a"]
    assert [each.name for each in there] == ["b", "a"]
    assert [asked.get("known") for _, asked in daemon.asked] == [
        None,
        ("2026-01-01T00:00:00",),
    ]


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("options", "code"), [((), 6), (("--on-permission", "fail"), 6), (("--until", "end"), None)]
)
def test_waiting_in_a_script_ends_when_a_person_is_needed(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], code: int | None
) -> None:
    daemon = Scripted(sessions=asking("a"), permissions={"requests": []})

    assert typed(monkeypatch, daemon, "wait", "a", *options) == code


@pytest.mark.spec("D2")
def test_waiting_for_several_in_a_script_ends_at_the_first_that_needs_a_person(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wait = [{"there": [asking("a")], "awaited": [made("b")]}]
    daemon = Scripted(wait=wait, permissions={"requests": []})

    assert typed(monkeypatch, daemon, "wait", "a", "b", "--json") == 6
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "person-needed"


@pytest.mark.parametrize(
    ("command", "environment", "may"),
    [
        ("ls", {}, True),
        ("start", {"ROOKERY_AUTOSTART": "1"}, True),
        ("status", {}, False),
        ("doctor", {}, False),
        ("uninstall", {}, False),
        ("ls", {"ROOKERY_AUTOSTART": "0"}, False),
        ("ls", {"ROOKERY_BADGE": "x"}, False),
        ("ls", {"ROOKERY_SESSION": "x"}, False),
        ("ls", {"CLAUDECODE": "1"}, False),
    ],
)
def test_the_first_command_that_needs_the_daemon_may_start_it(
    command: str, environment: dict[str, str], *, may: bool
) -> None:
    root = click.Context(rookery, info_name="rookery")
    found = rookery.get_command(root, command)
    assert found is not None
    context = click.Context(found, info_name=command, parent=root)

    assert may_start_daemon(context, environment) is may
    root.meta[NO_AUTOSTART] = True
    assert not may_start_daemon(context, environment)
