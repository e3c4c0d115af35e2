"""The hook protocol that several agents share, as Claude Code defines it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rookery.agents.shared import background_tasks
from rookery.agents.shared.claude_style_replies import (
    permission_request_output,
    pre_tool_use_output,
)
from rookery.agents.shared.edited_files import edited_files
from rookery.agents.shared.tool_arguments import argument_of
from rookery.agents.shared.tool_failures import failure_of
from rookery.model import facts
from rookery.model.errors import HookUnreadable
from rookery.model.facts import SessionId
from rookery.model.permissions import Call, Outcome, Question, Stop, Verdict, digest
from rookery.model.sessions import NativeId, Sender
from rookery.ports.agent import HookTraits, Payload

#: Seconds that an agent waits for Rookery's hook program, which gives up earlier. The second
#: value is for decisions, for which a person may be asked.
HOOK_TIMEOUT_S, DECISION_TIMEOUT_S = 20, 360

#: Events that a person may have to decide on.
DECIDING = frozenset({"PreToolUse", "PermissionRequest", "Stop", "Elicitation"})

#: The name of the request to fill in an MCP server's form, used instead of a tool name.
FORM = "Elicitation"

#: Characters kept of a question, an id or a path.
MAX_TEXT_CHARS = 2_000

#: Characters kept of the name of a tool or an event. Rules match the whole name of a tool.
MAX_NAME_CHARS = 200

#: The answer recorded for a command that reduces the conversation to a summary.
COMPACTED = "The conversation was compacted."

#: Reasons of a ``SessionEnd`` after which the same process starts a new conversation.
NOT_AN_END = frozenset({"clear", "resume"})


def hook_settings(
    command: str, events: Sequence[str], added: Mapping[str, object] | None = None
) -> str:
    """Return settings that run ``command`` for each of ``events``, with more settings added.

    They override a project's settings, which could otherwise switch off all hooks.
    """
    hooks = {event: [{"hooks": [_hook(command, event)]}] for event in events}
    return json.dumps({"disableAllHooks": False, "hooks": hooks, **(added or {})}, indent=1)


def _hook(command: str, event: str) -> dict[str, object]:
    return {"type": "command", "command": command, "timeout": timeout_of(event)}


def timeout_of(event: str) -> int:
    """Return the timeout in seconds for Rookery's hook of an event in the agent's settings."""
    return DECISION_TIMEOUT_S if event in DECIDING else HOOK_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class ClaudeStyleHooks:
    """Hooks whose payloads name their event and whose answers are JSON."""

    agent: str
    traits: HookTraits
    tells_mode: bool = False  #: whether its payloads name the session's permission mode
    #: The event and the tool by which it asks the user a question.
    question: tuple[str, str] = ("PermissionRequest", "AskUserQuestion")
    #: By tool, reads the argument from its input, for tools whose fields do not show it.
    arguments: Mapping[str, Callable[[Mapping[str, Any]], str]] = field(default_factory=dict)
    #: The tools that change files, with the field that names the files or contains a patch.
    edits: Mapping[str, str] = field(default_factory=dict)

    def identify(self, payload: Payload) -> Sender:
        match payload:
            case {
                "session_id": str(native_id),
                "cwd": str(cwd),
                "hook_event_name": str(event),
            }:
                if len(native_id) > MAX_TEXT_CHARS or len(cwd) > MAX_TEXT_CHARS:
                    raise HookUnreadable("its ids are far too long")
                return Sender(
                    self.agent,
                    NativeId(native_id),
                    cwd,
                    event[:MAX_NAME_CHARS],
                    _text(payload, "transcript_path")[:MAX_TEXT_CHARS],
                    _model(payload)[:MAX_NAME_CHARS],
                    is_new=event == "SessionStart",
                    has_ended=event == "SessionEnd",
                    permission_mode=self._mode(payload),
                )
            case _:
                raise HookUnreadable(", ".join(sorted(map(str, payload))))

    def _mode(self, payload: Payload) -> str:
        # A subagent may be in its own mode, which is not the session's.
        if not self.tells_mode or "agent_id" in payload:
            return ""
        return _text(payload, "permission_mode")[:MAX_NAME_CHARS]

    def read(self, payload: Payload, session: SessionId) -> Iterable[facts.Fact]:
        match payload:
            case {"hook_event_name": "SessionStart"}:
                yield facts.SessionStarted(
                    session,
                    _text(payload, "model")[:MAX_NAME_CHARS],
                    _text(payload, "transcript_path"),
                )
            case {"hook_event_name": "SessionEnd", "reason": str(reason)}:
                yield _read_end(reason, session)
            case {"hook_event_name": "PreToolUse", "tool_name": str(tool)}:
                yield self.tool_called(session, tool, payload)
            case {
                "hook_event_name": "PostToolUse" | "PostToolUseFailure",
                "tool_name": str(tool),
            }:
                call = digest(tool, payload["tool_input"]) if _has_input(payload) else ""
                subagent, call_id = _subagent(payload), _call_id(payload)
                name, failure = tool[:MAX_NAME_CHARS], failure_of(payload)
                yield facts.ToolUsed(session, name, call, subagent, call_id, failure=failure)
            case {"hook_event_name": "PermissionRequest" | "Elicitation"}:
                pass  # a call to decide: see ``read_call``
            case {"hook_event_name": "ElicitationResult"}:
                yield facts.InputSettled(session, "terminal", tool=FORM)
            case {"hook_event_name": str(event)}:
                noted = facts.Noted(session, event[:MAX_NAME_CHARS], _detail(payload))
                yield _read_turn(payload, session) or noted

    def tool_called(self, session: SessionId, tool: str, payload: Payload) -> facts.ToolCalled:
        """Return the fact that a tool is called, with its argument."""
        tool_input = payload.get("tool_input")
        read = self.arguments.get(tool)
        known = read(tool_input) if read and isinstance(tool_input, dict) else ""
        argument = known or argument_of(tool, tool_input)
        return facts.ToolCalled(session, tool[:MAX_NAME_CHARS], argument, _call_id(payload))

    def read_call(self, payload: Payload) -> Call | None:
        match payload:
            case {
                "hook_event_name": event,
                "tool_name": str(tool),
                "tool_input": {"questions": [_, *_] as questions} as tool_input,
            } if (event, tool) == self.question:
                question_call = Call(tool, tool_input, tuple(map(read_question, questions)))
                return identified(question_call, payload)
            case {
                "hook_event_name": "PreToolUse" | "PermissionRequest" as event,
                "tool_name": str(tool),
            }:
                tool_input = payload["tool_input"] if _has_input(payload) else {}
                is_asked = event == "PermissionRequest"
                call = Call(tool, tool_input, is_asked=is_asked)
                return identified(call, payload)
            case _:
                return None

    def edited_files(self, payload: Payload) -> Sequence[str]:
        match payload:
            case {
                "hook_event_name": "PostToolUse" | "AfterTool",
                "tool_name": str(tool),
                "tool_input": {} as tool_input,
            } if tool in self.edits:
                return edited_files(tool_input, self.edits[tool])
            case _:
                return ()

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        event = payload["hook_event_name"]
        if event == "PreToolUse":
            output = pre_tool_use_output(verdict)
        elif verdict is None or verdict.outcome is Outcome.GONE:
            return ""  # the agent's dialog is on the screen already
        else:
            output = {"decision": permission_request_output(payload, verdict)}
        whole = {"hookSpecificOutput": {"hookEventName": event, **output}}
        return json.dumps(whole) if output else ""

    def read_stop(self, payload: Payload) -> Stop | None:
        match payload:
            case {"hook_event_name": "Stop"} if background_tasks.count(payload).subagents:
                return None
            case {"hook_event_name": "Stop", "last_assistant_message": str(words)}:
                return Stop(words, bool(payload.get("stop_hook_active")))
            case _:
                return None

    def go_on(self, payload: Payload, reason: str) -> str:
        return json.dumps({"decision": "block", "reason": reason})

    def explain(self, payload: Payload, context: str) -> str:
        output = {"hookEventName": payload["hook_event_name"], "additionalContext": context}
        return json.dumps({"hookSpecificOutput": output})


def identified(call: Call, payload: Payload) -> Call:
    """Add the ids of the call and of its subagent, as far as the payload names them."""
    return replace(call, call_id=_call_id(payload), subagent=_subagent(payload))


def _read_turn(  # noqa: PLR0911 - a table
    payload: Payload, session: SessionId
) -> facts.Fact | None:
    """Return the start or the end of a turn if the event reports one."""
    match payload:
        case {"hook_event_name": "UserPromptSubmit", "prompt": str(prompt)}:
            # Codex reports a prompt typed during a turn once its model has received it.
            taken_in = "turn_id" in payload
            started = facts.TurnStarted(session, prompt, _turn(payload), is_taken_in=taken_in)
            return background_tasks.read_prompt(started)
        case {"hook_event_name": "PreCompact", "trigger": "manual"}:
            # A built-in command: no prompt event reports its start.
            words = f"/compact {_text(payload, 'custom_instructions')}".strip()
            return facts.TurnStarted(session, words, _turn(payload))
        case {"hook_event_name": "PostCompact", "trigger": "manual"}:
            return facts.TurnEnded(session, COMPACTED, turn=_turn(payload))
        case {"hook_event_name": "Stop"}:
            words = _text(payload, "last_assistant_message")
            return background_tasks.read_stop(session, payload, words, _turn(payload))
        case {"hook_event_name": "StopFailure"}:
            words = _text(payload, "last_assistant_message") or _text(payload, "error")
            return facts.TurnEnded(session, words, "failed", _turn(payload))
        case {"hook_event_name": "Interrupt"}:
            return facts.TurnEnded(session, "", "interrupted", _turn(payload))
        case _:
            return None


def _read_end(reason: str, session: SessionId) -> facts.Fact:
    if reason in NOT_AN_END:
        return facts.ConversationLeft(session, reason)
    # "other" is the reason of a normal end without a terminal; it carries no information.
    return facts.SessionEnded(
        session, "it ended" if reason == "other" else f"it ended: {reason}"
    )


def read_question(entry: Any) -> Question:  # noqa: ANN401 - foreign JSON
    match entry:
        case {"question": str(text), "options": [*options]}:
            labelled = [
                each
                for each in options
                if isinstance(each, dict) and isinstance(each.get("label"), str)
            ]
            several = bool(entry.get("multiSelect") or entry.get("multiple"))
            labels = tuple(each["label"][:MAX_TEXT_CHARS] for each in labelled)
            described = tuple(_text(each, "description")[:MAX_TEXT_CHARS] for each in labelled)
            return Question(
                text[:MAX_TEXT_CHARS], labels, several, described if any(described) else ()
            )
        case {"question": str(text)}:
            return Question(text[:MAX_TEXT_CHARS])
        case _:
            return Question("It asks something that cannot be read.")


def _call_id(payload: Payload) -> str:
    return _text(payload, "tool_use_id")[:MAX_NAME_CHARS]


def _subagent(payload: Payload) -> str:
    return _text(payload, "agent_id")[:MAX_NAME_CHARS]


def _model(payload: Payload) -> str:
    # Codex names its model in each hook; Claude names a new one when the user chooses it.
    return _text(payload, "to_model") or _text(payload, "model")


def _has_input(payload: Payload) -> bool:
    return isinstance(payload.get("tool_input"), dict)


def _detail(payload: Payload) -> str:
    texts = (_text(payload, name) for name in ("message", "agent_type", "trigger", "source"))
    return next((text for text in texts if text), "")[:MAX_TEXT_CHARS]


def _turn(payload: Payload) -> str:
    """Return the agent's id of the turn, which Claude calls the prompt id."""
    return (_text(payload, "prompt_id") or _text(payload, "turn_id"))[:MAX_NAME_CHARS]


def _text(payload: Payload, field: str) -> str:
    """Return a text field of a payload; empty if it has none."""
    value = payload.get(field)
    return value if isinstance(value, str) else ""
