"""The forms by which an ACP agent asks questions: its own, and those of its MCP servers."""

from __future__ import annotations

from acp.schema import (
    AcceptElicitationResponse,
    CancelElicitationResponse,
    CreateElicitationResponse,
    DeclineElicitationResponse,
    ElicitationSchema,
)

from rookery.drivers.acp.questions import TurnQuestions
from rookery.drivers.acp.tools import AcpCall, NamedCall, NameTool
from rookery.drivers.form_answers import form_action
from rookery.model.forms import Form

#: The name of a form that belongs to no tool call, used instead of a tool name.
FORM = "elicitation"

CANCELLED = CancelElicitationResponse(action="cancel")


def form_of(message: str, schema: ElicitationSchema, other_suffix: str) -> Form:
    fields = schema.model_dump(mode="json", by_alias=True, exclude_none=True)
    return Form(message, fields, other_suffix)


async def ask_form(
    asking: TurnQuestions, form: Form, call: AcpCall, name_tool: NameTool
) -> CreateElicitationResponse:
    """Ask the questions of a form, and return the response to it."""
    use = name_tool(call) if call.call_id else NamedCall(FORM, {"message": form.message})
    answer = await asking.ask(use, call, questions=form.questions)
    if answer is None:
        return CANCELLED
    action, values = form_action(form, answer)
    if action == "accept":
        return AcceptElicitationResponse(action="accept", content=values)
    if action == "decline":
        return DeclineElicitationResponse(action="decline")
    return CANCELLED
