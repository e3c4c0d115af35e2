"""What agents with hooks of Claude's kind have in common."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from rookery.model import facts
from rookery.model.errors import HookUnreadable
from rookery.model.facts import SessionId
from rookery.model.sessions import NativeId, Sender
from rookery.ports import Payload

#: Seconds an agent waits for our hook program; that gives up long before.
TIMEOUT = 20

#: Characters of a question, as it is kept and shown.
LONGEST = 2_000

#: An agent says that it ends, and goes on as another conversation of the same process.
NOT_AN_END = frozenset({"clear", "resume"})


def settings(command: str, events: Sequence[str]) -> str:
    """Write the settings that have ``command`` told of ``events``."""
    hook = {"type": "command", "command": command, "timeout": TIMEOUT}
    return json.dumps({"hooks": {event: [{"hooks": [hook]}] for event in events}}, indent=1)


def identify(agent: str, payload: Payload) -> Sender:
    match payload:
        case {"session_id": str(native_id), "cwd": str(cwd), "hook_event_name": str(event)}:
            if len(native_id) > LONGEST or len(cwd) > LONGEST:
                raise HookUnreadable("its ids are far too long")
            return Sender(agent, NativeId(native_id), cwd, event == "SessionStart")
        case _:
            raise HookUnreadable(", ".join(sorted(map(str, payload))))


def read(payload: Payload, session: SessionId) -> Iterator[facts.Fact]:  # noqa: C901 - a table
    match payload:
        case {"hook_event_name": "SessionStart"}:
            yield facts.SessionStarted(
                session, _text(payload, "model"), _text(payload, "transcript_path")
            )
        case {"hook_event_name": "UserPromptSubmit", "prompt": str(prompt)}:
            yield facts.TurnStarted(session, prompt)
        case {
            "hook_event_name": "PermissionRequest",
            "tool_name": "AskUserQuestion",
            "tool_input": {"questions": [{"question": str(question)}, *_]},
        }:
            yield facts.InputAsked(session, "question", question[:LONGEST])
        case {"hook_event_name": "PermissionRequest", "tool_name": str(tool)}:
            yield facts.InputAsked(session, "permission", f"May it use {tool[:100]}?")
        case {"hook_event_name": "PostToolUse" | "PostToolUseFailure", "tool_name": str(tool)}:
            yield facts.ToolUsed(session, tool)
        case {"hook_event_name": "Stop", "background_tasks": [_, *_]}:
            pass  # its subagents still run: another prompt and another Stop will come
        case {"hook_event_name": "Stop"}:
            yield facts.TurnEnded(session, _text(payload, "last_assistant_message"))
        case {"hook_event_name": "StopFailure"}:
            words = _text(payload, "last_assistant_message") or _text(payload, "error")
            yield facts.TurnEnded(session, words, "failed")
        case {"hook_event_name": "Interrupt"}:
            yield facts.TurnEnded(session, "", "interrupted")
        case {"hook_event_name": "SessionEnd", "reason": str(reason)} if reason in NOT_AN_END:
            yield facts.ConversationLeft(session, reason)
        case {"hook_event_name": "SessionEnd", "reason": str(reason)}:
            yield facts.SessionEnded(session, f"it ended: {reason}")


def _text(payload: Payload, field: str) -> str:
    value = payload.get(field)
    return value if isinstance(value, str) else ""
