"""A server of one tool, on standard input and output, which asks its agent's person for a name.

Small, and without any package: the official one cannot ask back in its present version.
"""

from __future__ import annotations

import json
import sys
from typing import Any

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Name"}},
    "required": ["name"],
}


def main() -> None:
    waiting: dict[str, Any] | None = None
    for line in sys.stdin:
        message = json.loads(line)
        match message:
            case {"method": "initialize", "params": {"protocolVersion": version}}:
                about = {"name": "asking", "version": "1"}
                can: dict[str, object] = {"tools": {}}
                _answer(message, protocolVersion=version, capabilities=can, serverInfo=about)
            case {"method": "tools/list"}:
                tool = {
                    "name": "ask",
                    "description": "Asks.",
                    "inputSchema": {"type": "object"},
                }
                _answer(message, tools=[tool])
            case {"method": "tools/call"}:
                waiting = message
                asked = {"message": "Your name?", "requestedSchema": FORM}
                _say(id="ask-1", method="elicitation/create", params=asked)
            case {"id": "ask-1"} if waiting:
                said = json.dumps(message.get("result"))
                _answer(waiting, content=[{"type": "text", "text": said}])
            case {"id": _, "method": _}:
                _answer(message)


def _answer(message: dict[str, Any], **result: object) -> None:
    _say(id=message["id"], result=result)


def _say(**message: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)  # noqa: T201 - its only voice


if __name__ == "__main__":
    main()
