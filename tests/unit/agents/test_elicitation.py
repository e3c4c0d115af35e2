"""Forms that servers of tools have an agent's person fill in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rookery.agents.claude.hooks import HOOKS
from rookery.model.facts import InputSettled, SessionId
from rookery.model.permissions import Outcome, Question, Verdict

#: As Claude Code 2.1 tells of it.
ASKED = {
    "session_id": "n1",
    "cwd": "/",
    "hook_event_name": "Elicitation",
    "mcp_server_name": "demo",
    "message": "Your name?",
    "mode": "form",
    "requested_schema": {
        "type": "object",
        "properties": {"name": {"type": "string", "title": "Name"}},
        "required": ["name"],
    },
}

FORM = {
    "properties": {
        "age": {"type": "integer", "title": "Age"},
        "size": {"type": "number"},
        "new": {"type": "boolean", "title": "New here?"},
        "colour": {"type": "string", "enum": ["red", "blue"]},
    }
}


def said(payload: dict[str, Any], verdict: Verdict | None) -> Any:  # noqa: ANN401 - JSON
    answer = HOOKS.answer(payload, verdict)
    return json.loads(answer)["hookSpecificOutput"] if answer else None


@pytest.mark.spec("D5")
def test_a_form_of_one_field_is_one_question() -> None:
    call = HOOKS.read_call(ASKED)

    assert call
    assert call.questions == (Question("Your name?"),)
    assert call.summary == "Your name?"


@pytest.mark.spec("D5")
def test_what_was_answered_is_filled_in() -> None:
    verdict = Verdict(Outcome.ANSWERED, "person", answers={"Your name?": ("Ann",)})

    accepted = {"hookEventName": "Elicitation", "action": "accept", "content": {"name": "Ann"}}
    assert said(ASKED, verdict) == accepted


@pytest.mark.spec("D5")
def test_each_field_is_filled_in_as_it_wants_it() -> None:
    payload = {**ASKED, "message": "About you:", "requested_schema": FORM}
    call = HOOKS.read_call(payload)
    assert call
    texts = [each.text for each in call.questions]
    given = zip(texts, (("41",), ("a lot",), ("Yes",), ("blue",)), strict=True)

    verdict = Verdict(Outcome.ANSWERED, "person", answers=dict(given))

    assert texts == [
        "About you: Age",
        "About you: size",
        "About you: New here?",
        "About you: colour",
    ]
    assert [each.options for each in call.questions] == [(), (), ("Yes", "No"), ("red", "blue")]
    content = {"age": 41, "size": "a lot", "new": True, "colour": "blue"}
    assert said(payload, verdict)["content"] == content


@pytest.mark.spec("D5")
@pytest.mark.parametrize(("answer", "action"), [("Accept", "accept"), ("Decline", "decline")])
def test_what_has_no_form_wants_a_yes(answer: str, action: str) -> None:
    payload = {**ASKED, "mode": "url", "url": "http://x/", "requested_schema": None}
    verdict = Verdict(Outcome.ANSWERED, "person", answers={"Your name?": (answer,)})

    assert said(payload, verdict)["action"] == action


@pytest.mark.spec("D3", "D5")
@pytest.mark.parametrize(
    ("verdict", "action"),
    [
        (Verdict(Outcome.DENIED, "the clock"), "decline"),
        (Verdict(Outcome.ALLOWED, "rule"), None),
        (Verdict(Outcome.GONE, "terminal"), None),
        (None, None),
    ],
)
def test_what_is_no_answer_fills_in_nothing(
    verdict: Verdict | None, action: str | None
) -> None:
    answer = said(ASKED, verdict)

    assert (answer and answer["action"]) == action


@pytest.mark.spec("D5")
def test_an_answer_at_the_keyboard_settles_it() -> None:
    told = {**ASKED, "hook_event_name": "ElicitationResult", "action": "accept"}

    facts = list(HOOKS.read(told, SessionId("s1")))
    assert facts == [InputSettled(SessionId("s1"), "terminal", tool="Elicitation")]
