"""Conversations that go on: the real Gemini CLI and OpenCode know what was said before."""

from __future__ import annotations

import pytest

from tests.support.real.more_agents import CASES, PROGRAMS, SLOWLY, prepare
from tests.support.real.resumed import KNOWN, SECRET, last_answer
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.more_agents, pytest.mark.timeout(300)]

GEMINI, OPENCODE = CASES


@pytest.mark.spec("A3", "B2")
def test_gemini_gets_its_first_words_once_its_folder_is_trusted(
    cold: Rookery, models: ModelServer
) -> None:
    """It starts itself again then, and ignores keys meanwhile."""
    prepare(cold, models, relaunches=True)
    cold.up()
    project = cold.folder / "stranger"
    project.mkdir()
    first = {"agent": "gemini", "model": GEMINI.model, "prompt": "say: trusted"}
    cold.client.post("sessions", **first, name="it", project=str(project))
    eventually(lambda: cold.client.get("permissions")["requests"], within=SLOWLY)

    done = cold.run("answer", "it", "1")

    assert done.returncode == 0, done.stderr
    eventually(lambda: answers(cold) == ["trusted"], within=SLOWLY)
    assert cold.ask("it", "say: again") == "again"


def answers(rookery: Rookery) -> list[str]:
    return [turn["answer"] for turn in rookery.json("output", "it")["turns"]]


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    prepare(cold, models)
    cold.up()
    return cold


@pytest.fixture(autouse=True)
def _installed() -> None:
    for case in CASES:
        assert (PROGRAMS / case.agent).exists(), "make test-agents installs it"


@pytest.mark.spec("A10")
def test_opencode_agents_go_on_with_what_was_said(rookery: Rookery) -> None:
    rookery.start("it", agent="opencode", model=OPENCODE.model)
    rookery.ask("it", f"say: {SECRET}")
    rookery.run("end", "it")

    rookery.json("resume", "it", "--wait", KNOWN)

    assert last_answer(rookery, "it").endswith(": yes")


@pytest.mark.spec("A10")
def test_gemini_agents_go_on_with_what_was_said(rookery: Rookery) -> None:
    """Without its hooks nobody knows its words; what it was asked shows on its screen."""
    rookery.start("it", agent="gemini", model=GEMINI.model)
    rookery.send("it", f"say: {SECRET}")
    rookery.run("wait", "it")
    rookery.run("end", "it")

    rookery.json("resume", "it", "--wait", KNOWN)

    assert "he[r]on: yes" in rookery.screen("it")


@pytest.mark.spec("F3")
def test_a_prompt_that_is_typed_by_hand_during_a_turn_has_its_own_answer(
    rookery: Rookery, models: ModelServer
) -> None:
    rookery.start("it", agent="gemini", model=GEMINI.model)
    rookery.send("it", "gate: x;; say: one")
    eventually(lambda: "esc to cancel" in rookery.screen("it"), within=SLOWLY)
    pane = rookery.session("it")["tmux_pane"]
    rookery.tmux("send-keys", "-t", pane, "-l", "say: two by hand")
    eventually(lambda: "say: two by hand" in rookery.screen("it"))

    def is_queued() -> bool:
        """For a moment after fast typing, Gemini takes Enter for a line break."""
        rookery.tmux("send-keys", "-t", pane, "Enter")
        return "Queued" in rookery.screen("it")

    eventually(is_queued)

    models.open_gate("x")

    eventually(lambda: answers(rookery) == ["one", "two by hand"], within=SLOWLY)
    rookery.run("wait", "it")
    assert rookery.run("ask", "it", "/stats").stdout.strip() != "two by hand"
    assert answers(rookery)[:2] == ["one", "two by hand"]


@pytest.mark.spec("F3")
def test_answers_of_gemini_are_known_after_its_conversation_was_cleared(
    rookery: Rookery,
) -> None:
    rookery.start("it", agent="gemini", model=GEMINI.model)
    before = rookery.ask("it", "say: before")
    rookery.run("ask", "it", "/clear")

    assert (before, rookery.ask("it", "say: after")) == ("before", "after")
