"""The terminal interface in a real terminal, on a real daemon, with real agents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery, eventually
from tests.support.real.tui_pane import TuiPane
from tests.support.repositories import make_repository
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300), pytest.mark.spec("I7")]


#: Two questions, of which the second takes several answers.
QUESTIONS = json.dumps(
    {
        "questions": [
            {
                "question": "Which colour?",
                "header": "Colour",
                "options": [
                    {"label": "Red", "description": "warm"},
                    {"label": "Blue", "description": "cold"},
                ],
                "multiSelect": False,
            },
            {
                "question": "Which tests?",
                "header": "Tests",
                "options": [
                    {"label": "unit", "description": "fast"},
                    {"label": "e2e", "description": "slow"},
                ],
                "multiSelect": True,
            },
        ]
    }
)


@pytest.fixture
def pane(cold: Rookery) -> Iterator[TuiPane]:
    pane = TuiPane(cold)
    yield pane
    pane.close()


def idle(rookery: Rookery, name: str) -> bool:
    return bool(rookery.session(name)["activity"] == "idle")


def last_answer(rookery: Rookery, name: str) -> str:
    turns = rookery.client.get("sessions", name, "turns")["turns"]
    return str(turns[-1]["answer"]) if turns else ""


@pytest.mark.spec("D2", "D3", "I7")
def test_a_request_appears_and_is_allowed_by_a_key(rookery: Rookery, pane: TuiPane) -> None:
    rookery.start("builder")
    pane.open()
    pane.shows("builder", "0 need you")
    rookery.send("builder", "permission: Bash rm -rf build;; say: Gone.")
    pane.shows("1 needs you", "builder asks for permission", "rm -rf build", "allow")

    pane.press("a")

    pane.shows("$ rookery allow", "Allowed: Bash")
    eventually(lambda: last_answer(rookery, "builder") == "Gone.")
    pane.shows("0 need you", "Gone.")


def test_a_denial_carries_its_reason(rookery: Rookery, pane: TuiPane) -> None:
    rookery.json("mode", "remote")
    rookery.start("builder", prompt="permission: Bash rm -rf build;; say: Gone.")
    pane.open()
    pane.shows("asks for permission")
    pane.press("d")
    pane.shows("Reason for the agent")
    pane.type("keep it")
    pane.press("Enter")
    pane.shows("Denied: Bash", "--reason 'keep it'")
    eventually(lambda: idle(rookery, "builder"))

    audited = rookery.client.get("audit", session="builder", limit=5)["decisions"]
    assert [(each["decision"], each["reason"]) for each in audited] == [("denied", "keep it")]


def test_enter_attaches_and_leaving_comes_back_to_the_same_place(
    rookery: Rookery, pane: TuiPane
) -> None:
    for name in ("one", "two", "three"):
        rookery.start(name)
    pane.open()
    pane.shows("one", "two", "three")
    pane.press("j")
    pane.press("Enter")
    pane.shows("demo · default mode")  # the program itself has the terminal
    rookery.send("three", "question: Which? | A | B")
    eventually(lambda: rookery.session("three")["activity"] == "question")
    pane.type("say: typed by hand")
    pane.press("Enter")
    pane.shows("● typed by hand")

    pane.press("C-b", "d")

    pane.shows("Back from two.", "1 needs you")
    pane.press("Tab")  # the preview is still that of the same session
    pane.shows("● typed by hand")


def test_a_session_is_started_sent_to_and_ended(rookery: Rookery, pane: TuiPane) -> None:
    pane.open()
    pane.shows("No sessions yet.")
    pane.press("n")
    pane.shows("New session")
    pane.press(*["BTab"] * 7)
    pane.type("demo")  # it replaces what is there
    pane.press("Tab", "Tab")
    pane.type("fresh")
    pane.press(*["Tab"] * 5)
    pane.type("say: first")
    pane.press("Enter")
    pane.shows("Started fresh.", "❯ say: first")
    eventually(lambda: last_answer(rookery, "fresh") == "first")

    pane.press("s")
    pane.shows("Send to fresh")
    pane.type("say: second")
    pane.press("Enter")
    pane.shows("Sent to fresh.")
    eventually(lambda: last_answer(rookery, "fresh") == "second")

    pane.press("x")
    pane.shows("End fresh?")
    pane.press("y")
    eventually(lambda: rookery.session("fresh")["status"] == "killed")
    pane.shows("ended by you")


def test_enter_pressed_twice_starts_and_sends_once(rookery: Rookery, pane: TuiPane) -> None:
    rookery.start("first")  # its agent is the one that the form offers
    pane.open()
    pane.shows("first", "1 idle")
    pane.press("n")
    pane.shows("New session", "Prompt")
    pane.type("say: started once")
    pane.press("Enter", "Enter")
    pane.shows("started once", "2 idle")
    pane.press("s")
    pane.shows("Send to")
    pane.type("say: sent once")
    pane.press("Enter", "Enter")
    pane.shows("Sent to", "sent once")

    sessions = [each["name"] for each in rookery.json("ls")["sessions"]]
    eventually(lambda: "sent once" in [last_answer(rookery, each) for each in sessions])
    turns = [rookery.client.get("sessions", each, "turns")["turns"] for each in sessions]
    answers = sorted(turn["answer"] for some in turns for turn in some)
    assert (len(sessions), answers) == (2, ["sent once", "started once"])


def test_an_answer_that_was_seen_counts_as_read(rookery: Rookery, pane: TuiPane) -> None:
    rookery.start("writer", prompt="say: The README is ready.")
    eventually(lambda: last_answer(rookery, "writer"))
    eventually(lambda: _listed(rookery, "writer")["is_unread"])
    pane.open()
    pane.shows("The README is ready.")

    eventually(lambda: not _listed(rookery, "writer")["is_unread"])
    pane.shows("○")


def _listed(rookery: Rookery, name: str) -> dict[str, object]:
    sessions = rookery.client.get("sessions")["sessions"]
    return next(each for each in sessions if each["name"] == name)


def test_it_survives_a_restart_of_the_daemon(rookery: Rookery, pane: TuiPane) -> None:
    rookery.start("steady")
    pane.open()
    pane.shows("steady")
    rookery.kill()
    pane.shows("The daemon is down, reconnecting")
    rookery.up()
    pane.shows("0 need you", "steady")
    rookery.send("steady", "question: Still there? | Yes | No")
    pane.shows("Still there?", "1. Yes")
    pane.press("1")
    pane.shows("$ rookery answer")
    eventually(lambda: idle(rookery, "steady"))


def test_without_a_daemon_a_key_starts_one(cold: Rookery, pane: TuiPane) -> None:
    cold.home.prepare()
    pane.open()
    pane.shows("The daemon is not running.")
    try:
        pane.press("u")
        pane.shows("No sessions yet.")
    finally:
        cold.run("down")


def test_leaving_says_nothing_and_ends_nothing(rookery: Rookery, pane: TuiPane) -> None:
    rookery.start("builder")
    pane.open()
    pane.shows("builder")
    pane.press("q")
    pane.shows("left with 0")

    assert idle(rookery, "builder")


@pytest.mark.spec("I7", "D2", "D5")
def test_the_real_claude_is_answered_in_place(
    cold: Rookery, models: ModelServer, pane: TuiPane
) -> None:
    configure(cold, models.url)
    cold.up()
    cold.json("mode", "remote")
    cold.start("it", agent="claude")
    pane.open()
    pane.shows("it", "claude")
    cold.send("it", f"bash: touch made-by-claude;; tool: AskUserQuestion {QUESTIONS};; say: ok")
    pane.shows("it asks for permission", "touch made-by-claude", within=90)
    pane.press("a")
    pane.shows("it asks 2 questions", within=90)
    assert (cold.project / "made-by-claude").exists()

    pane.press("2")
    pane.shows("Answer it", "1) Which colour?", "2) Which tests?", "✓2. Blue")
    pane.press("1", "2")
    pane.press("Enter")

    pane.shows("$ rookery answer")
    eventually(lambda: last_answer(cold, "it") == "ok", within=90)
    answered = cold.client.get("permissions", all="true")["requests"]
    given = next(each["answers"] for each in answered if each["kind"] == "question")
    assert given == {"Which colour?": ["Blue"], "Which tests?": ["unit", "e2e"]}


def test_a_hidden_session_is_left_out_until_it_is_shown_again(
    rookery: Rookery, pane: TuiPane
) -> None:
    for name in ("quiet", "other"):
        rookery.start(name)
    pane.open()
    pane.shows("quiet", "other", "2 idle")

    pane.press("h")
    pane.shows("quiet is hidden.", "1 idle")
    assert rookery.session("quiet")["hidden"]
    assert "quiet" not in rookery.run("ls").stdout

    pane.press("H")
    pane.shows("Hidden sessions are also listed.", "quiet    demo")
    pane.press("Home", "h")
    pane.shows("quiet is listed again.", "2 idle")
    assert not rookery.session("quiet")["hidden"]


@pytest.mark.spec("L1", "L2", "I7")
def test_a_session_is_started_with_tags_in_a_worktree_and_its_diff_is_shown(
    rookery: Rookery, pane: TuiPane
) -> None:
    make_repository(rookery.project, rookery.folder)
    rookery.start("first", tags=("day",))  # its agent is the one that the form offers
    pane.open()
    pane.shows("first", "1 idle")
    pane.press("n")
    pane.shows("New session", "Worktree")
    pane.press("BTab", "BTab")
    pane.type("night docs")
    pane.press("Tab")
    pane.type("+")
    pane.press("Tab")
    pane.type("say: In my worktree.")
    pane.press("Enter")
    pane.shows("In my worktree.", "rookery/", "#docs #night", "2 idle")

    (session,) = (
        each for each in rookery.json("ls")["sessions"] if each["tags"] == ["docs", "night"]
    )
    Path(session["project_path"], "new.txt").write_text("work\n")
    pane.press("Tab", "Tab")  # the preview of the difference
    pane.shows("+work")
    pane.press("b", "b")
    pane.shows("Grouped by tag.", " docs 1", " day 1")
