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
from rookery.model.messages import EXPIRY
from rookery.model.reason_texts import first_line, in_one_line
from rookery.presentation.activity import from_folder
from rookery.presentation.cells import cut
from rookery.presentation.denials import call_problem
from rookery.presentation.texts import plain
from rookery.presentation.tool_lines import tool_line
from rookery.presentation.turns import outcome_note

#: Maximum terminal cells of a prompt.
MAX_PROMPT_CELLS = 200

#: The text about messages that no turn has taken up, by step.
UNHEARD = {
    "failed": "not delivered",
    "unsure": "it may not have arrived",
    "withdrawn": "withdrawn",
}

EXPIRED = "expired before it could be sent"


@dataclass(slots=True)
class ConversationPrinter:
    """Prints what is new in a conversation each time it is given the last turns."""

    is_full: bool = False  #: arguments of tools are not shortened
    _prompted: set[int] = field(default_factory=set)  #: turns whose prompts were printed
    _answered: set[int] = field(default_factory=set)
    _last_call: int = 0
    #: calls that were printed as denied or failed
    _marked: set[int] = field(default_factory=set)

    def show(self, conversation: TurnsInfo) -> None:
        """Print the prompts, calls and answers that were not printed before."""
        calls = defaultdict[int, list[ToolCallInfo]](list)
        for call in conversation.tools:
            calls[call.turn].append(call)
        for turn in conversation.turns:
            if turn.number not in self._prompted:
                self._prompted.add(turn.number)
                show_prompt(turn.prompt)
            self._show_calls(calls[turn.number], conversation.session.project_path)
            if turn.ended_at and turn.number not in self._answered:
                self._answered.add(turn.number)
                show_answer(turn, conversation.session)

    def _show_calls(self, calls: Iterable[ToolCallInfo], folder: str) -> None:
        for call in calls:
            note = in_one_line(call_problem(call.denied_by, call.rule, call.failure))
            is_marked_now = bool(note) and call.number not in self._marked
            is_new = call.number > self._last_call
            if not (is_new or is_marked_now):
                continue
            if note:
                self._marked.add(call.number)
            argument = call.argument if self.is_full else from_folder(folder, call.argument)
            line = tool_line(call.tool, argument, problem=note, is_full=self.is_full)
            self._last_call = max(call.number, self._last_call)
            styled = click.style(line, fg="red") if note else click.style(line, dim=True)
            click.echo(styled if is_colourful() else line)


def show_prompt(prompt: str, note: str = "") -> None:
    line = "❯ " + cut(plain(" ".join(prompt.split())), MAX_PROMPT_CELLS)
    click.secho(line, bold=True, nl=False)
    say(f"  ({note})" if note else "")


def show_answer(turn: TurnInfo, session: SessionInfo) -> None:
    if turn.ended_at:
        if turn.answer:
            say(turn.answer)
        if note := outcome_note(turn):
            say(f"({note})")
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
        show_prompt(each.words, _unheard(each))
    if turns.session.status == "failed":
        say(f"{turns.session.name} failed: {turns.session.reason}")


def _unheard(message: Undelivered) -> str:
    """Return why no turn has taken up a message."""
    if message.step == "withdrawn" and message.withdrawn_by == EXPIRY:
        return EXPIRED
    return UNHEARD.get(message.step, _waits(message))


def _waits(unheard: Undelivered) -> str:
    why = unheard.blocked_by
    return f"it waits: {why.removesuffix('.')}" if why else "it waits"
