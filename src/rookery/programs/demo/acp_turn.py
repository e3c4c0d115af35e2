"""A turn of the demo agent over ACP: the steps of a prompt as messages to the client."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never
from uuid import uuid4

from rookery.programs.demo import script
from rookery.programs.demo.acp_messages import Cancelled, Message, Messages, RequestFailed
from rookery.programs.demo.transcript import DemoTranscript

#: The error code of JSON-RPC for a turn that failed.
INTERNAL = -32603

_Request = Callable[[str, Message], Any]
_ClientRequest = Callable[[_Request, Message, Path, str], str]


@dataclass
class AcpSession:
    folder: Path
    conversation: DemoTranscript
    mode: str = "default"
    words_per_second: float = 0.0


class AcpTurn:
    """Follows the steps of one prompt."""

    def __init__(self, messages: Messages, name: str, session: AcpSession) -> None:
        self._messages = messages
        self._name = name
        self._session = session

    def follow(self, text: str) -> None:
        for step in script.read(text):
            self._messages.wait(self._name, 0)
            self._take(step)

    def _take(self, step: script.ScriptStep) -> None:
        match step:
            case script.Say(text):
                self._say(text)
            case script.UseTool():
                self._use_tool(step)
            case script.AskQuestion():
                self._ask_question(step)
            case script.Sleep(seconds):
                self._messages.wait(self._name, seconds)
            case script.Slow(words_per_second):
                self._session.words_per_second = words_per_second
            case script.Fail() | script.Exit() | script.Crash():
                _break_off(step)
            case _:
                assert_never(step)

    def _say(self, text: str) -> None:
        speed = self._session.words_per_second
        message = str(uuid4())
        for number, word in enumerate(text.split(" ") if speed else [text]):
            if speed:
                self._messages.wait(self._name, 1 / speed)
            chunk = {"type": "text", "text": f" {word}" if number else word}
            self._update("agent_message_chunk", content=chunk, messageId=message)
        self._session.conversation.add("assistant", text)

    def _use_tool(self, step: script.UseTool) -> None:
        if request := _REQUESTS.get(step.name):
            self._say_result(request, step.text)
            return
        call: Message = {
            "toolCallId": f"call_{uuid4().hex}",
            "title": step.name,
            "kind": "execute",
            "rawInput": {"command": step.text},
        }
        self._update("tool_call", **call, status="pending")
        is_bypassed = self._session.mode.startswith("bypass")
        if step.asks and not is_bypassed and not self._is_allowed(call):
            self._end(call, "failed", "Refused")
            return
        self._end(call, "completed", "ok")

    def _is_allowed(self, call: Message) -> bool:
        options = [
            {"optionId": "once", "name": "Yes", "kind": "allow_once"},
            {"optionId": "always", "name": "Yes, always", "kind": "allow_always"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        return self._chosen(call, options) == "once"

    def _chosen(self, call: Message, options: list[dict[str, str]]) -> str:
        """Ask the client; return the option that it chose. Raises ``Cancelled``."""
        parameters = {"sessionId": self._name, "toolCall": call, "options": options}
        answer = self._request("session/request_permission", parameters)
        match answer:
            case {"outcome": {"outcome": "selected", "optionId": str(option)}}:
                return option
            case _:
                raise Cancelled

    def _ask_question(self, step: script.AskQuestion) -> None:
        labels = [{"label": label} for label in step.options]
        questions = [{"question": step.text, "options": labels}]
        call: Message = {
            "toolCallId": f"call_{uuid4().hex}",
            "title": "AskUserQuestion",
            "kind": "other",
            "rawInput": {"questions": questions},
        }
        self._update("tool_call", **call, status="pending")
        options = [
            {"optionId": label, "name": label, "kind": "allow_once"} for label in step.options
        ]
        none = {"optionId": "", "name": "No answer", "kind": "reject_once"}
        if chosen := self._chosen(call, [*options, none]):
            self._end(call, "completed", chosen)
            self._say(f"You chose {chosen}")
        else:
            self._end(call, "failed", "No answer")

    def _end(self, call: Message, status: str, text: str) -> None:
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        self._update(
            "tool_call_update", toolCallId=call["toolCallId"], status=status, content=content
        )

    def _say_result(self, request: _ClientRequest, text: str) -> None:
        """Let the client do something, and say what came of it."""
        folder = self._session.folder
        try:
            result = request(self._request, {"sessionId": self._name}, folder, text)
        except RequestFailed as error:
            result = f"Error: {error}"
        self._say(result)

    def _request(self, method: str, parameters: Message) -> Any:  # noqa: ANN401 - JSON
        return self._messages.request(self._name, method, parameters)

    def _update(self, update: str, /, **fields: object) -> None:
        send_update(self._messages, self._name, update, **fields)


def _break_off(step: script.Fail | script.Exit | script.Crash) -> None:
    match step:
        case script.Fail(error):
            raise RequestFailed(INTERNAL, error)
        case script.Exit(code):
            sys.exit(code)
        case script.Crash():
            os.kill(os.getpid(), signal.SIGKILL)
        case _:
            assert_never(step)


def send_update(messages: Messages, session: str, name: str, /, **fields: object) -> None:
    update = {"sessionUpdate": name, **fields}
    messages.notify("session/update", {"sessionId": session, "update": update})


def _read_file(request: _Request, session: Message, folder: Path, text: str) -> str:
    answer = request("fs/read_text_file", {**session, "path": str(folder / text)})
    return str(answer["content"])


def _write_file(request: _Request, session: Message, folder: Path, text: str) -> str:
    path, _, content = text.partition(" ")
    file = {"path": str(folder / path), "content": content}
    request("fs/write_text_file", {**session, **file})
    return "ok"


def _run(request: _Request, session: Message, folder: Path, text: str) -> str:
    created = request("terminal/create", {**session, "command": text, "cwd": str(folder)})
    terminal = {**session, "terminalId": created["terminalId"]}
    request("terminal/wait_for_exit", terminal)
    output = request("terminal/output", terminal)
    request("terminal/release", terminal)
    return str(output["output"]).strip()


_REQUESTS: Mapping[str, _ClientRequest] = {
    "fs/read_text_file": _read_file,
    "fs/write_text_file": _write_file,
    "terminal/create": _run,
}
