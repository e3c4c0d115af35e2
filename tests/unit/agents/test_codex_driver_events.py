from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rookery.agents.codex.driver.events import NOTE_ID, CodexEvents, error_text
from rookery.agents.codex.driver.items import patch_text, script_in
from rookery.drivers.events import (
    Event,
    FileChanged,
    Noticed,
    PlanChanged,
    PromptTaken,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    ToolEnded,
    TurnOver,
    Used,
)
from tests.support.paths import RECORDINGS

RECORDING = RECORDINGS / "codex-0.166.0" / "server" / "events.jsonl"
THREAD = "id-1"


def notification(method: str, **params: object) -> tuple[str, Mapping[str, Any]]:
    return method, {"threadId": THREAD, **params}


def read(events: CodexEvents, *notifications: tuple[str, Mapping[str, Any]]) -> list[Event]:
    return [event for each in notifications for event in events.read(*each)]


def recorded() -> list[tuple[str, Mapping[str, Any]]]:
    lines = map(json.loads, RECORDING.read_text().splitlines())
    return [(line["method"], line["params"]) for line in lines]


def item(kind: str, **fields: object) -> dict[str, object]:
    return {"type": kind, "id": "i", **fields}


def started(turn: str = "t") -> tuple[str, Mapping[str, Any]]:
    return notification("turn/started", turn={"id": turn})


def completed(status: str = "completed", **fields: object) -> tuple[str, Mapping[str, Any]]:
    return notification("turn/completed", turn={"id": "t", "status": status, **fields})


def echoed(text: str, client_id: str | None = None) -> tuple[str, Mapping[str, Any]]:
    content = [{"type": "text", "text": text}]
    user = item("userMessage", clientId=client_id, content=content)
    return notification("item/started", item=user)


def test_recorded_turns_become_events() -> None:
    found = read(CodexEvents(THREAD), *recorded())

    first = found[: found.index(TurnOver("Done.")) + 1]
    call = first[3]
    assert isinstance(call, ToolBegan)
    assert first == [
        PromptTaken("think: Look first.;; say: First.;; bash: echo hi;; say: Done."),
        ThoughtAdded("Look first."),
        TextAdded("First."),
        ToolBegan(call.call_id, "Bash", {"command": "echo hi"}),
        ToolEnded(call.call_id, "Bash", "hi\n"),
        first[5],
        TextAdded("Done."),
        first[7],
        TurnOver("Done."),
    ]
    assert isinstance(first[5], Used)
    assert isinstance(first[7], Used)
    (changed,) = (each for each in found if isinstance(each, FileChanged))
    assert changed.path == "/project/a.txt"
    assert changed.diff == "--- /dev/null\n+++ /project/a.txt\n@@ -0,0 +1,1 @@\n+one\n"
    over = found[-1]
    assert isinstance(over, TurnOver)
    assert over.how == "failed"
    assert over.reason.endswith("(internalServerError)")
    assert any(isinstance(each, Noticed) and each.event == "retry" for each in found)


def test_tokens_are_what_was_used_since_the_last_report() -> None:
    used = [each for each in read(CodexEvents(THREAD), *recorded()) if isinstance(each, Used)]
    totals = [
        params["tokenUsage"]["total"]
        for method, params in recorded()
        if method == "thread/tokenUsage/updated"
    ]

    assert sum(each.input_tokens for each in used) == totals[-1]["inputTokens"]
    assert sum(each.output_tokens for each in used) == totals[-1]["outputTokens"]


def test_what_a_resumed_thread_used_before_is_not_counted() -> None:
    events = CodexEvents(THREAD)
    before = {"inputTokens": 100, "outputTokens": 10}
    after = {"inputTokens": 130, "outputTokens": 14}

    found = read(
        events,
        notification(
            "thread/tokenUsage/updated",
            turnId="old",
            tokenUsage={"total": before, "last": before},
        ),
        started(),
        notification(
            "thread/tokenUsage/updated",
            turnId="t",
            tokenUsage={"total": after, "last": {"inputTokens": 30, "outputTokens": 4}},
        ),
    )

    assert found == [Used(30, 4, context=34)]


def test_a_prompt_is_reported_with_the_text_that_was_passed() -> None:
    events = CodexEvents(THREAD)
    events.expect("p", "the text\tas it was passed")

    found = read(events, started(), echoed("the text as Codex shows it", "p"))

    assert found == [PromptTaken("the text\tas it was passed")]


def test_a_second_prompt_of_a_turn_steers_it_and_a_note_is_no_prompt() -> None:
    events = CodexEvents(THREAD)

    found = read(events, started(), echoed("one"), echoed("a reason", NOTE_ID), echoed("two"))

    assert found == [PromptTaken("one"), PromptTaken("two", is_steering=True)]


