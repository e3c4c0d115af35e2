"""Print the prompts, tool calls and answers of a session, each of them once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import click

from rookery.cli.colour import is_colourful
from rookery.cli.render import say
from rookery.client.sessions import SessionInfo
from rookery.client.turns import ToolCallInfo, TurnInfo, TurnsInfo, Undelivered
from rookery.model.reason_texts import first_line
from rookery.presentation.activity import tool_text
from rookery.presentation.cells import cut
from rookery.presentation.texts import plain

#: Cells for a prompt, a command, and a path or another argument without spaces.
MAX_PROMPT_CELLS, MAX_COMMAND_CELLS, MAX_PATH_CELLS = 200, 80, 60

#: The text about messages that no turn has taken up, by step.
UNHEARD = {
    "failed": "not delivered",
    "unsure": "it may not have arrived",
    "withdrawn": "withdrawn",
}


def tool_line(tool: str, argument: str, *, is_full: bool = False) -> str:
    """Return a tool call as one line; unless ``is_full``, its argument is shortened."""
    if not is_full:
        is_path = not any(each.isspace() for each in argument.strip())
        argument = cut(argument.strip(), MAX_PATH_CELLS if is_path else MAX_COMMAND_CELLS)
    return f"🔧 {' '.join(plain(tool_text(tool, argument)).split())}"


@dataclass(slots=True)
class ConversationPrinter:
    """Prints what is new in a conversation each time it is given the last turns."""

    is_full: bool = False  #: arguments of tools are not shortened
    _prompted: set[int] = field(default_factory=set)  #: turns whose prompts were printed
    _answered: set[int] = field(default_factory=set)
    _last_call: int = 0

    def show(self, conversation: TurnsInfo) -> None:
        """Print the prompts, calls and answers that were not printed before."""
        calls = defaultdict[int, list[ToolCallInfo]](list)
        for call in conversation.tools:
            calls[call.turn].append(call)
        for turn in conversation.turns:
            if turn.number not in self._prompted:
                self._prompted.add(turn.number)
                show_prompt(turn.prompt)
            self._show_calls(calls[turn.number])
            if turn.ended_at and turn.number not in self._answered:
                self._answered.add(turn.number)
                show_answer(turn, conversation.session)

    def _show_calls(self, calls: Iterable[ToolCallInfo]) -> None:
        for call in calls:
            if call.number > self._last_call:
                self._last_call = call.number
                line = tool_line(call.tool, call.argument, is_full=self.is_full)
                click.secho(line, dim=True) if is_colourful() else click.echo(line)


def show_prompt(prompt: str, note: str = "") -> None:
    line = "❯ " + cut(plain(" ".join(prompt.split())), MAX_PROMPT_CELLS)
    click.secho(line, bold=True, nl=False)
    say(f"  ({note})" if note else "")


def show_answer(turn: TurnInfo, session: SessionInfo) -> None:
    if turn.ended_at:
        say(turn.answer or f"({turn.how})")
        say()
    else:
        show_running(session)


def show_running(session: SessionInfo) -> None:
    """Print that the last turn has no answer yet."""
    if session.is_asking:
        say(f"… (it waits for you: {first_line(session.reason)})")
    else:
        say("… (it is working)")
    say()


def show_rest(turns: TurnsInfo) -> None:
    """Print the messages that no turn took up and, for a failed session, its reason."""
    for each in turns.unheard:
        show_prompt(each.words, UNHEARD.get(each.step, _waits(each)))
    if turns.session.status == "failed":
        say(f"{turns.session.name} failed: {turns.session.reason}")


def _waits(unheard: Undelivered) -> str:
    why = unheard.blocked_by
    return f"it waits: {why.removesuffix('.')}" if why else "it waits"
