from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rookery.agents.opencode.driver.events import OpenCodeEvents, error_text
from rookery.agents.opencode.driver.server import OpenCodeDriver
from rookery.drivers.commands import AgentAnswer
from rookery.drivers.driver import AnswerLost, DriverError, DriverLaunch
from rookery.drivers.events import (
    Asked,
    Event,
    Noticed,
    PlanChanged,
    PromptTaken,
    TextAdded,
    ToolBegan,
    ToolEnded,
    TurnOver,
    Used,
)
from tests.support.paths import RECORDINGS

RECORDING = RECORDINGS / "opencode-1.18.33" / "server" / "events.jsonl"
SESSION = "ses-1"
TODO = (
    'tool: todowrite {"todos":[{"content":"one","status":"pending",'
    '"priority":"high","id":"1"}]};; say: planned'
)


def of(**properties: object) -> Mapping[str, Any]:
    return {"sessionID": SESSION, **properties}


def user(number: str) -> tuple[str, Mapping[str, Any]]:
    return "message.updated", of(info={"role": "user", "id": number})


def prompt(number: str, text: str) -> tuple[str, Mapping[str, Any]]:
    part = {"type": "text", "id": f"p{number}", "messageID": number, "text": text}
    return "message.part.updated", of(part=part)


def answers(number: str, parent: str, **more: object) -> tuple[str, Mapping[str, Any]]:
    info = {"role": "assistant", "id": number, "parentID": parent, **more}
    return "message.updated", of(info=info)


IDLE = ("session.idle", of())


def read(events: OpenCodeEvents, *told: tuple[str, Mapping[str, Any]]) -> list[Event]:
    return [event for each in told for event in events.read(*each)]


def test_recorded_turns_become_events() -> None:
    events = OpenCodeEvents(SESSION)
    for text in (
        "bash: touch no;; result:;; say: end",
        "write: a.txt hello;; say: written",
        TODO,
    ):
        events.expect(text)
    lines = map(json.loads, RECORDING.read_text().splitlines())
    found: list[Event | None] = []
    for line in lines:
        if line["type"] == "permission.asked":
            found.append(events.asked(line["type"], line["properties"]))
        found += events.read(line["type"], line["properties"])

    bash, write = {"command": "touch no", "description": "scripted"}, {"filePath": "a.txt"}
    assert found[:8] == [
        PromptTaken("bash: touch no;; result:;; say: end"),
        ToolBegan("cal-5", "bash", bash),
        Asked("per-6", "bash", bash, "cal-5"),
        ToolEnded("cal-5", "bash", "(no output)"),
        Used(8076, 20, 24528, context=8096),
        TextAdded("(no output)end"),
        found[6],
        TurnOver("(no output)end"),
    ]
    assert isinstance(found[6], Used)
    refused = next(each for each in found[8:] if isinstance(each, ToolEnded))
    assert refused.failed
    assert refused.result.endswith("Not on Mondays.")
    asked = next(each for each in found[8:] if isinstance(each, Asked))
    assert (asked.tool, asked.input) == ("write", {**write, "content": "hello"})
    assert PlanChanged((("one", "pending"),)) in found
    assert found[-1] == TurnOver("planned")


def test_a_prompt_during_a_turn_steers_it() -> None:
    events = OpenCodeEvents(SESSION)
    events.expect("one")
    events.expect("two")

    found = read(
        events,
        *(user("m1"), prompt("m1", "one"), answers("m2", "m1")),
        *(user("m3"), prompt("m3", "two"), answers("m4", "m3"), IDLE),
    )

    assert found == [PromptTaken("one"), PromptTaken("two", is_steering=True), TurnOver()]


def test_a_prompt_that_came_too_late_for_a_turn_continues_it() -> None:
    events = OpenCodeEvents(SESSION)
    events.expect("one")
    events.expect("two")
    begun = [user("m1"), prompt("m1", "one"), answers("m2", "m1")]

    found = read(events, *begun, user("m3"), prompt("m3", "two"), IDLE)
    later = read(events, answers("m4", "m3"), IDLE)

    assert TurnOver() not in found
    assert later == [TurnOver()]


def test_a_prompt_that_is_not_repeated_is_reported_once() -> None:
    events = OpenCodeEvents(SESSION)
    events.expect("one")

    assert list(events.take("one")) == [PromptTaken("one")]
    assert read(events, user("m1"), prompt("m1", "one")) == []


def test_an_interruption_that_is_repeated_later_does_not_end_the_next_turn() -> None:
    events = OpenCodeEvents(SESSION)
    aborted = {"error": {"name": "MessageAbortedError", "data": {"message": "Aborted"}}}
    events.expect("one")
    events.expect("two")
    events.expect_abort()

    found = read(
        events,
        *(user("m1"), prompt("m1", "one"), answers("m2", "m1", **aborted), IDLE),
        *(user("m3"), prompt("m3", "two"), answers("m2", "m1", **aborted)),
        *(answers("m4", "m3"), IDLE),
    )

    assert found == [
        PromptTaken("one"),
        TurnOver(how="interrupted"),
        PromptTaken("two"),
        TurnOver(),
    ]


def test_a_turn_that_opencode_aborts_by_itself_has_failed() -> None:
    events = OpenCodeEvents(SESSION)
    aborted = {"error": {"name": "MessageAbortedError", "data": {"message": "Aborted"}}}
    overs: list[TurnOver] = []
    for number in ("one", "two"):
        events.expect(number)
        if number == "one":
            events.expect_abort()
        found = read(
            events,
            *(user(f"m-{number}"), prompt(f"m-{number}", number)),
            *(answers(f"n-{number}", f"m-{number}", **aborted), IDLE),
        )
        overs += [each for each in found if isinstance(each, TurnOver)]

    assert [each.how for each in overs] == ["interrupted", "failed"]
    assert "was not interrupted" in overs[1].reason


