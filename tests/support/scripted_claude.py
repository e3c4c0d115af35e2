"""A program that speaks Claude Code's stream-json protocol, and plays its prompts.

Run as ``python scripted_claude.py``. It starts quickly, so that many run at once. The steps of
a prompt are separated by ``;;``:

    say: TEXT       a block of text
    run: COMMAND    a call of Bash, for which it asks permission
    wait:           goes on until it is interrupted
    cost: DOLLARS   what the turn uses
    garbage: TEXT   a line that is no JSON
    errors: N       so many lines on stderr
    exit: STATUS    ends
    big: N          a text of so many characters
    detach: N       a process that sleeps so long in a session of its own; its pid is the text

The variable SCRIPTED_CLAUDE makes it misbehave: ``hang``, ``old`` or ``refuse`` when it starts,
``go-on`` when it is interrupted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

SESSION = "00000000-0000-4000-8000-000000000000"


class Interrupted(Exception):
    """The turn was interrupted."""


class Claude:
    """Reads messages and plays prompts, one after the other."""

    def __init__(self) -> None:
        self._prompts: list[tuple[str, str]] = []
        self._total = self._cost = 0.0
        self._calls = 0
        self._text = ""

    def run(self) -> None:
        while True:
            while not self._prompts:
                self._take(self._read())
            self._play(*self._prompts.pop(0))

    def _read(self) -> dict[str, Any]:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        message: dict[str, Any] = json.loads(line)
        return message

    def _take(self, message: dict[str, Any]) -> None:
        """Act on a message that may come at any time."""
        match message:
            case {"type": "user", "uuid": id_, "message": {"content": text}}:
                self._say_lifecycle(id_, "queued")
                self._prompts.append((id_, text))
            case {"type": "control_request", "request_id": id_, "request": {"subtype": kind}}:
                if kind == "interrupt" and os.environ.get("SCRIPTED_CLAUDE") == "go-on":
                    refusal = {"subtype": "error", "request_id": id_, "error": "not now"}
                    write(type="control_response", response=refusal)
                    return
                self._answer(id_, kind)
                if kind == "interrupt":
                    raise Interrupted
            case _:
                pass

    def _answer(self, id_: str, kind: str) -> None:
        version = "1.0.9" if os.environ.get("SCRIPTED_CLAUDE") == "old" else "2.1.325"
        told = {"claude_code_version": version} if kind == "initialize" else {}
        response = {"subtype": "success", "request_id": id_, "response": told}
        write(type="control_response", response=response)

    def _say_lifecycle(self, id_: str, state: str) -> None:
        write(type="command_lifecycle", command_uuid=id_, state=state)

    def _play(self, id_: str, prompt: str) -> None:
        write(type="system", subtype="session_state_changed", state="running")
        self._say_lifecycle(id_, "started")
        write(type="system", subtype="init", session_id=SESSION, model="scripted-1")
        self._cost, self._text, ending = 0.0, "", "completed"
        try:
            for step in prompt.split(";;"):
                name, _, rest = step.strip().partition(":")
                self._step(name, rest.strip())
        except Interrupted:
            ending = "aborted_streaming"
        self._finish(ending)
        self._say_lifecycle(id_, "completed")
        write(type="system", subtype="session_state_changed", state="idle")

    def _finish(self, ending: str) -> None:
        self._total += self._cost
        models = {"scripted-1": {"inputTokens": 10, "outputTokens": 2, "costUSD": self._cost}}
        write(
            type="result",
            subtype="success",
            is_error=ending != "completed",
            terminal_reason=ending,
            result=self._text,
            total_cost_usd=self._total,
            **dict.fromkeys(("duration_ms", "duration_api_ms", "num_turns"), 1),
            session_id=SESSION,
            model_usage_since_last_result=models,
        )

    def _step(self, name: str, rest: str) -> None:
        steps: dict[str, Callable[[str], None]] = {
            "say": self._say,
            "big": lambda size: self._say("x" * int(size)),
            "run": self._run,
            "form": self._ask_form,
            "detach": lambda seconds: self._say(str(detach(seconds))),
            "cost": self._spend,
            "wait": self._wait,
            "garbage": lambda text: write_line(f"{{{text}"),
            "errors": write_errors,
            "exit": lambda status: leave(int(status)),
        }
        steps[name](rest)

    def _spend(self, dollars: str) -> None:
        self._cost += float(dollars)

    def _wait(self, _: str) -> None:
        while True:
            self._take(self._read())

    def _say(self, text: str) -> None:
        self._text = text
        self._write_answer({"type": "text", "text": text})

    def _write_answer(self, block: Mapping[str, object]) -> None:
        write(type="assistant", message={"model": "scripted-1", "content": [block]})

    def _run(self, command: str) -> None:
        self._calls += 1
        call, given = f"call-{self._calls}", {"command": command}
        used = {"type": "tool_use", "id": call, "name": "Bash", "input": given}
        self._write_answer(used)
        asked = {
            "subtype": "can_use_tool",
            "tool_name": "Bash",
            "input": given,
            "tool_use_id": call,
        }
        write(type="control_request", request_id=call, request=asked)
        answer = next(self._answers(call))
        failed = answer.get("behavior") != "allow"
        said = answer.get("message", "no answer") if failed else f"ran {command}"
        result = {
            "type": "tool_result",
            "tool_use_id": call,
            "content": said,
            "is_error": failed,
        }
        write(type="user", message={"content": [result]})
        self._say(said)

    def _ask_form(self, message: str) -> None:
        """Pass on the form of an MCP server, and say what became of it."""
        self._calls += 1
        call, fields = f"form-{self._calls}", {"name": {"type": "string"}}
        asked = {
            "subtype": "elicitation",
            "mcp_server_name": "asking",
            "message": message,
            "mode": "form",
            "requested_schema": {"type": "object", "properties": fields},
        }
        write(type="control_request", request_id=call, request=asked)
        self._say(json.dumps(next(self._answers(call))))

    def _answers(self, call: str) -> Iterator[dict[str, Any]]:
        while True:
            message = self._read()
            match message:
                case {"type": "control_response", "response": {"request_id": id_} as response}:
                    if id_ == call:
                        yield response.get("response", {})
                case _:
                    try:
                        self._take(message)
                    except Interrupted:
                        write(type="control_cancel_request", request_id=call)
                        raise


def write(**message: object) -> None:
    write_line(json.dumps(message))


def write_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def write_errors(number: str) -> None:
    for each in range(int(number)):
        sys.stderr.write(f"error {each} {'.' * 100}\n")


def leave(status: int) -> NoReturn:
    sys.stderr.write("it gives up\n")
    sys.exit(status)


def detach(seconds: str) -> int:
    command = ["sleep", seconds]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL).pid


def main() -> None:
    match os.environ.get("SCRIPTED_CLAUDE"):
        case "hang":
            while sys.stdin.readline():
                pass
        case "refuse":
            leave(1)
        case _:
            claude = Claude()
            while True:
                try:
                    claude.run()
                except Interrupted:
                    continue  # between two turns there is nothing to interrupt


if __name__ == "__main__":
    main()
