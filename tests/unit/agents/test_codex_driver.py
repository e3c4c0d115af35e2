"""The driver ``codex`` with a program that speaks the protocol of ``codex app-server``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from rookery.drivers.commands import AgentPrompt, Start
from rookery.drivers.events import Asked, AskingEnded, TextAdded
from tests.support.driven_session import driving

pytestmark = pytest.mark.anyio

#: Asks in its main thread and in a subagent's at the first prompt. It says which reply it gets,
#: and asks again. The second prompt ends the main thread's turn, the third the subagent's.
APP_SERVER = """
import json, sys

def send(**message):
    print(json.dumps(message), flush=True)

def ask(number, thread):
    params = {"threadId": thread, "itemId": f"call-{number}", "command": "ls"}
    send(id=number, method="item/commandExecution/requestApproval", params=params)

def completed(thread):
    turn = {"id": f"turn-of-{thread}", "status": "completed", "items": []}
    send(method="turn/completed", params={"threadId": thread, "turn": turn})

prompts = 0
for line in sys.stdin:
    message = json.loads(line)
    match message:
        case {"method": "thread/start", "id": number}:
            send(id=number, result={"thread": {"id": "main"}})
        case {"method": "turn/steer" | "turn/start", "id": number}:
            send(id=number, result={"turn": {"id": "turn-of-main"}})
            prompts += 1
            if prompts == 1:
                ask(101, "main")
                ask(102, "sub")
            else:
                completed("main" if prompts == 2 else "sub")
        case {"id": 101 | 102 as number, "result": result}:
            item = {"type": "agentMessage", "id": "m", "text": f"{number} {result['decision']}"}
            params = {"threadId": "main", "turnId": "turn-of-main", "item": item}
            send(method="item/completed", params=params)
            ask(103, "sub")
        case {"method": _, "id": number}:
            send(id=number, result={})
"""


@pytest.mark.spec("D2", "G2")
async def test_the_end_of_the_main_turn_withdraws_no_request_of_a_subagent(
    tmp_path: Path,
) -> None:
    start = Start(
        session="it",
        driver="codex",
        argv=(sys.executable, "-I", "-S", "-c", APP_SERVER),
        options={"method": "thread/start", "params": {}},
        environment={"PATH": os.environ["PATH"]},
        folder=str(tmp_path),
    )
    async with driving(start, tmp_path / "events") as driven:
        await driven.prompt("go")
        of_main, of_subagent = [await driven.asked(number=each) for each in (1, 2)]
        await driven.session.prompt(AgentPrompt("it", "2", "and then?"))
        first_ended = await driven.until(AskingEnded)
        driven.answer(of_subagent, True)
        told = await driven.until(TextAdded)
        last_asked = await driven.asked(number=3)
        await driven.session.prompt(AgentPrompt("it", "3", "and then?"))
        await driven.until(AskingEnded, number=3)

    assert [each.subagent for each in driven.of(Asked)] == ["", "sub", "sub"]
    assert (first_ended.request, told.text) == (of_main.request, "102 accept")
    assert driven.of(AskingEnded)[-1].request == last_asked.request
