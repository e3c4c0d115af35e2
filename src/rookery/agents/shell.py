"""Any terminal program: no hooks, no turns of its own, a screen that cannot be read.

Level: observed. Quiet for a while is idle; what it newly printed is its answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rookery.model.errors import HookUnreadable
from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import Call, Stop, Verdict
from rookery.model.screens import Dialog, Screen, View
from rookery.model.sessions import Sender
from rookery.ports import CommandLine, Order, Payload


class Shell:
    name = "shell"
    program = ""
    has_hooks = False
    has_box = False
    tells_start = False
    hook_before_tool = ""
    hook_when_asked = ""
    asks_when_told = False
    doubles_hooks = False
    takes_id = False
    pause = 0.0
    quiet = 1.5
    interrupt = "ctrl-c"
    quit = ""

    def command_line(self, order: Order) -> CommandLine:
        return CommandLine(order.command, {})

    def identify(self, payload: Payload) -> Sender:
        raise HookUnreadable("a shell has no hooks")

    def read_hook(self, payload: Payload, session: SessionId) -> Iterable[Fact]:
        return ()

    def read_screen(self, screen: Screen) -> View:
        return View()

    def read_call(self, payload: Payload) -> Call | None:
        return None

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        return ""

    def read_stop(self, payload: Payload) -> Stop | None:
        return None

    def go_on(self, payload: Payload, reason: str) -> str:
        return ""

    def explain(self, payload: Payload, context: str) -> str:
        return ""

    def keys_for(self, dialog: Dialog, verdict: Verdict) -> tuple[str, ...]:
        return ()

    def why_not(self, words: str) -> str:
        return ""

    def holds(self, box: str, words: str) -> bool:
        return False


def answer(lines: Sequence[str], words: str) -> str:
    """Return what was printed after ``words``, without the prompt that follows.

    ``lines`` begin where the words were typed, or before.
    """
    rows = [line.rstrip() for line in lines]
    typed = words.strip().splitlines()[-1].rstrip()
    for number, row in enumerate(rows):
        if row.endswith(typed):
            prompt = row[: -len(typed)].strip()
            said = rows[number + 1 :]
            if said and prompt and said[-1].strip() == prompt:
                said.pop()
            return "\n".join(said)
    return "\n".join(rows)
