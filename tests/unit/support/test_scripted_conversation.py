"""What the scripted model makes of a conversation, as each API tells it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.support.scripted_model import anthropic, asides, chat, gemini, responses
from tests.support.scripted_model.asides import Kind
from tests.support.scripted_model.conversation import Conversation, Request
from tests.support.scripted_model.plan import plan
from tests.support.scripted_model.steps import Say

SCRIPT = "bash: one;; result:"


def request(**body: object) -> Request:
    return Request("/models/m:generateContent", json.dumps(body), body)


def of_anthropic(*contents: tuple[str, object]) -> Conversation:
    return anthropic.read(
        request(messages=[{"role": role, "content": content} for role, content in contents])
    )


CALLED = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]
GIVEN = {"type": "tool_result", "tool_use_id": "t", "content": [{"text": "it worked"}]}


@pytest.mark.parametrize(
    ("read", "asked"),
    [
        (
            anthropic.read,
            request(
                messages=[
                    {"role": "user", "content": SCRIPT},
                    {"role": "assistant", "content": CALLED},
                    {"role": "user", "content": [GIVEN]},
                ]
            ),
        ),
        (
            responses.read,
            request(
                input=[
                    {"type": "message", "role": "user", "content": [{"text": SCRIPT}]},
                    {"type": "function_call", "name": "shell"},
                    {"type": "function_call_output", "output": "it worked"},
                ]
            ),
        ),
        (
            chat.read,
            request(
                messages=[
                    {"role": "system", "content": "say: no"},
                    {"role": "user", "content": f'"{SCRIPT}"'},
                    {"role": "assistant", "tool_calls": [{}]},
                    {"role": "tool", "content": "it worked"},
                ]
            ),
        ),
        (
            gemini.read,
            request(
                contents=[
                    {"role": "user", "parts": [{"text": SCRIPT}]},
                    {"role": "model", "parts": [{"functionCall": {}}]},
                    {
                        "role": "user",
                        "parts": [{"functionResponse": {"response": "it worked"}}],
                    },
                ]
            ),
        ),
    ],
)
def test_every_api_tells_the_prompt_the_calls_and_the_results(
    read: Callable[[Request], Conversation], asked: Request
) -> None:
    conversation = read(asked)

    planned = plan(conversation)

    assert (planned.kind, planned.response) == (Kind.SCRIPT, 1)
    assert planned.prompt.text == SCRIPT
    assert conversation.last_result.strip('"') == "it worked"


@pytest.mark.parametrize(
    "blocks",
    [
        ["<system-reminder>\nsay: no\n</system-reminder>", "say: yes"],
        ["say: yes", "<environment_context>\nsay: no\n</environment_context>"],
        ['<hook_prompt hook_run_id="1">say: yes</hook_prompt>'],
        ["The user sent a new message while you were working:\nsay: yes\n\nThis is how it is."],
    ],
)
def test_the_prompt_is_what_the_user_said(blocks: list[str]) -> None:
    content = [{"type": "text", "text": block} for block in blocks]

    planned = plan(of_anthropic(("user", content)))

    assert planned.prompt.text == "say: yes"


def test_what_was_said_before_an_interruption_is_over() -> None:
    blocks = ["say: no", "[Request interrupted by user]", "well then"]
    content = [{"type": "text", "text": block} for block in blocks]

    planned = plan(of_anthropic(("user", content)))

    assert planned.prompt.text == "well then"


def test_a_notice_is_a_prompt_of_its_own() -> None:
    notice = "<task-notification><summary>it ended</summary>say: no</task-notification>"

    planned = plan(of_anthropic(("user", "say: no"), ("user", notice)))

    assert planned.steps == (Say("ok: task notification, it ended"),)


@pytest.mark.parametrize("note", ["<task-notification><summary>x</summary>", "say: no"])
def test_a_note_in_the_middle_of_a_turn_leaves_the_script_where_it_is(note: str) -> None:
    lines = [("user", SCRIPT), ("assistant", CALLED), ("user", [GIVEN]), ("system", note)]

    planned = plan(of_anthropic(*lines))

    assert (planned.prompt.text, planned.response) == (SCRIPT, 1)


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        ({"system": "You are a title generator."}, Kind.TITLE, "Scripted session"),
        ({"system": "Write an anchored summary."}, Kind.SUMMARY, "<analysis>"),
        ({"max_tokens": 1}, Kind.PROBE, "#"),
        (
            {"output_format": {"schema": {"properties": {"a": {"enum": ["x", "user"]}}}}},
            Kind.SCHEMA,
            '{"a": "user"}',
        ),
        ({"system": "You are a title generator.", "tools": [{"name": "a"}]}, Kind.SCRIPT, ""),
    ],
)
def test_what_programs_ask_on_their_own_account_is_told_from_a_script(
    body: dict[str, object], kind: Kind, said: str
) -> None:
    conversation = anthropic.read(request(messages=[{"role": "user", "content": "x"}], **body))

    assert asides.kind(conversation) is kind
    assert asides.answer(conversation, kind).startswith(said)


def test_a_request_for_a_summary_is_one_whatever_tools_there_are() -> None:
    conversation = anthropic.read(
        request(
            messages=[{"role": "user", "content": "A detailed summary of the conversation."}],
            tools=[{"name": "Bash"}],
        )
    )

    assert plan(conversation).kind is Kind.SUMMARY
