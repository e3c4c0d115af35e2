"""Read and answer the hooks of Gemini CLI."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from rookery.agents.gemini import NAME
from rookery.agents.shared.claude_style_hooks import (
    DECISION_TIMEOUT_S,
    HOOK_TIMEOUT_S,
    MAX_NAME_CHARS,
    ClaudeStyleHooks,
    read_question,
)
from rookery.agents.shared.claude_style_replies import answers_as_reason, denial_reason
from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import INEXACT, Call, Outcome, Stop, Verdict, digest
from rookery.ports.agent import HookTraits, Payload

#: Each event, and its timeout in milliseconds. The events for every chunk of an answer are left
#: out: their payloads contain the whole conversation.
EVENTS: Mapping[str, int] = {
    "SessionStart": HOOK_TIMEOUT_S * 1000,
    "BeforeAgent": HOOK_TIMEOUT_S * 1000,
    "BeforeTool": DECISION_TIMEOUT_S * 1000,
    "Notification": HOOK_TIMEOUT_S * 1000,
    "AfterTool": HOOK_TIMEOUT_S * 1000,
    "AfterAgent": DECISION_TIMEOUT_S * 1000,
    "SessionEnd": HOOK_TIMEOUT_S * 1000,
}

#: The tool that asks the user a question.
ASKING = "ask_user"

#: The tool that runs a command.
SHELL = "run_shell_command"

#: The names, in dialogs, of tools that Gemini asks about only if a hook requires it.
_DISPLAYED = {
    "FindFiles": "glob",
    "GoogleSearch": "google_web_search",
    "ReadFile": "read_file",
    "ReadFolder": "list_directory",
    "ReadManyFiles": "read_many_files",
    "SearchText": "grep_search",
}

#: The answer that Gemini reports after an error or an interruption.
_NOTHING = "[no response text]"

#: The line before the contents of mentioned files.
_MENTIONED = "\n--- Content from referenced files ---\n"


class GeminiHooks(ClaudeStyleHooks):
    def read(self, payload: Payload, session: SessionId) -> Iterable[Fact]:
        match payload:
            case {"hook_event_name": "BeforeAgent", "prompt": str(prompt)}:
                # Gemini adds the contents of files that the prompt mentions with "@".
                words = prompt.partition(_MENTIONED)[0]
                # Gemini reports text that was typed during a turn once that turn is over.
                yield facts.TurnStarted(session, words, is_only_one=True)
            case {"hook_event_name": "BeforeTool", "tool_name": str(tool)}:
                yield self.tool_called(session, tool, payload)
            case {"hook_event_name": "AfterTool", "tool_name": str(tool)}:
                yield facts.ToolUsed(session, tool[:MAX_NAME_CHARS], _mark(payload))
            case {"hook_event_name": "AfterAgent", "prompt_response": str(words)}:
                if words.strip() == _NOTHING:
                    yield facts.TurnEnded(session, "", "failed")
                else:
                    yield facts.TurnEnded(session, words.strip())
            case {"hook_event_name": "Notification", "notification_type": "ToolPermission"}:
                pass  # a call to decide: see ``read_call``
            case _:
                yield from super().read(payload, session)

    def read_call(self, payload: Payload) -> Call | None:
        match payload:
            case {
                "hook_event_name": "BeforeTool",
                "tool_name": "ask_user",
                "tool_input": {"questions": [_, *_] as questions} as tool_input,
            }:
                parsed = tuple(read_question(each) for each in questions)
                return Call(ASKING, tool_input, parsed, mark=_mark(payload))
            case {"hook_event_name": "BeforeTool", "tool_name": str(tool)}:
                tool_input = _input(payload)
                return Call(
                    tool,
                    tool_input,
                    is_asked=False,
                    mark=(mark := _mark(payload)),
                    announced_as=_announced_as(tool, mark),
                    uncertain=_searched(tool, tool_input),
                )
            case {
                "hook_event_name": "Notification",
                "notification_type": "ToolPermission",
                "details": dict(details),
            } if details.get("type") != ASKING:
                return _shown(payload, details)
            case _:
                return None

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        """Return the hook's answer.

        A hook can deny a call; allowing it still opens the dialog.
        """
        if payload["hook_event_name"] != "BeforeTool":
            return ""
        if verdict is None or verdict.outcome is Outcome.GONE:
            return "" if payload.get("tool_name") == ASKING else json.dumps({"decision": "ask"})
        match verdict.outcome:
            case Outcome.DENIED:
                reason = denial_reason(verdict)
            case Outcome.ANSWERED:
                reason = answers_as_reason(verdict)
            case _:
                return ""
        return json.dumps({"decision": "deny", "reason": reason})

    def read_stop(self, payload: Payload) -> Stop | None:
        match payload:
            case {"hook_event_name": "AfterAgent", "prompt_response": str(words)}:
                return Stop(words.strip(), bool(payload.get("stop_hook_active")))
            case _:
                return None

    def go_on(self, payload: Payload, reason: str) -> str:
        return json.dumps({"decision": "deny", "reason": reason})


def _input(payload: Payload) -> Mapping[str, Any]:
    given = payload.get("tool_input")
    return given if isinstance(given, dict) else {}


def _searched(tool: str, tool_input: Mapping[str, Any]) -> frozenset[str]:
    """Return the path fields of a call for which Gemini may use another file.

    If there is no file at a relative path, ``replace`` searches the project for a file whose
    path ends with it, and changes that file.
    """
    file = tool_input.get("file_path")
    is_relative = isinstance(file, str) and not PurePath(file).is_absolute()
    return frozenset({"file_path"} if tool == "replace" and is_relative else ())


def _shown(payload: Payload, details: Mapping[str, Any]) -> Call:
    """Read the call that a dialog is about to show; the payload does not name its tool."""
    match details:
        case {"type": "exec", "command": str(command)}:
            tool, tool_input = SHELL, {"command": command}
        case {"type": "edit", "filePath": str(file), "newContent": str(content)}:
            is_new = str(details.get("title", "")).startswith("Confirm Write")
            tool = "write_file" if is_new else "replace"
            tool_input = {"file_path": file, "content": content}
        case {"type": "info", "title": "Confirm Web Fetch", "prompt": str(prompt)}:
            tool, tool_input = "web_fetch", {"prompt": prompt}
        case {"type": "mcp", "serverName": str(server), "toolName": str(name)}:
            tool, tool_input = f"mcp_{server}_{name}", {}
        case _:
            displayed = str(details.get("title", "")).removeprefix("Confirm: ")
            tool = _DISPLAYED.get(displayed, displayed)
            tool_input = {"prompt": str(details.get("prompt", ""))}
    mark = _mark({**payload, "tool_name": tool, "tool_input": tool_input})
    # For other tools the dialog shows the name or a part of the input.
    mark = mark or f"{INEXACT}{digest(tool, tool_input)}"
    announced_as = _announced_as(tool, mark)
    return Call(tool, tool_input, by_keys=True, mark=mark, announced_as=announced_as)


#: The fields of each tool's input that its dialog shows. Only a call that is shown completely
#: can be allowed for the session: the folder of a command and the texts of a ``replace`` are
#: missing.
_SHOWN_WHOLE = {"web_fetch": {"prompt"}, "write_file": {"file_path", "content"}}
_SHOWN_IN_PART = {SHELL: "command", "replace": "file_path"}


def _announced_as(tool: str, mark: str) -> str:
    """Return what a call has in common with its dialog if that hides where or how it works."""
    if tool in _SHOWN_WHOLE or tool == "replace":
        return ""
    return (mark if tool == SHELL else "") or tool


def _mark(payload: Payload) -> str:
    """Return an identifier of a call that is the same before, in and after its dialog."""
    tool, tool_input = str(payload.get("tool_name")), _input(payload)
    if tool in _SHOWN_WHOLE and tool_input.keys() == _SHOWN_WHOLE[tool]:
        return digest(tool, _with_whole_path(payload, tool_input))
    if isinstance(tool_input.get(name := _SHOWN_IN_PART.get(tool, "")), str):
        part = {name: tool_input[name]}
        return f"{INEXACT}{digest(tool, _with_whole_path(payload, part))}"
    return ""


def _with_whole_path(payload: Payload, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an input with its path made absolute, as the dialog shows it."""
    file = given.get("file_path")
    if not isinstance(file, str):
        return given
    return {**given, "file_path": str(PurePath(str(payload.get("cwd")), file))}


HOOKS = GeminiHooks(
    agent=NAME,
    edits={"write_file": "file_path", "replace": "file_path"},
    traits=HookTraits(
        before_tool="BeforeTool",
        silent_stop="AfterAgent",
        obeys_ask=True,
        # Gemini draws its box before it asks whether to trust the folder, so a box counts only
        # after it has been visible for a while.
        reports_start=True,
        same_tools=(frozenset({"grep_search", "search_file_content"}),),
    ),
)
