"""What Codex asks its client, as permissions and questions, and the replies to it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rookery.agents.codex.driver.items import PATCH, QUESTION, SHELL, CodexCall, script_in
from rookery.drivers.commands import AgentAnswer
from rookery.drivers.events import Asked
from rookery.drivers.form_answers import form_action
from rookery.drivers.json_fields import Fields, fields_of, text_of
from rookery.model.forms import Form

#: The answer to a question that the user did not answer.
_NO_ANSWER = "No answer."


class _Method(StrEnum):
    """The requests of the server that a person can decide."""

    COMMAND = "item/commandExecution/requestApproval"
    FILES = "item/fileChange/requestApproval"
    PERMISSIONS = "item/permissions/requestApproval"
    QUESTIONS = "item/tool/requestUserInput"
    FORM = "mcpServer/elicitation/request"


@dataclass(frozen=True, slots=True)
class CodexRequest:
    """A request of the server for a decision."""

    number: int | str
    method: str
    params: Fields

    @property
    def is_question(self) -> bool:
        return self.method == _Method.QUESTIONS

    def asked(self, known: Mapping[str, CodexCall], thread: str) -> Asked | None:
        """Return what is asked; ``None`` for a request that no person can decide.

        ``known`` are the tool calls that were reported, by their ids.
        """
        if (use := self._use(known)) is None:
            return None
        sender = text_of(self.params.get("threadId"))
        return Asked(
            str(self.number),
            use.tool,
            use.input,
            call_id=text_of(self.params.get("itemId")),
            subagent="" if sender == thread else sender,
            # A command may name another folder than the project's, and rules must know it.
            folder=text_of(self.params.get("cwd")),
            questions=form.questions if (form := self._form) else (),
        )

    def _use(self, known: Mapping[str, CodexCall]) -> CodexCall | None:
        call = str(self.params.get("itemId"))
        match self.method:
            case _Method.COMMAND:
                return CodexCall(SHELL, self._command_input())
            case _Method.FILES:
                given = known[call].input if call in known else {}
                return CodexCall(PATCH, {**given, **self._named("reason", "grantRoot")})
            case _Method.PERMISSIONS:
                return CodexCall("request_permissions", self._named("permissions", "reason"))
            case _Method.QUESTIONS:
                return CodexCall(QUESTION, self._named("questions"))
            case _Method.FORM:
                return self._form_use()
            case _:
                return None

    def _command_input(self) -> Fields:
        """Return a command as the permission hook reports it, with further details."""
        given: dict[str, object] = {}
        if isinstance(command := self.params.get("command"), str):
            given["command"] = script_in(command)
        if isinstance(reason := self.params.get("reason"), str) and reason:
            given["description"] = reason
        if network := self.params.get("networkApprovalContext"):
            given["network"] = network
        if (kind := self.params.get("kind")) not in {None, "command"}:
            given["kind"] = kind
        return given

    @property
    def _form(self) -> Form | None:
        """Return the form of an MCP server; ``None`` if it is Codex that asks about a call."""
        if self.method != _Method.FORM or self._is_about_tool:
            return None
        message = text_of(self.params.get("message"))
        return Form(message, fields_of(self.params.get("requestedSchema")))

    @property
    def _is_about_tool(self) -> bool:
        details = fields_of(self.params.get("_meta"))
        return details.get("codex_approval_kind") == "mcp_tool_call"

    def _form_use(self) -> CodexCall:
        """Return the MCP tool call that a form asks about, or the form itself."""
        server = self.params.get("serverName")
        details = fields_of(self.params.get("_meta"))
        if self._is_about_tool:
            tool = details.get("tool_name") or details.get("tool_title") or ""
            return CodexCall(f"mcp__{server}__{tool}", fields_of(details.get("tool_params")))
        return CodexCall(f"mcp__{server}", self._named("message", "url", "requestedSchema"))

    def _named(self, *names: str) -> Fields:
        return {name: self.params[name] for name in names if self.params.get(name)}

    def reply(self, answer: AgentAnswer) -> Fields:
        """Return the result that tells Codex the answer."""
        match self.method:
            case _Method.PERMISSIONS:
                granted = self.params.get("permissions") if answer.allow else {}
                return {"permissions": granted, "scope": "turn"}
            case _Method.QUESTIONS:
                return {"answers": self._answers(answer)}
            case _Method.FORM:
                return self._form_reply(answer)
            case _:
                return {"decision": "accept" if answer.allow else "decline"}

    def _form_reply(self, answer: AgentAnswer) -> Fields:
        if form := self._form:
            action, values = form_action(form, answer)
        else:
            action, values = "accept" if answer.allow else "decline", {}
        content = values if action == "accept" else None
        return {"action": action, "content": content, "_meta": None}

    def _answers(self, answer: AgentAnswer) -> Fields:
        none = (" ".join(filter(None, (_NO_ANSWER, answer.message))),)
        questions = self.params.get("questions")
        return {
            each["id"]: {"answers": list(answer.answers.get(str(each.get("question")), none))}
            for each in (questions if isinstance(questions, list) else ())
            if isinstance(each, dict) and isinstance(each.get("id"), str)
        }
