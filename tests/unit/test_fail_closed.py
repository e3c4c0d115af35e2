"""A hook whose request ended without an answer never lets its call run unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rookery.agents.claude import Claude
from rookery.agents.codex import Codex
from rookery.agents.demo import Demo
from rookery.agents.gemini import Gemini
from rookery.agents.opencode import OpenCode
from rookery.model.permissions import Outcome, Verdict
from rookery.ports.agent import Agent, Payload

RECORDED = Path(__file__).parents[1] / "recordings"

GONE = Verdict(Outcome.GONE, "terminal", "answered in the terminal")


def before_tool(agent: Agent) -> Payload:
    """Return the recorded hook call in which an agent tells what it is about to do."""
    folder = "claude" if agent.name == "demo" else agent.name
    (found,) = RECORDED.glob(f"{folder}-*/hooks/{agent.hook_before_tool}.json")
    payload: Payload = json.loads(found.read_text())
    return payload


@pytest.mark.spec("C3", "D3")
@pytest.mark.parametrize("agent", [Claude(), Codex(), Demo(), Gemini(), OpenCode()])
def test_a_request_that_ended_without_an_answer_does_not_let_its_call_run(agent: Agent) -> None:
    payload = before_tool(agent)

    said = agent.answer(payload, GONE)

    assert said == agent.answer(payload, None)
    decision = json.loads(said)
    decision = decision.get("hookSpecificOutput", decision)
    spoken = decision.get("permissionDecision") or decision.get("decision")
    assert spoken == ("ask" if agent.asks_when_told else "deny")


@pytest.mark.spec("D2", "D3")
@pytest.mark.parametrize("reason", ["", "  \n"])
@pytest.mark.parametrize("agent", [Claude(), Codex(), Demo(), Gemini(), OpenCode()])
def test_a_denial_always_has_a_reason(agent: Agent, reason: str) -> None:
    said = json.loads(agent.answer(before_tool(agent), Verdict(Outcome.DENIED, "x", reason)))

    said = said.get("hookSpecificOutput", said)
    # Codex takes a denial without a reason for a broken hook, and runs the call.
    assert (said.get("permissionDecisionReason") or said.get("reason")) == "It was denied."
