"""Session updates of ACP that the recordings do not have."""

from __future__ import annotations

from typing import Any

import pytest
from acp.schema import SessionNotification, ToolCallUpdate

from rookery.drivers.acp.options import AcpOptions
from rookery.drivers.acp.tools import by_kind
from rookery.drivers.acp.updates import UpdateReader
from rookery.drivers.events import (
    Event,
    FileChanged,
    ModeChanged,
    ModelChanged,
    PlanChanged,
    TextAdded,
    ToolBegan,
    ToolEnded,
    Used,
)
from rookery.drivers.result_texts import MAX_RESULT_CHARACTERS


def reader(**options: Any) -> UpdateReader:  # noqa: ANN401 - fields of the options
    return UpdateReader(by_kind, AcpOptions(**options))


def read(here: UpdateReader, name: str, /, **fields: object) -> list[Event]:
    params = {"sessionId": "s", "update": {"sessionUpdate": name, **fields}}
    return [*here.read(SessionNotification.model_validate(params).update)]


def say(here: UpdateReader, text: str, message: str | None = None) -> list[Event]:
    given = {"messageId": message} if message else {}
    return read(here, "agent_message_chunk", content={"type": "text", "text": text}, **given)


def cost(here: UpdateReader, amount: float) -> list[Event]:
    price = {"amount": amount, "currency": "USD"}
    return read(here, "usage_update", used=1, size=2, cost=price)


def test_chunks_become_one_text() -> None:
    here = reader()
    assert say(here, "Hel") == say(here, "lo") == []
    assert [*here.flush()] == [TextAdded("Hello")]
    assert here.answer == "Hello"


def test_the_chunks_of_another_message_begin_another_text() -> None:
    here = reader()
    say(here, "one", "1")
    assert say(here, "two", "2") == [TextAdded("one")]
    assert [*here.flush()] == [TextAdded("two")]
    assert here.answer == "one\n\ntwo"


def test_the_whole_paragraphs_of_a_long_text_are_reported_before_its_end() -> None:
    here = reader()
    say(here, "First.\n\nSecond, whi")
    assert [*here.flush_paragraphs()] == [TextAdded("First.")]
    say(here, "ch ends.")
    assert [*here.flush()] == [TextAdded("Second, which ends.")]
    assert here.answer == "First.\n\nSecond, which ends."


def test_a_plan_is_reported_whole() -> None:
    entries = [
        {"content": "Look", "priority": "high", "status": "completed"},
        {"content": "Mend", "priority": "low", "status": "pending"},
    ]
    assert read(reader(), "plan", entries=entries) == [
        PlanChanged((("Look", "completed"), ("Mend", "pending")))
    ]


def test_a_call_that_is_pending_is_reported_with_the_input_that_follows() -> None:
    here = reader()
    call = {"toolCallId": "1", "kind": "execute"}
    assert read(here, "tool_call", title="Terminal", status="pending", **call) == []
    events = read(here, "tool_call_update", rawInput={"command": "ls"}, **call)
    assert events == [ToolBegan("1", "execute", {"command": "ls"})]


def test_a_call_without_an_update_is_reported_before_what_follows() -> None:
    here = reader()
    read(here, "tool_call", toolCallId="1", kind="read", title="Look", status="pending")
    assert say(here, "Well") == [ToolBegan("1", "read", {"title": "Look"})]


def test_the_end_of_a_call_is_reported_once() -> None:
    here = reader()
    read(here, "tool_call", toolCallId="1", kind="read", title="Look", status="in_progress")
    over = {"toolCallId": "1", "status": "completed", "rawOutput": {"output": "found"}}
    assert read(here, "tool_call_update", **over) == [ToolEnded("1", "read", "found")]
    assert read(here, "tool_call_update", **over) == []


def test_a_long_result_is_cut_with_a_note() -> None:
    here = reader()
    read(here, "tool_call", toolCallId="1", kind="read", title="Look", status="in_progress")
    (ended,) = read(
        here,
        "tool_call_update",
        toolCallId="1",
        status="completed",
        rawOutput="x" * (MAX_RESULT_CHARACTERS + 7),
    )
    assert isinstance(ended, ToolEnded)
    assert ended.result.endswith("x… (7 more characters)")


def test_a_refused_call_ends_when_the_agent_goes_on_without_saying_so() -> None:
    here = reader()
    asked = ToolCallUpdate(tool_call_id="1", title="rm", kind="execute")
    assert [*here.read_asked_call(asked)] == [ToolBegan("1", "execute", {"title": "rm"})]
    here.refuse("1")
    (ended,) = here.end_refused()
    assert ended == ToolEnded("1", "execute", "It was refused.", failed=True)
    assert [*here.end_refused()] == []


def test_a_diff_is_reported_once_for_each_call() -> None:
    here = reader()
    diff = {"type": "diff", "path": "/p/a", "oldText": "one\ntwo\n", "newText": "one\n2\n"}
    call = {"toolCallId": "1", "kind": "edit", "title": "Edit", "content": [diff]}
    events = read(here, "tool_call", status="in_progress", **call)
    wanted = "--- a/p/a\n+++ b/p/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2"
    assert events[1:] == [FileChanged("/p/a", wanted, "1")]
    over = read(here, "tool_call_update", status="completed", **call)
    assert not any(isinstance(each, FileChanged) for each in over)


def test_modes_have_the_names_that_rookery_uses_and_only_changes_are_reported() -> None:
    here = reader(modes={"autoEdit": "auto_edit"})
    here.note_setting("mode", "default")
    assert read(here, "current_mode_update", currentModeId="default") == []
    changed = read(here, "current_mode_update", currentModeId="autoEdit")
    assert changed == [ModeChanged("auto_edit")]


def test_the_model_is_read_from_the_options_of_the_agent() -> None:
    option = {
        "id": "m",
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": "big",
        "options": [{"value": "big", "name": "Big"}],
    }
    assert read(reader(), "config_option_update", configOptions=[option]) == [
        ModelChanged("big")
    ]


def test_a_total_that_goes_on_after_a_resume_is_not_counted_twice() -> None:
    here = reader(earlier_cost=1_000_000)
    assert cost(here, 1.5) == [Used(0, 0, 500_000, 1_500_000)]
    assert cost(here, 1.5) == []


def test_a_total_that_begins_anew_after_a_resume_counts_whole() -> None:
    assert cost(reader(earlier_cost=1_000_000), 0.25) == [Used(0, 0, 250_000, 250_000)]


@pytest.mark.parametrize("amount", [-5.0, float("nan"), float("inf"), 1e300])
def test_a_total_that_cannot_be_true_changes_nothing(amount: float) -> None:
    here = reader()
    assert cost(here, amount) == []
    assert cost(here, 0.25) == [Used(0, 0, 250_000, 250_000)]


def test_the_cost_of_a_model_without_a_price_is_unknown() -> None:
    here = reader()
    assert cost(here, 0.0) == []
    assert not here.reports_cost
