"""Read and answer an MCP server's form: each field is a question to the user. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rookery.agents.shared.claude_style_hooks import MAX_TEXT_CHARS
from rookery.model.permissions import Call, Outcome, Question, Verdict
from rookery.ports.agent import Payload

#: The name of such a request, used instead of a tool name.
TOOL = "Elicitation"

#: The answers to a server that only asks for agreement, for example to open a page.
YES, NO = "Accept", "Decline"

_TRUE = frozenset({"true", "yes", "y", "1", "on"})


def read(payload: Payload) -> Call | None:
    match payload:
        case {"hook_event_name": "Elicitation", "message": str(message)}:
            form = {"server": payload.get("mcp_server_name", ""), "message": message}
            return Call(TOOL, {**form, "url": payload.get("url", "")}, _questions(payload))
        case _:
            return None


def _questions(payload: Payload) -> tuple[Question, ...]:
    fields = _fields(payload)
    questions = (Question(text, _options(field)) for text, _, field in _named(payload, fields))
    return tuple(questions) or (Question(_message(payload), (YES, NO)),)


def answer(payload: Payload, verdict: Verdict | None) -> str:
    """Return the hook's answer; an empty one leaves the question to the dialog."""
    if verdict is None or verdict.outcome in {Outcome.GONE, Outcome.ALLOWED}:
        return ""  # allowing the question does not answer it
    output: dict[str, object] = {"hookEventName": "Elicitation", "action": "decline"}
    content = _content(payload, verdict) if verdict.outcome is Outcome.ANSWERED else None
    if content is not None:
        output |= {"action": "accept", "content": content}
    return json.dumps({"hookSpecificOutput": output})


def _content(payload: Payload, verdict: Verdict) -> dict[str, object] | None:
    """Return the completed form; ``None`` if the user declines."""
    fields = _fields(payload)
    if not fields:
        accepts = [YES] in [list(chosen) for chosen in verdict.answers.values()]
        return {} if accepts else None
    return {
        name: _value(field, ", ".join(verdict.answers[text]))
        for text, name, field in _named(payload, fields)
        if text in verdict.answers
    }


def _value(field: Mapping[str, Any], answer: str) -> object:
    """Convert an answer to the field's type; the server rejects a text of another type."""
    try:
        match field.get("type"):
            case "integer":
                return int(answer)
            case "number":
                return float(answer)
            case "boolean":
                return answer.strip().lower() in _TRUE
            case _:
                return answer
    except ValueError:
        return answer


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
