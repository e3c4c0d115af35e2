"""What a session does now, in one line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rookery.client.sessions import ListedSession, WaitingInfo
from rookery.presentation.activity import Surroundings, activity, tool_text
from tests.support.cli import session

pytestmark = pytest.mark.spec("I5")

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)

RUNNING: dict[str, Any] = {
    "activity": "working",
    "last_prompt": "Fix it",
    "last_prompt_at": (NOW - timedelta(minutes=2)).isoformat(),
    "last_tool": "Bash",
    "tool_argument": "npm test",
    "tool_at": (NOW - timedelta(seconds=40)).isoformat(),
}


def told(one: ListedSession, **known: Any) -> str:  # noqa: ANN401 - of its surroundings
    return activity(one, Surroundings(NOW, **known))


def test_a_waiting_session_shows_the_very_command() -> None:
    asked = {"asked_tool": "Bash", "asked_argument": "rm -rf build"}
    one = session("a", activity="permission", reason="May it use Bash? rm -rf build", **asked)

    assert told(one) == "Bash — rm -rf build"
    elsewhere = session("a", activity="permission", asked_folder="/etc", **asked)
    assert told(elsewhere) == "Bash in /etc — rm -rf build"


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("/repo/.wt/a/src/main.py", "./src/main.py"),
        ("/repo/.wt/ab/main.py", "/repo/.wt/ab/main.py"),
        ("/repo/.wt/a/clean --all", "/repo/.wt/a/clean --all"),
        ("cat /repo/.wt/a/main.py", "cat /repo/.wt/a/main.py"),
    ],
)
@pytest.mark.parametrize("activity", ["permission", "working"])
def test_a_path_is_shown_from_the_folder_of_its_session(
    argument: str, shown: str, activity: str
) -> None:
    asked = {"asked_tool": "Write", "asked_argument": argument}
    tool = {**RUNNING, "tool_argument": argument, **asked}
    one = session("a", **{**tool, "activity": activity}, project_path="/repo/.wt/a")

    assert told(one).endswith(f" — {shown}")


def test_a_waiting_session_shows_its_question() -> None:
    assert told(session("a", activity="question", reason="Which one?")) == "Which one?"
    assert told(session("a", activity="permission", reason="Trust it?")) == "Trust it?"


def test_a_resumed_session_shows_the_turn_that_was_cut_off() -> None:
    assert told(session("a", activity="idle", cut_off="Fix it")) == "cut off: ❯ Fix it"


def test_a_working_session_shows_its_tool_and_for_how_long() -> None:
    assert told(session("a", **RUNNING)) == "Bash (40s) — npm test"


def test_a_tool_that_has_ended_is_done() -> None:
    ended = session("a", **RUNNING, tool_ended_at=NOW.isoformat())

    assert told(ended) == "Bash (done) — npm test"


@pytest.mark.spec("G5")
def test_a_driven_session_that_reports_nothing_is_silent_unless_a_tool_runs() -> None:
    silent = {"runtime": "sdk", "last_activity_at": (NOW - timedelta(seconds=20)).isoformat()}
    waiting = {"activity": "working", "last_prompt": "Fix it", **silent}

    assert told(session("a", **waiting)) == "silent for 20s · ❯ Fix it"
    assert told(session("a", **RUNNING, **silent)) == "Bash (40s) — npm test"
    assert told(session("a", **{**waiting, "runtime": "tmux"})) == "❯ Fix it"
    soon = {**waiting, "last_activity_at": (NOW - timedelta(seconds=14)).isoformat()}
    assert told(session("a", **soon)) == "❯ Fix it"


def test_a_tool_of_an_earlier_turn_is_not_shown() -> None:
    later = session("a", **RUNNING).with_changes(last_prompt_at=NOW.isoformat())

    assert told(later) == "❯ Fix it"
    assert told(session("a", activity="working", title="Build it")) == "Build it"


def test_an_idle_session_shows_its_last_answer_and_whether_it_was_read() -> None:
    assert told(session("a", last_answer="Done.")) == "Done."
    assert told(session("a", last_answer="Done.", is_unread=True)) == "● Done."


def test_an_interrupted_turn_is_named() -> None:
    one = session("a", last_outcome="interrupted", last_prompt="Fix it")

    assert told(one) == "interrupted: ❯ Fix it"


def test_what_an_interrupted_turn_has_said_is_not_taken_for_its_answer() -> None:
    one = session("a", last_outcome="interrupted", last_answer="I will look at it.")

    assert told(one) == "interrupted: I will look at it."


@pytest.mark.spec("A11")
def test_commands_that_an_agent_left_running_are_counted() -> None:
    one = session("a", background=2, last_answer="Started.", is_unread=True)

    assert told(one) == "● 2 commands still run · Started."


def test_a_failed_turn_shows_its_reason() -> None:
    one = session("a", reason="failed")

    assert told(one, failure=" API Error: 400\n") == "API Error: 400"
    assert told(one) == "its last turn failed"


@pytest.mark.spec("A4")
def test_an_ended_session_shows_how_it_ended() -> None:
    over: dict[str, Any] = {"activity": None, "ended_at": NOW.isoformat()}
    exited = "it exited; its screen ended with:\nOh no"

    assert told(session("a", status="killed", ended_by="person", **over)) == "ended by you"
    assert told(session("a", status="failed", reason=exited, **over)) == "it exited: Oh no"
    assert told(session("a", status="completed", reason="it ended", **over)) == "it ended"


@pytest.mark.parametrize(
    ("known", "why", "line"),
    [
        ({"activity": "working", "last_prompt": "Go"}, "busy", "❯ Go; 2 messages wait"),
        ({"last_answer": "Done."}, "", "Done."),
        ({"last_answer": "Done."}, "a draft is there.", "2 messages wait: a draft is there."),
        ({"activity": "permission", "reason": "May it?"}, "", "May it?; 2 messages wait"),
    ],
)
def test_messages_that_wait_are_counted(known: dict[str, Any], why: str, line: str) -> None:
    queued = WaitingInfo(messages=2, why=why, obstacle=why)

    assert told(session("a", **known), queued=queued) == line


def test_a_tool_with_its_argument_is_one_line() -> None:
    assert tool_text("Bash", "cd x\n  make\n") == "Bash — cd x ↵ make"
    assert tool_text("TodoWrite", " ") == "TodoWrite"