def test_an_error_fails_the_turn_with_its_text() -> None:
    events = OpenCodeEvents(SESSION)
    events.expect("one")
    error = {"name": "APIError", "data": {"message": "No key."}}

    found = read(
        events,
        *(user("m1"), prompt("m1", "one")),
        ("session.status", of(status={"type": "retry", "message": "Busy."})),
        ("session.error", of(error=error)),
        IDLE,
    )

    assert found[1:] == [
        Noticed("retry", "Busy."),
        TurnOver("", "failed", "No key. (APIError)"),
    ]
    assert error_text({"name": "Unknown"}) == "OpenCode reported the error Unknown."
    assert error_text(None) == "OpenCode reported an error without a text."


def test_events_of_other_conversations_are_left_out_except_tools_of_subagents() -> None:
    events = OpenCodeEvents(SESSION)
    state = {"status": "running", "input": {"command": "ls"}}
    part = {"type": "tool", "tool": "bash", "callID": "c", "state": state}
    child = {"sessionID": "child", "info": {"id": "child", "parentID": SESSION}}

    assert read(events, ("message.part.updated", {"sessionID": "child", "part": part})) == []
    read(events, ("session.created", child))
    found = read(events, ("message.part.updated", {"sessionID": "child", "part": part}))

    assert found == [ToolBegan("c", "bash", {"command": "ls"}, "child")]


def test_what_a_subagent_asks_that_an_earlier_server_started_is_asked() -> None:
    events = OpenCodeEvents(SESSION)
    state = {"status": "running", "input": {"command": "ls"}}
    part = {"type": "tool", "tool": "bash", "callID": "c", "state": state}
    asks = {"sessionID": "child", "id": "per", "permission": "bash", "patterns": ["ls"]}

    asked = events.asked("permission.asked", asks)
    found = read(events, ("message.part.updated", {"sessionID": "child", "part": part}))

    assert asked == Asked("per", "bash", {"patterns": ["ls"]}, subagent="child")
    assert found == [ToolBegan("c", "bash", {"command": "ls"}, "child")]


def test_what_a_subagent_uses_counts_but_not_for_the_context_of_the_conversation() -> None:
    events = OpenCodeEvents(SESSION)
    child = {"sessionID": "child", "info": {"id": "child", "parentID": SESSION}}
    tokens = {"input": 10, "output": 2, "reasoning": 1, "cache": {"read": 5, "write": 0}}
    part = {"type": "step-finish", "id": "prt", "tokens": tokens, "cost": 0.25}
    ended = ("message.part.updated", {"sessionID": "child", "part": part})

    assert read(events, ("session.created", child), ended, ended) == [Used(15, 3, 250_000)]


@pytest.mark.spec("G2")
def test_a_prompt_that_fails_before_its_turn_begins_is_a_failed_turn() -> None:
    events = OpenCodeEvents(SESSION)
    error = {"name": "UnknownError", "data": {"message": "No agent x."}}
    events.expect("one")

    found = read(events, ("session.error", of(error=error)), IDLE)

    assert found == [PromptTaken("one"), TurnOver("", "failed", "No agent x. (UnknownError)")]
    assert list(events.take("one")) == []


@pytest.mark.spec("G2")
def test_an_interruption_that_is_reported_late_does_not_fail_the_next_prompt() -> None:
    events = OpenCodeEvents(SESSION)
    events.expect("one")

    assert read(events, ("session.error", of(error={"name": "MessageAbortedError"}))) == []


def test_a_permission_for_an_unknown_call_is_asked_with_what_is_known() -> None:
    events = OpenCodeEvents(SESSION)
    asks = of(id="per", permission="edit", patterns=["a"], metadata={"filepath": "/a"})

    assert events.asked("permission.asked", asks) == Asked(
        "per", "edit", {"filepath": "/a", "patterns": ["a"]}
    )


class Listening:
    """Keeps what a driver reports."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def report(self, *events: Event) -> None:
        self.events += events

    async def ask(self, asked: Asked) -> AgentAnswer:
        raise AssertionError(asked)


@pytest.mark.spec("A5")
def test_a_server_that_ends_in_a_turn_fails_the_turn_and_with_it_the_session() -> None:
    context = Listening()
    driver = OpenCodeDriver(DriverLaunch("s", (), {}, Path(), {}), context)
    driver._events = events = OpenCodeEvents(SESSION)  # noqa: SLF001 - without a server
    events.expect("one")
    read(events, user("m1"), prompt("m1", "one"))

    driver._cut_off("gone")  # noqa: SLF001 - what it does when its server has ended

    assert context.events == [TurnOver("", "failed", "gone", fails_session=True)]


@pytest.mark.anyio
@pytest.mark.spec("K3")
@pytest.mark.parametrize("is_listening", [True, False])
async def test_a_prompt_is_doubtful_if_the_connection_breaks_after_it_was_sent(
    *, is_listening: bool
) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    if not is_listening:
        server.close()
        await server.wait_closed()
    driver = OpenCodeDriver(DriverLaunch("s", (), {}, Path(), {}), Listening())
    async with httpx2.AsyncClient(base_url=f"http://{host}:{port}", trust_env=False) as http:
        driver._http = http  # noqa: SLF001 - without a program
        with pytest.raises(DriverError) as failed:
            await driver.prompt("one")
    server.close()
    await server.wait_closed()

    assert isinstance(failed.value, AnswerLost) is is_listening
