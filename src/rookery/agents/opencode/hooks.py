"""Read and answer the reports of Rookery's plugin, which have the format of Claude's hooks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rookery.agents.opencode import NAME
from rookery.agents.shared.claude_style_hooks import ClaudeStyleHooks, read_question
from rookery.agents.shared.claude_style_replies import UNDECIDED, denial_reason
from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.money import in_micro_dollars
from rookery.model.permissions import (
    INEXACT,
    Call,
    Outcome,
    Stop,
    Verdict,
    digest,
)
from rookery.ports.agent import HookTraits, Payload

#: The tool that asks the user a question.
ASKING = "question"


class OpenCodeHooks(ClaudeStyleHooks):
    def read(self, payload: Payload, session: SessionId) -> Iterable[Fact]:
        match payload:
            case {"hook_event_name": "Usage"}:
                return _usage(payload, session)
            case {"hook_event_name": "PermissionSettled"}:
                return [facts.InputSettled(session, "terminal")]
            case _:
                return super().read(payload, session)

    def read_call(self, payload: Payload) -> Call | None:
        call = super().read_call(payload)
        if call is None or call.questions or payload.get("is_partial") is not True:
            return call
        return replace(call, mark=f"{INEXACT}{digest(call.tool, call.input)}")

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        """Return a decision in the format that the plugin reads."""
        if payload["hook_event_name"] == "PreToolUse":
            output = _before_tool(verdict)
        elif verdict is None or verdict.outcome is Outcome.GONE:
            return ""  # the dialog is already on the screen
        elif payload.get("tool_name") == ASKING:
            output = {"decision": "answer", "answers": _answers(payload, verdict)}
        elif verdict.outcome is Outcome.ALLOWED:
            output = {"decision": "allow"}
        else:
            output = _denial(verdict)
        return json.dumps(output) if output else ""

    def read_stop(self, payload: Payload) -> Stop | None:
        return None

    def go_on(self, payload: Payload, reason: str) -> str:
        return ""

    def explain(self, payload: Payload, context: str) -> str:
        return ""


def _before_tool(verdict: Verdict | None) -> dict[str, object]:
    if verdict is None or verdict.outcome is Outcome.GONE:
        return _denial(UNDECIDED)  # an empty answer would allow the call
    return _denial(verdict) if verdict.outcome is Outcome.DENIED else {}


def _denial(verdict: Verdict) -> dict[str, object]:
    return {"decision": "deny", "reason": denial_reason(verdict)}


def _answers(payload: Payload, verdict: Verdict) -> list[list[str]]:
    """Return the answers to each question; "No answer." where the user gave none."""
    none = ("No answer.", verdict.reason)
    questions = (read_question(each).text for each in payload["tool_input"]["questions"])
    return [list(verdict.answers.get(text, [" ".join(none).strip()])) for text in questions]


def _usage(payload: Payload, session: SessionId) -> Iterator[Fact]:
    match payload:
        case {
            "tokens": {
                "input": int(fresh),
                "output": int(written),
                "reasoning": int(thought),
                "cache": {"read": int(read), "write": int(kept)},
            }
        } if fresh or written or read:
            cost = payload.get("cost")
            # OpenCode reports a cost of 0 for a model whose price is unknown.
            dollars = cost if isinstance(cost, int | float) and cost > 0 else None
            micro = None if dollars is None else in_micro_dollars(dollars)
            used_in, used_out = fresh + read + kept, written + thought
            # Plugins of earlier versions do not say whose message it is.
            is_own = payload.get("is_subagent") is False
            yield facts.UsageReported(
                session,
                used_in,
                used_out,
                micro,
                cache_read=read,
                cache_write=kept,
                context=used_in + used_out if is_own else 0,
            )
        case _:
            pass


HOOKS = OpenCodeHooks(
    agent=NAME,
    question=("PermissionRequest", ASKING),
    traits=HookTraits(before_tool="PreToolUse", permission="PermissionRequest"),
    edits={
        "edit": "filePath",
        "multiedit": "filePath",
        "write": "filePath",
        "apply_patch": "patchText",
        "patch": "patchText",
    },
)
