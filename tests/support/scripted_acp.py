"""An ACP agent that sends to its client what its prompt says: a JSON list of messages.

``{"update": {…}}`` is a session update, ``{"request": METHOD, "params": {…}}`` a request. The
answer of the turn is the JSON list of the results. A command is waited for, and its output is
its result.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import Any

SESSION = {"sessionId": "scripted"}

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]

_numbers = count(1000)


def send(**message: Any) -> None:  # noqa: ANN401 - JSON
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)  # noqa: T201 - the protocol


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        raise SystemExit
    message: dict[str, Any] = json.loads(line)
    return message


def ask(method: str, **params: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    number = next(_numbers)
    send(id=number, method=method, params={**SESSION, **params})
    while (answer := receive()).get("id") != number or "method" in answer:
        pass
    result: dict[str, Any] = answer.get("result") or {"error": answer.get("error")}
    return result


def update(**content: Any) -> None:  # noqa: ANN401 - JSON
    send(method="session/update", params={**SESSION, "update": content})


def carry_out(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "session/request_permission":
        params = {"options": OPTIONS, **params}
    result = ask(method, **params)
    if method != "terminal/create" or "terminalId" not in result:
        return result
    terminal = {"terminalId": result["terminalId"]}
    ask("terminal/wait_for_exit", **terminal)
    output = ask("terminal/output", **terminal)
    ask("terminal/release", **terminal)
    return {"output": output["output"]}


def play(text: str) -> str:
    try:
        messages = json.loads(text)
    except ValueError:
        return text
    results = []
    for message in messages:
        if "update" in message:
            update(**message["update"])
        else:
            results.append(carry_out(message["request"], message["params"]))
    return json.dumps(results)


def answer(message: dict[str, Any]) -> dict[str, Any]:
    match message.get("method"):
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
        case "session/new":
            modes = [{"id": "default", "name": "Default"}]
            return {**SESSION, "modes": {"currentModeId": "default", "availableModes": modes}}
        case "session/prompt":
            said = play("".join(each.get("text", "") for each in message["params"]["prompt"]))
            content = {"type": "text", "text": said}
            update(sessionUpdate="agent_message_chunk", content=content)
            return {"stopReason": "end_turn"}
        case _:
            return {}


def main() -> None:
    while True:
        message = receive()
        if "id" in message:
            send(id=message["id"], result=answer(message))


if __name__ == "__main__":
    main()
