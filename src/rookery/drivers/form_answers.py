"""What a person's answer means for a form, in the words of MCP. Pure."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from rookery.drivers.commands import AgentAnswer
from rookery.model.forms import Form

FormAction: TypeAlias = Literal["accept", "decline", "cancel"]


def form_action(form: Form, answer: AgentAnswer) -> tuple[FormAction, dict[str, Any]]:
    """Return the action, and the values of the fields of an accepted form.

    A form that was allowed, but not filled in, is neither accepted nor declined.
    """
    if not answer.allow:
        return "decline", {}
    if not answer.answers:
        return "cancel", {}
    values = form.completed(answer.answers)
    return ("decline", {}) if values is None else ("accept", values)
