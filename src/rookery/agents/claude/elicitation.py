"""Read and answer an MCP server's form for the person: each field is a question. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rookery.agents.shared.claude_style_hooks import MAX_TEXT_CHARS
from rookery.model.permissions import Call, Outcome, Question, Verdict
from rookery.ports.agent import Payload

#: The name of such a request, in place of a tool's.
TOOL = "Elicitation"

#: The answers to a server that only wants a yes, for instance to open a page.
YES, NO = "Accept", "Decline"

_TRUE = frozenset({"true", "yes", "y", "1", "on"})


def read(payload: Payload) -> Call | None:
    match payload:
        case {"hook_event_name": "Elicitation", "message": str(message)}:
            given = {"server": payload.get("mcp_server_name", ""), "message": message}
            return Call(TOOL, {**given, "url": payload.get("url", "")}, _questions(payload))
        case _:
            return None


def _questions(payload: Payload) -> tuple[Question, ...]:
    fields = _fields(payload)
    asked = (Question(text, _options(field)) for text, _, field in _named(payload, fields))
    return tuple(asked) or (Question(_message(payload), (YES, NO)),)


def answer(payload: Payload, verdict: Verdict | None) -> str:
    """Write the hook's answer; an empty one leaves the question to the dialog."""
    if verdict is None or verdict.outcome in {Outcome.GONE, Outcome.ALLOWED}:
        return ""  # allowing the question does not answer it
    said: dict[str, object] = {"hookEventName": "Elicitation", "action": "decline"}
    content = _content(payload, verdict) if verdict.outcome is Outcome.ANSWERED else None
    if content is not None:
        said |= {"action": "accept", "content": content}
    return json.dumps({"hookSpecificOutput": said})


def _content(payload: Payload, verdict: Verdict) -> dict[str, object] | None:
    """Fill in the form; ``None`` if its person declines."""
    fields = _fields(payload)
    if not fields:
        accepts = [YES] in [list(given) for given in verdict.answers.values()]
        return {} if accepts else None
    return {
        name: _value(field, ", ".join(verdict.answers[text]))
        for text, name, field in _named(payload, fields)
        if text in verdict.answers
    }


def _value(field: Mapping[str, Any], said: str) -> object:
    """Convert an answer to the field's type; the server refuses a text that does not fit."""
    try:
        match field.get("type"):
            case "integer":
                return int(said)
            case "number":
                return float(said)
            case "boolean":
                return said.strip().lower() in _TRUE
            case _:
                return said
    except ValueError:
        return said


def _named(
    payload: Payload, fields: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield each field with its question; a form with one field asks only its message."""
    message = _message(payload)
    for name, field in fields.items():
        about = str(field.get("title") or field.get("description") or name)
        text = message if len(fields) == 1 else f"{message} {about}"
        yield text[:MAX_TEXT_CHARS], name, field


def _fields(payload: Payload) -> Mapping[str, Mapping[str, Any]]:
    match payload:
        case {"requested_schema": {"properties": dict(fields)}}:
            return {str(name): each for name, each in fields.items() if isinstance(each, dict)}
        case _:
            return {}


def _options(field: Mapping[str, Any]) -> tuple[str, ...]:
    if field.get("type") == "boolean":
        return ("Yes", "No")
    listed = field.get("enum")
    return tuple(str(each) for each in listed) if isinstance(listed, list) else ()


def _message(payload: Payload) -> str:
    return str(payload["message"])[:MAX_TEXT_CHARS]
