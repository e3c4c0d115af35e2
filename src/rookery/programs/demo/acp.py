"""The demo agent over the Agent Client Protocol: one JSON message per line, no terminal.

It follows the same steps as in a terminal. Tools with the names of the protocol's own requests
(``tool: fs/write_text_file notes.txt Hello``) are carried out by the client.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from rookery.programs.demo.acp_messages import Cancelled, Message, Messages, RequestFailed
from rookery.programs.demo.acp_turn import AcpSession, AcpTurn, send_update
from rookery.programs.demo.transcript import DemoTranscript

PROTOCOL_VERSION = 1

#: The name of each permission mode.
MODES = {
    "plan": "Plan",
    "default": "Default",
    "acceptEdits": "Accept edits",
    "bypassPermissions": "Bypass permissions",
}

#: Error codes of JSON-RPC.
NO_METHOD, BAD_PARAMETERS = -32601, -32602


@dataclass
class AcpDemo:
    """All sessions of one connection; one of them works at a time."""

    messages: Messages
    home: Path
    _sessions: dict[str, AcpSession] = field(default_factory=dict)

    def serve(self) -> None:
        """Answer requests until the client closes the connection."""
        while message := self.messages.receive():
            if "id" in message and "method" in message:
                self._answer(message)

    def _answer(self, message: Message) -> None:
        handlers: Mapping[str, Callable[[Message], Message]] = {
            "initialize": self._initialize,
            "session/new": self._new,
            "session/load": self._load,
            "session/set_mode": self._set_mode,
            "session/prompt": self._prompt,
        }
        handler = handlers.get(message["method"], _refuse)
        try:
            result = handler(message.get("params") or {})
        except RequestFailed as error:
            self.messages.fail(message["id"], error)
        else:
            self.messages.respond(message["id"], result)

    def _initialize(self, parameters: Message) -> Message:
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {"loadSession": True},
            "agentInfo": {"name": "demo", "version": "1"},
            "authMethods": [],
        }

    def _new(self, parameters: Message) -> Message:
        name = str(uuid4())
        self._open(name, parameters)
        return {"sessionId": name, **self._state(name)}

    def _load(self, parameters: Message) -> Message:
        name = str(parameters.get("sessionId"))
        session = self._open(name, parameters)
        lines = session.conversation.read()
        if lines is None:
            del self._sessions[name]
            raise RequestFailed(BAD_PARAMETERS, f"there is no conversation {name}")
        for kind, text in lines:
            update = "user_message_chunk" if kind == "user" else "agent_message_chunk"
            if kind in {"user", "assistant"}:
                send_update(self.messages, name, update, content={"type": "text", "text": text})
        return self._state(name)

    def _open(self, name: str, parameters: Message) -> AcpSession:
        folder = Path(str(parameters.get("cwd", ".")))
        session = self._sessions[name] = AcpSession(folder, DemoTranscript(self.home, name))
        return session

    def _state(self, name: str) -> Message:
        modes = [{"id": each, "name": shown} for each, shown in MODES.items()]
        current = self._sessions[name].mode
        return {"modes": {"currentModeId": current, "availableModes": modes}}

    def _set_mode(self, parameters: Message) -> Message:
        mode = str(parameters.get("modeId"))
        if mode not in MODES:
            raise RequestFailed(BAD_PARAMETERS, f"there is no mode {mode}")
        self._of(parameters).mode = mode
        return {}

    def _of(self, parameters: Message) -> AcpSession:
        session = self._sessions.get(str(parameters.get("sessionId")))
        if session is None:
            raise RequestFailed(BAD_PARAMETERS, "there is no such session")
        return session

    def _prompt(self, parameters: Message) -> Message:
        session, name = self._of(parameters), str(parameters["sessionId"])
        parts = parameters.get("prompt") or ()
        text = "\n".join(str(part.get("text", "")) for part in parts)
        session.conversation.add("user", text)
        content = {"type": "text", "text": text}
        send_update(self.messages, name, "user_message_chunk", content=content)
        try:
            AcpTurn(self.messages, name, session).follow(text)
        except Cancelled:
            session.conversation.add("interrupted", "")
            return {"stopReason": "cancelled"}
        return {"stopReason": "end_turn"}


def _refuse(parameters: Message) -> Message:
    raise RequestFailed(NO_METHOD, "Method not found")


def main(home: Path) -> int:
    """Serve on the standard streams until the input ends."""
    AcpDemo(Messages(sys.stdin.fileno(), sys.stdout.fileno()), home).serve()
    return 0