def test_a_prompt_that_codex_accepted_and_never_repeated_is_reported_before_the_end() -> None:
    events = CodexEvents(THREAD)
    events.expect("p", "text")
    events.accept("p", "t")

    assert read(events, started(), completed("interrupted")) == [
        PromptTaken("text"),
        TurnOver(how="interrupted"),
    ]


def test_a_prompt_that_codex_has_not_accepted_stays_unreported() -> None:
    events = CodexEvents(THREAD)
    events.expect("p", "text")

    assert read(events, started(), echoed("one"), completed()) == [
        PromptTaken("one"),
        TurnOver(),
    ]


def test_a_text_before_the_last_tool_call_is_no_answer() -> None:
    text = item("agentMessage", text="I will look.")
    command = item("commandExecution", command="/bin/bash -lc ls")

    found = read(
        CodexEvents(THREAD),
        started(),
        notification("item/completed", item=text),
        notification("item/started", item=command),
        completed(),
    )

    assert found[-1] == TurnOver("")


def test_a_failed_command_and_a_refused_one_have_failed() -> None:
    command = {"command": "/bin/bash -lc ls"}
    missing = item("commandExecution", **command, status="completed", exitCode=2)
    refused = item("commandExecution", **command, status="declined")

    found = read(
        CodexEvents(THREAD),
        notification("item/completed", item=missing),
        notification("item/completed", item=refused),
    )

    ended = [each for each in found if isinstance(each, ToolEnded)]
    assert [each.failed for each in ended] == [True, True]
    assert ended[1].result == "declined"


def test_tool_calls_of_a_subagent_name_it_and_its_texts_are_not_reported() -> None:
    call = item("mcpToolCall", server="files", tool="read", arguments={"path": "a"})
    other = {"threadId": "sub"}

    found = read(
        CodexEvents(THREAD),
        ("item/started", {**other, "item": call}),
        ("item/completed", {**other, "item": item("agentMessage", text="Mine.")}),
    )

    assert found == [ToolBegan("i", "mcp__files__read", {"path": "a"}, "sub")]


def test_a_plan_is_reported_whole() -> None:
    plan = [{"step": "one", "status": "completed"}, {"step": "two", "status": "pending"}]

    found = read(CodexEvents(THREAD), notification("turn/plan/updated", plan=plan))

    assert found == [PlanChanged((("one", "completed"), ("two", "pending")))]


def test_a_script_is_read_from_any_quoting() -> None:
    quoted = "/bin/bash -lc \"ls && echo 'a \\\"b\\\"' \"'$HOME `pwd`'"

    assert script_in(quoted) == "ls && echo 'a \"b\"' $HOME `pwd`"
    assert script_in("/usr/bin/env ls") == "/usr/bin/env ls"
    assert script_in("bash -c 'unclosed") == "bash -c 'unclosed"


def test_a_patch_names_each_file_as_apply_patch_does() -> None:
    changes = [
        {"path": "/p/a", "kind": {"type": "add"}, "diff": "x\n"},
        {"path": "/p/b", "kind": {"type": "delete"}, "diff": "y\n"},
        {
            "path": "/p/c",
            "kind": {"type": "update", "move_path": "/p/d"},
            "diff": "@@\n-1\n+2\n",
        },
    ]

    assert patch_text(changes).splitlines() == [
        "*** Begin Patch",
        *("*** Add File: /p/a", "+x", "*** Delete File: /p/b"),
        *("*** Update File: /p/c", "*** Move to: /p/d", "@@", "-1", "+2"),
        "*** End Patch",
    ]


def test_an_error_names_its_kind() -> None:
    limit = {"message": "You hit your limit.", "codexErrorInfo": "usageLimitExceeded"}
    http = {
        "message": "No.",
        "codexErrorInfo": {"httpConnectionFailed": {"httpStatusCode": 401}},
    }

    assert error_text(limit) == "You hit your limit. (usageLimitExceeded)"
    assert error_text(http) == "No. (HTTP status 401)"
    assert error_text(None) == "Codex reported an error without a text."


def test_a_prompt_that_is_accepted_after_the_end_of_its_turn_does_not_revive_the_turn() -> None:
    events = CodexEvents(THREAD)
    read(events, started(), echoed("one"))
    events.expect("p", "two")
    read(events, completed("interrupted"))

    events.accept("p", "t")

    assert events.turn == ""
    assert read(events, started("t2"), echoed("two", "p")) == [PromptTaken("two")]
