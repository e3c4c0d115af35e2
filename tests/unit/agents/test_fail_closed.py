"""A hook whose request ended without an answer never lets its call run unasked."""

from __future__ import annotations

import json
from dataclasses import replace
from sqlite3 import Connection

import pytest

from rookery.agents.catalog import AGENTS
from rookery.model.facts import ToolUsed
from rookery.model.permissions import Outcome, Verdict
from rookery.ports.agent import Payload
from rookery.store import requests
from rookery.store.journal import Journal
from rookery.store.requests import Asking
from tests.support.dialects import hooks_of
from tests.support.fakes.clock import FakeClock
from tests.support.paths import RECORDINGS
from tests.support.rows import WORKER, settle_in

RECORDED = RECORDINGS

AFTER_TOOL = {"BeforeTool": "AfterTool", "PreToolUse": "PostToolUse"}

#: The agents with an event before a tool runs: only their calls can be stopped.
STOPPABLE = sorted(
    name for name, agent in AGENTS.items() if agent.hooks and agent.hooks.traits.before_tool
)

GONE = Verdict(Outcome.GONE, "terminal", "answered in the terminal")


def before_tool(agent: str) -> Payload:
    """Return the recorded hook call in which an agent tells what it is about to do."""
    folder = "claude" if agent == "demo" else agent
    (found,) = RECORDED.glob(f"{folder}-*/hooks/{hooks_of(agent).traits.before_tool}.json")
    payload: Payload = json.loads(found.read_text())
    return payload


@pytest.mark.spec("C3", "D3")
@pytest.mark.parametrize("agent", STOPPABLE)
def test_a_request_that_ended_without_an_answer_does_not_let_its_call_run(agent: str) -> None:
    payload, hooks = before_tool(agent), hooks_of(agent)

    said = hooks.answer(payload, GONE)

    assert said == hooks.answer(payload, None)
    decision = json.loads(said)
    decision = decision.get("hookSpecificOutput", decision)
    spoken = decision.get("permissionDecision") or decision.get("decision")
    assert spoken == ("ask" if hooks.traits.obeys_ask else "deny")


@pytest.mark.spec("D1", "D3")
@pytest.mark.parametrize("agent", STOPPABLE)
def test_rules_match_the_whole_name_of_a_tool(agent: str) -> None:
    name = f"mcp__x__{'a' * 300}delete"

    call = hooks_of(agent).read_call({**before_tool(agent), "tool_name": name})

    assert call is not None
    assert call.tool == name


@pytest.mark.spec("D2", "D3")
@pytest.mark.parametrize("agent", STOPPABLE)
def test_of_two_calls_with_the_same_input_the_one_that_ran_is_known(
    db: Connection, clock: FakeClock, agent: str
) -> None:
    journal = Journal("here", clock, {}, set())
    settle_in(db, journal)
    asking = Asking(clock.now(), None, hook="first")
    told, hooks = before_tool(agent), hooks_of(agent)
    first, second = {**told, "tool_use_id": "a"}, {**told, "tool_use_id": "b"}
    asked = [hooks.read_call(each) for each in (first, second)]
    ids = [
        requests.add(db, WORKER, call, replace(asking, hook=f"k{number}"))
        for number, call in enumerate(asked)
        if call
    ]

    ran = {**first, "hook_event_name": AFTER_TOOL[hooks.traits.before_tool]}
    (used,) = hooks.read({**ran, "tool_response": {}}, WORKER)

    assert isinstance(used, ToolUsed)
    found = requests.of_use(db, used)
    # Without ids no call is known to have run while its hook waits.
    assert (found and found.id) == (None if agent == "gemini" else ids[0])


@pytest.mark.spec("D2", "D3")
@pytest.mark.parametrize("reason", ["", "  \n"])
@pytest.mark.parametrize("agent", STOPPABLE)
def test_a_denial_always_has_a_reason(agent: str, reason: str) -> None:
    denied = Verdict(Outcome.DENIED, "x", reason)
    said = json.loads(hooks_of(agent).answer(before_tool(agent), denied))

    said = said.get("hookSpecificOutput", said)
    # Codex takes a denial without a reason for a broken hook, and runs the call.
    assert (
        said.get("permissionDecisionReason") or said.get("reason")
    ) == "Denied without a reason."
