"""Plays ``codex app-server``: its turns do what their prompts say.

``say: text`` answers, ``garbage: line`` writes a line that is no message, ``close:`` closes the
output. After both the program goes on.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import count
from typing import Any

THREAD = "thread-1"

_turns = count(1)


def send(**message: Any) -> None:  # noqa: ANN401 - JSON
    print(json.dumps(message), flush=True)  # noqa: T201 - the protocol


def notify(method: str, **params: Any) -> None:  # noqa: ANN401 - JSON
    send(method=method, params={"threadId": THREAD, **params})


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "thread/start":
            return {"thread": {"id": THREAD}, "model": "m"}
        case "turn/start":
            return {"turn": {"id": f"turn-{next(_turns)}"}}
        case _:
            return {}


def play(turn: str, params: dict[str, Any]) -> None:
    content = params["input"]
    notify("turn/started", turn={"id": turn})
    user = {"type": "userMessage", "id": "u", "clientId": params["clientUserMessageId"]}
    notify("item/started", item={**user, "content": content})
    step, _, rest = str(content[0]["text"]).partition(":")
    match step:
        case "garbage":
            print(rest.strip(), flush=True)  # noqa: T201 - this line is the test
        case "close":
            os.close(sys.stdout.fileno())
        case _:
            notify("item/completed", item={"type": "agentMessage", "text": rest.strip()})
            notify("turn/completed", turn={"id": turn, "status": "completed"})


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        send(id=message["id"], result=result)
        if message["method"] == "turn/start":
            play(result["turn"]["id"], message["params"])
    os._exit(0)  # its output may be closed already


if __name__ == "__main__":
    main()
