"""Conversations that go on: the real Gemini CLI and OpenCode know what was said before."""

from __future__ import annotations

import pytest

from tests.support.real.more_agents import CASES, PROGRAMS, prepare
from tests.support.real.resumed import KNOWN, SECRET, last_answer
from tests.support.real.rookery import Rookery
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.more_agents, pytest.mark.timeout(300)]

GEMINI, OPENCODE = CASES


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
