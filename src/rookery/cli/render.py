"""Print to the terminal: answers, remarks and times, without control characters."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import click

from rookery.cli.program_name import with_program_name, with_program_name_in_prose
from rookery.cli.tables import width_here
from rookery.cli.wrapping import between_commands
from rookery.client.decoding import DaemonAnswer
from rookery.presentation import deadlines
from rookery.presentation.ages import age, time_left
from rookery.presentation.folders import with_tilde
from rookery.presentation.texts import TURNING_CHARACTERS, one_line, plain

#: The control characters that the JSON encoder does not escape.
_LEFT_BY_JSON = re.compile(f"[\x7f-\x9f\u2028\u2029{TURNING_CHARACTERS}]")


def say(text: str = "") -> None:
    """Print a text of Rookery; its commands begin with the program name that the user types."""
    click.echo(plain(with_program_name(text)))


def say_hint(text: str) -> None:
    """Print commands that the user may type now. The text must not quote an agent."""
    shown = plain(with_program_name_in_prose(text))
    has_width = sys.stdout.isatty() or bool(os.environ.get("COLUMNS"))
    click.echo(between_commands(shown, width_here()) if has_width else shown)


def say_verbatim(text: str) -> None:
    """Print a text of an agent or a user, without control characters."""
    click.echo(plain(text))


def say_line(text: str) -> None:
    """Print a text as one line, even if it has line breaks."""
    click.echo(one_line(text))


def complain(text: str) -> None:
    click.echo(plain(f"rookery: {with_program_name_in_prose(text)}"), err=True)


def complain_of(text: str) -> None:
    """Print an error that quotes an agent, without replacing the program name in it."""
    click.echo(plain(f"rookery: {text}"), err=True)


def remark(text: str) -> None:
    """Print something that is not part of the answer, on standard error."""
    click.echo(plain(with_program_name(text)), err=True)


def reply(
    answer: DaemonAnswer | object, shown: str | Callable[[], None], *, as_json: bool
) -> None:
    """Print an answer: its JSON for programs, else a text or what ``shown`` prints."""
    if as_json:
        show_json(answer)
    elif callable(shown):
        shown()
    else:
        say(shown)


def show_json(answer: DaemonAnswer | object) -> None:
    value = answer.json if isinstance(answer, DaemonAnswer) else answer
    click.echo(safe_json(json.dumps(value, indent=2, ensure_ascii=False)))


def safe_json(text: str) -> str:
    """Escape characters that would control the terminal; the JSON value stays the same."""
    return _LEFT_BY_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def short(path: str) -> str:
    """Abbreviate the user's home in a path to a tilde."""
    return plain(with_tilde(path, own_home()))


def own_home() -> str:
    return os.path.expanduser("~")  # noqa: PTH111 - a prefix of text, not a path


def local(moment: str) -> str:
    """Return a time in the local time zone."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def until(moment: str) -> str:
    """Return the time left until a moment."""
    return time_left(moment, datetime.now(UTC))


def at_deadline(moment: str, on_timeout: str, fallback: str) -> str:
    """Return what happens to a request that is not answered, and when.

    ``fallback`` is the possible outcome: ``dialog``, ``denial`` or ``stop``.
    """
    return deadlines.at_deadline(moment, on_timeout, fallback, datetime.now(UTC))


def ago(moment: str) -> str:
    """Return the time since a moment."""
    return age(moment, datetime.now(UTC))
