"""What a server of tools asks an agent's person: a form, whose fields are questions. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rookery.model.permissions import Call, Outcome, Question, Verdict
from rookery.ports.agent import Payload

#: What a request is called where others have the name of a tool.
TOOL = "Elicitation"

#: What can be said to a server that wants a yes only, such as to a page of its own.
YES, NO = "Accept", "Decline"

#: Characters of a question, as it is kept and shown.
_LONGEST = 2_000

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
    """Write an answer in the words of Claude's hooks; nothing leaves it to the dialog."""
    if verdict is None or verdict.outcome in {Outcome.GONE, Outcome.ALLOWED}:
        return ""  # that it may ask is no answer
    said: dict[str, object] = {"hookEventName": "Elicitation", "action": "decline"}
    content = _content(payload, verdict) if verdict.outcome is Outcome.ANSWERED else None
    if content is not None:
        said |= {"action": "accept", "content": content}
    return json.dumps({"hookSpecificOutput": said})


def _content(payload: Payload, verdict: Verdict) -> dict[str, object] | None:
    """Fill in the form; nothing if its person does not want to."""
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
    """Say it as the field wants it; what does not fit is the server's to refuse."""
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
    """Yield each field with the question that it is; a form of one needs no more words."""
    message = _message(payload)
    for name, field in fields.items():
        about = str(field.get("title") or field.get("description") or name)
        text = message if len(fields) == 1 else f"{message} {about}"
        yield text[:_LONGEST], name, field


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
    return str(payload["message"])[:_LONGEST]
