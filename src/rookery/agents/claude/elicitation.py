"""Read and answer an MCP server's form: each field is a question to the user. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rookery.agents.shared.claude_style_hooks import FORM
from rookery.model.forms import Form
from rookery.model.permissions import Call, Outcome, Verdict
from rookery.ports.agent import Payload


def read(payload: Payload) -> Call | None:
    match payload:
        case {"hook_event_name": "Elicitation", "message": str()}:
            return Call(FORM, shown_input(payload), form_in(payload).questions)
        case _:
            return None


def shown_input(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a form's request (hook or protocol) that rules and people see."""
    asks = {"server": request.get("mcp_server_name", ""), "message": request["message"]}
    return {**asks, "url": request.get("url") or ""}


def form_in(request: Mapping[str, Any]) -> Form:
    schema = request.get("requested_schema")
    return Form(str(request["message"]), schema if isinstance(schema, dict) else {})


def answer(payload: Payload, verdict: Verdict | None) -> str:
    """Return the hook's answer; an empty one leaves the question to the dialog."""
    if verdict is None or verdict.outcome in {Outcome.GONE, Outcome.ALLOWED}:
        return ""  # allowing the question does not answer it
    output: dict[str, object] = {"hookEventName": "Elicitation", "action": "decline"}
    is_answered = verdict.outcome is Outcome.ANSWERED
    content = form_in(payload).completed(verdict.answers) if is_answered else None
    if content is not None:
        output |= {"action": "accept", "content": content}
    return json.dumps({"hookSpecificOutput": output})
