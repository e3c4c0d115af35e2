"""Print notices about sessions in the foreground: for a user, or as lines of JSON."""

from __future__ import annotations

import json
import sys
import textwrap
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

import click

from rookery.cli.colour import is_colourful
from rookery.cli.names import is_session, with_names_from
from rookery.cli.notices import (
    AsksNotice,
    BackgroundNotice,
    DeniedNotice,
    EndedNotice,
    FollowNotice,
    ForegroundNotice,
    NothingNotice,
    PromptNotice,
    StateNotice,
    ToolNotice,
    TurnNotice,
    WordsNotice,
)
from rookery.cli.render import local, remark, say, say_hint, say_verbatim
from rookery.cli.tables import width_here
from rookery.client import Client
from rookery.client.sessions import SessionInfo
from rookery.model.reason_texts import first_line
from rookery.presentation.cells import cut, folded
from rookery.presentation.denials import denial
from rookery.presentation.states import does, ending
from rookery.presentation.texts import count, plain
from rookery.presentation.tool_lines import tool_line
from rookery.presentation.turns import outcome_note

#: Terminal cells for a tool call, and for the reason of a session's end.
MAX_TOOL_CELLS, MAX_REASON_CELLS = 160, 400


def print_json(notice: FollowNotice) -> None:
    click.echo(json.dumps(notice.json))
    sys.stdout.flush()


#: The notices about something that happened in a session.
_DatedNotice: TypeAlias = (
    PromptNotice | TurnNotice | WordsNotice | ToolNotice | DeniedNotice | AsksNotice
)


@dataclass(slots=True)
class NoticePrinter:
    """Prints notices below a line that names their session."""

    daemon: Client
    speaker: str = ""  #: the session that the last lines are about

    def tell(self, notice: FollowNotice) -> None:
        match notice:
            case NothingNotice():
                remark("No session is in the foreground yet. Show one:  rookery follow NAME")
                remark("A session in the foreground is shown here as it works.")
                remark("Waiting for sessions that an agent brings; stop with Ctrl-C.")
            case ForegroundNotice(name=name, omitted=omitted) if omitted:
                say(f"({count(omitted, 'earlier turn')}:  rookery output {name})\n")
            case StateNotice(name=name, state=state):
                remark(f"{name} {does(state)}; it is shown here while it works.")
            case BackgroundNotice():
                self._tell_left(notice)
            case EndedNotice():
                self._tell_end(notice)
            case _:
                self._tell_of_turn(notice)
        sys.stdout.flush()

    def _tell_of_turn(self, notice: FollowNotice) -> None:
        match notice:
            case PromptNotice():
                self.speaker = ""
                self._head(notice)
                _show_prompt(notice.prompt)
            case TurnNotice():
                self._tell_turn(notice)
            case WordsNotice():
                self._head(notice)
                _show_words(notice.words)
            case ToolNotice():
                self._head(notice)
                say(_line(tool_line(notice.tool, notice.argument), MAX_TOOL_CELLS))
            case DeniedNotice():
                self._head(notice)
                denied = with_names_from(denial(notice.by, notice.rule), self.daemon)
                line = tool_line(notice.tool, notice.argument, problem=denied)
                say(_line(line, MAX_TOOL_CELLS))
            case AsksNotice():
                self._tell_asked(notice)

    def _tell_asked(self, notice: AsksNotice) -> None:
        self._head(notice)
        line = f"{notice.name} waits for you: {first_line(notice.message)}"
        say(_line(line, width_here()))
        for number, option in enumerate(notice.options, 1):
            say(f"  {_line(f'{number}. {option}', width_here() - 2)}")
        say_hint(f"  {notice.answer}")

    def _head(self, notice: _DatedNotice) -> None:
        """Print the session's name unless the last lines were about the same session."""
        if self.speaker != notice.session:
            self.speaker = notice.session
            click.secho(plain(f"{notice.name}  {_when(notice.at)}"), bold=is_colourful())

    def _tell_turn(self, notice: TurnNotice) -> None:
        turn = notice.turn
        if not notice.is_begun:
            self.speaker = ""
        if not (notice.is_begun and notice.is_same):
            self._head(notice)
        if not notice.is_begun and turn.prompt:
            _show_prompt(turn.prompt)
        if notice.is_same:
            if not notice.is_begun:
                say("  (answered together with the previous one)\n")
            return
        note = outcome_note(turn)
        _show_words(turn.answer, end="" if note else "\n")
        if note:
            say(f"  ({note})\n")
        self.speaker = ""

    def _tell_left(self, notice: BackgroundNotice) -> None:
        self.speaker = ""
        name = notice.name
        by = "by an agent" if is_session(notice.by) else "by another command"
        remark(f"{name} was put into the background, {by}. Show again:  rookery follow {name}")

    def _tell_end(self, notice: EndedNotice) -> None:
        self.speaker = ""
        ended = SessionInfo(
            status=notice.status, ended_by=notice.ended_by, reason=notice.reason
        )
        how = _line(with_names_from(ending(ended), self.daemon), MAX_REASON_CELLS)
        say(f"{notice.name} {how}.")


def _show_prompt(prompt: str) -> None:
    click.secho(f"❯ {_line(prompt, width_here() - 2)}", bold=is_colourful())


def _show_words(words: str, *, end: str = "\n") -> None:
    """Print an agent's text indented, so that none of it looks like a line of Rookery's.

    In a terminal it is folded first, because long lines would continue in column 0.
    """
    words = plain(words).expandtabs(4)
    if sys.stdout.isatty():
        words = folded(words, width_here() - 2)
    if words:
        say_verbatim(textwrap.indent(words, "  ") + end)


def _line(text: str, width: int) -> str:
    return cut(" ".join(plain(text).split()), width)


def _when(at: str) -> str:
    """Return a local time; for today without the date."""
    moment = local(at)
    today = datetime.now().astimezone().strftime("%Y-%m-%d ")
    return moment.removeprefix(today)
