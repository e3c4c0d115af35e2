"""Play what real agents sent over ACP to the part of the driver that reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from acp.schema import PromptResponse, RequestPermissionRequest, SessionNotification

from rookery.agents.catalog import AGENTS
from rookery.drivers.acp.driver import find_dialect
from rookery.drivers.acp.options import read_options
from rookery.drivers.acp.turns import turn_over, used_in
from rookery.drivers.acp.updates import UpdateReader
from rookery.drivers.events import Event
from rookery.model.sessions import NativeId
from rookery.ports.agent import LaunchSpec
from tests.support.paths import RECORDINGS

FILES = {
    "claude": "claude-agent-acp-0.99.0",
    "codex": "codex-acp-2.6.0",
    "gemini": "gemini-0.61.0",
    "opencode": "opencode-1.18.33",
}


def reader_of(agent: str) -> UpdateReader:
    spec = LaunchSpec(("it",), NativeId(""), "", "", "true", RECORDINGS)
    options = read_options(AGENTS[agent].driven["acp"](spec).options)
    return UpdateReader(find_dialect(options.dialect), options)


def turns_of(agent: str) -> dict[str, list[Event]]:
    """Return the events of each turn, by the first words of its prompt."""
    reader, turns = reader_of(agent), {}
    for prompt, messages in _recorded_turns(agent):
        reader.begin_turn()
        turns[prompt] = [event for each in messages for event in _events(reader, each)]
    return turns


def _recorded_turns(agent: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    lines = (RECORDINGS / "acp" / f"{FILES[agent]}.jsonl").read_text().splitlines()
    messages: list[dict[str, Any]] = []
    prompt = ""
    for line in lines:
        message = json.loads(line)
        if message.get("method") == "session/prompt":
            if messages:
                yield prompt, messages
            prompt, messages = message["params"]["prompt"][0]["text"], []
        elif message["from"] == "agent":
            messages.append(message)
    yield prompt, messages


def _events(reader: UpdateReader, message: dict[str, Any]) -> Iterator[Event]:
    match message:
        case {"method": "session/update", "params": params}:
            yield from reader.read(SessionNotification.model_validate(params).update)
        case {"method": "session/request_permission", "params": params}:
            asked = RequestPermissionRequest.model_validate(params)
            yield from reader.read_asked_call(asked.tool_call)
        case {"result": {"stopReason": str()} as result}:
            response = PromptResponse.model_validate(result)
            yield from reader.flush()
            if used := used_in(
                response, reader.turn_cost if reader.reports_cost else None, reader.context
            ):
                yield used
            yield turn_over(response.stop_reason, reader.answer, is_cut_off=False)
        case {"error": _}:
            yield from reader.flush()
        case _:
            return
