"""Messages of Claude Code as events: each turn that begins is ended once."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from rookery.agents.claude.driver.messages import UNPROMPTED, MessageReader
from rookery.drivers.events import (
    Event,
    FileChanged,
    ModeChanged,
    ModelChanged,
    Noticed,
    PromptTaken,
    TextAdded,
    ToolBegan,
    ToolEnded,
    TurnOver,
    Used,
)
from rookery.drivers.result_texts import MAX_RESULT_CHARACTERS

Message = dict[str, Any]

CUT_OFF = TurnOver("", "failed", "gone", fails_session=True)


def text(words: str, **more: object) -> Message:
    content = [{"type": "text", "text": words}]
    return {"type": "assistant", "message": {"content": content}, **more}


def call(id_: str, **more: object) -> Message:
    used = {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": "ls"}}
    return {"type": "assistant", "message": {"content": [used]}, **more}


def returned(id_: str, content: object, **more: object) -> Message:
    block = {"type": "tool_result", "tool_use_id": id_, "content": content}
    return {"type": "user", "message": {"content": [block]}, **more}


def state(now: str) -> Message:
    return {"type": "system", "subtype": "session_state_changed", "state": now}


def lifecycle(id_: str, now: str) -> Message:
    return {"type": "command_lifecycle", "command_uuid": id_, "state": now}


def result(words: str = "", **more: object) -> Message:
    return {"type": "result", "subtype": "success", "result": words, **more}


NOTICE = {"type": "system", "subtype": "task_notification", "summary": "It is built."}


class Conversation:
    """Reads messages, and remembers the events."""

    def __init__(self, earlier_cost: int = 0) -> None:
        self.reader = MessageReader(earlier_cost)
        self.events: list[Event] = []

    def hear(self, *messages: Message) -> list[Event]:
        heard = [event for each in messages for event in self.reader.read(each)]
        self.events += heard
        return heard

    def begin(self, prompt: str = "go") -> None:
        self.reader.note_prompt(prompt, prompt)
        self.hear(state("running"), lifecycle(prompt, "queued"), lifecycle(prompt, "started"))


@pytest.fixture
def talk() -> Conversation:
    return Conversation()


def test_a_prompt_is_taken_when_it_drains_into_a_turn(talk: Conversation) -> None:
    talk.reader.note_prompt("1", "go")

    assert talk.hear(lifecycle("1", "queued")) == []
    assert talk.hear(lifecycle("1", "started")) == [PromptTaken("go")]
    assert talk.hear(lifecycle("1", "completed"), lifecycle("2", "started")) == []


def test_a_turn_is_over_when_the_agent_is_idle_with_the_text_after_its_last_tool(
    talk: Conversation,
) -> None:
    talk.begin()
    talk.hear(text("I look."), call("c"), returned("c", "a\nb"))
    heard = talk.hear(text("Done."), result("Done."), state("idle"))

    assert heard == [TextAdded("Done."), TurnOver("Done.")]
    assert talk.events[2:4] == [
        ToolBegan("c", "Bash", {"command": "ls"}),
        ToolEnded("c", "Bash", "a\nb"),
    ]


@pytest.mark.parametrize("more", [[], [{"type": "unknown"}]])
def test_a_text_after_a_stop_continues_the_turn(
    talk: Conversation, more: list[Message]
) -> None:
    talk.begin()
    talk.hear(text("First."), result("First."))
    said = text("Second.")
    said["message"]["content"] += more

    assert talk.hear(said) == [TextAdded("Second.")]
    assert talk.hear(state("idle")) == []
    assert talk.hear(result(), state("idle")) == [TurnOver("Second.")]


def test_a_text_of_a_subagent_or_with_an_error_is_left_out(talk: Conversation) -> None:
    talk.begin()

    assert talk.hear(text("Found.", agent_id="a"), text("API error", error="overloaded")) == []
    assert talk.hear(result(), state("idle")) == [TurnOver("")]


def test_without_reports_of_its_state_a_result_ends_the_turn(talk: Conversation) -> None:
    talk.reader.note_prompt("1", "go")
    talk.hear(lifecycle("1", "started"))

    assert talk.hear(result("Done.")) == [TurnOver("Done.")]


def test_a_prompt_in_the_middle_of_a_turn_steers_it(talk: Conversation) -> None:
    talk.begin()
    talk.hear(call("c"))
    talk.begin("and this")
    heard = talk.hear(text("Both."), result("Both."), state("idle"))

    assert PromptTaken("and this", is_steering=True) in talk.events
    assert heard[-1:] == [TurnOver("Both.")]


def test_a_prompt_after_a_result_begins_a_turn_of_its_own(talk: Conversation) -> None:
    talk.begin()
    talk.hear(result("One."))
    talk.begin("next")
    talk.hear(result("Two."), state("idle"))

    assert talk.events == [
        PromptTaken("go"),
        TurnOver("One."),
        PromptTaken("next"),
        TurnOver("Two."),
    ]


def test_reports_of_background_agents_continue_the_turn(talk: Conversation) -> None:
    talk.begin()
    paused = talk.hear(result("Started it."))
    talk.hear(NOTICE, text("It is built."), result("It is built."))
    over = talk.hear(state("idle"))

    assert paused == []
    assert over == [TurnOver("It is built.")]
    assert [each for each in talk.events if isinstance(each, PromptTaken)] == [
        PromptTaken("go")
    ]


def test_a_turn_that_a_report_continues_can_still_fail(talk: Conversation) -> None:
    talk.begin()
    talk.hear(result("Started it."), NOTICE, text("I look."), call("c"))

    assert list(talk.reader.end("gone")) == [CUT_OFF]


def test_a_report_after_the_turn_begins_one(talk: Conversation) -> None:
    talk.begin()
    talk.hear(result("Left it."), state("idle"))
    heard = talk.hear(NOTICE, text("Seen."), result("Seen."), state("idle"))
    by_itself = talk.hear(text("Time is up."), result("Time is up."), state("idle"))

    assert heard == [
        Noticed("background-task-ended", "It is built."),
        PromptTaken("It is built."),
        TextAdded("Seen."),
        TurnOver("Seen."),
    ]
    assert by_itself[0] == PromptTaken(UNPROMPTED)


@pytest.mark.parametrize("reason", ["aborted_tools", "aborted_streaming"])
def test_an_aborted_turn_is_interrupted_at_once(talk: Conversation, reason: str) -> None:
    talk.begin()
    talk.hear(text("I begin."))

    heard = talk.hear(result("", is_error=True, terminal_reason=reason, errors=["diagnostic"]))

    assert heard == [TurnOver("I begin.", "interrupted")]


def test_an_interruption_after_the_answer_is_one_and_that_of_a_subagent_is_none(
    talk: Conversation,
) -> None:
    said = [{"type": "text", "text": "[Request interrupted by user]"}]
    record = {"type": "user", "message": {"content": said}}
    talk.begin()
    of_subagent = talk.hear({**record, "agent_id": "a1"}, result("One."), state("idle"))
    talk.begin()
    own = talk.hear(text("Two."), record, result(terminal_reason="stop_hook_prevented"))
    talk.begin()
    after = talk.hear(result("Three."), state("idle"))

    assert of_subagent == [TurnOver("One.")]
    assert own == [TextAdded("Two."), TurnOver("Two.", "interrupted")]
    assert after == [TurnOver("Three.")]


def test_an_interruption_while_background_agents_run_ends_the_turn(talk: Conversation) -> None:
    talk.begin()
    talk.hear(result("Started it."))
    talk.reader.note_interrupt()

    assert talk.hear(state("idle")) == [TurnOver("Started it.", "interrupted")]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"result": "API Error: 529", "api_error_status": 529}, "API Error: 529"),
        ({"api_error_status": 529}, "API error 529."),
        ({"errors": ["Reached maximum budget ($1)"]}, "Reached maximum budget ($1)"),
        ({"subtype": "error_max_turns"}, "Claude Code reports error_max_turns."),
        ({}, "Claude Code reports an error without a reason."),
    ],
)
def test_a_failed_turn_has_its_reason(talk: Conversation, fields: Message, reason: str) -> None:
    talk.begin()
    said = talk.hear(text("API Error: 529", error="server_error"))

    assert said == []
    heard = talk.hear({**result(is_error=True), **fields})
    assert heard == [TurnOver("", "failed", reason)]


def test_a_program_that_ends_ends_its_turn_once(talk: Conversation) -> None:
    talk.begin()
    talk.hear(text("I begin."))

    assert list(talk.reader.end("gone")) == [structs.replace(CUT_OFF, text="I begin.")]
    assert list(talk.reader.end("gone")) == []


def test_an_exhausted_budget_is_noted(talk: Conversation) -> None:
    talk.begin()
    talk.hear(result(is_error=True, terminal_reason="budget_exhausted", errors=["Too much"]))

    assert talk.reader.is_over_budget
    assert talk.events[-1] == TurnOver("", "failed", "Too much")


def test_an_error_before_the_first_prompt_is_no_turn(talk: Conversation) -> None:
    heard = talk.hear(result(is_error=True, errors=["No conversation found"]))

    assert heard == []
    assert talk.reader.failure == "No conversation found"


@pytest.mark.spec("G6")
def test_costs_are_what_came_on_top(talk: Conversation) -> None:
    talk.begin()
    models = {
        "big": {"inputTokens": 1, "cacheReadInputTokens": 2, "outputTokens": 3, "costUSD": 0.5},
        "small": {"inputTokens": 10, "outputTokens": 20, "costUSD": 0.25},
    }

    heard = talk.hear(result(total_cost_usd=9.75, model_usage_since_last_result=models))

    assert heard == [Used(13, 23, 750_000, 9_750_000)]


@pytest.mark.spec("G6")
def test_without_them_the_earlier_total_is_subtracted() -> None:
    talk = Conversation(earlier_cost=1_000_000)
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 6, "output_tokens": 7}
    talk.begin()
    first = talk.hear(result(total_cost_usd=1.5, usage=usage), state("idle"))
    talk.begin()
    second = talk.hear(result(total_cost_usd=1.75), state("idle"))
    talk.hear({"type": "conversation_reset"})
    talk.begin()
    cleared = talk.hear(result(total_cost_usd=0.25), state("idle"))

    assert first[0] == Used(11, 7, 500_000, 1_500_000)
    assert second[0] == Used(0, 0, 250_000, 1_750_000)
    assert cleared[0] == Used(0, 0, 250_000, 250_000)


@pytest.mark.spec("G6")
def test_the_context_is_what_the_last_response_outside_of_subagents_had(
    talk: Conversation,
) -> None:
    def response(tokens: int, **more: object) -> Message:
        usage = {"input_tokens": 1, "cache_read_input_tokens": tokens, "output_tokens": 1}
        return {"type": "assistant", "message": {"content": [], "usage": usage}, **more}

    talk.begin()
    talk.hear(response(40), response(100), response(7, parent_tool_use_id="call"))

    (used, *_) = talk.hear(result(usage={"input_tokens": 140, "output_tokens": 2}))

    assert used == Used(140, 2, context=102)


def test_what_subagents_do_is_marked_and_is_not_the_answer(talk: Conversation) -> None:
    talk.begin()
    heard = talk.hear(
        call("s", agent_id="a1"),
        returned("s", [{"type": "text", "text": "one"}, {"type": "image"}], agent_id="a1"),
        text("I report.", agent_id="a1"),
    )

    assert heard == [
        ToolBegan("s", "Bash", {"command": "ls"}, "a1"),
        ToolEnded("s", "Bash", "one\n[image]", subagent="a1"),
    ]


def test_a_long_result_is_cut_and_says_so(talk: Conversation) -> None:
    talk.begin()
    talk.hear(call("c"))
    (ended,) = talk.hear(returned("c", "x" * (MAX_RESULT_CHARACTERS + 5), is_error=True))

    assert isinstance(ended, ToolEnded)
    assert ended.result.endswith("x… (5 more characters)")


def test_a_changed_file_has_its_difference(talk: Conversation) -> None:
    talk.begin()
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b"]}
    change = {"filePath": "/x", "structuredPatch": [hunk]}

    heard = talk.hear(call("c"), returned("c", "ok", tool_use_result=change))

    assert heard[-1] == FileChanged("/x", "--- /x\n+++ /x\n@@ -1,1 +1,1 @@\n-a\n+b", "c")


def test_the_model_and_the_mode_are_reported_when_they_change(talk: Conversation) -> None:
    start = {"type": "system", "subtype": "init", "model": "big", "permissionMode": "default"}
    status = {"type": "system", "subtype": "status", "permissionMode": "plan"}

    assert talk.hear(start, start) == [ModelChanged("big"), ModeChanged("default")]
    assert talk.hear(status) == [ModeChanged("plan")]


def test_a_dropped_prompt_is_noticed(talk: Conversation) -> None:
    talk.reader.note_prompt("1", "go")

    assert talk.hear(lifecycle("1", "cancelled")) == [Noticed("prompt-dropped", "go")]


@pytest.mark.parametrize(
    "message",
    [
        {"type": "news"},
        {"type": "assistant"},
        {"type": "assistant", "message": {"content": [7, {"type": "tool_use"}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result"}]}},
        {"type": "system"},
        {"type": "system", "subtype": "init", "model": 7},
        {"type": "result"},
        {"type": "result", "total_cost_usd": "free", "usage": {"input_tokens": "many"}},
        {"type": "rate_limit_event", "rate_limit_info": None},
        {"type": "command_lifecycle", "command_uuid": 1},
    ],
)
def test_messages_of_an_unknown_form_are_survived(talk: Conversation, message: Message) -> None:
    talk.begin()
    talk.hear(message)
    talk.hear(result("Done."), state("idle"))

    assert talk.events[-1] == TurnOver("Done.")
