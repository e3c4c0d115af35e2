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
from rookery.client.decoding import DaemonAnswer

#: Control characters and characters that change the direction of text: agents' texts are
#: printed and must not control the terminal.
_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_TURNING}]")

#: The characters of these that the JSON encoder does not escape.
_LEFT_BY_JSON = re.compile(f"[\x7f-\x9f\u2028\u2029{_TURNING}]")

#: Line breaks: in a table, text after one would look like a row.
_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")

#: Printed where a user may wonder why no message arrives.
HELD = "Deliveries are on hold. Resume them with:  rookery release"


def rules_warning(problem: str) -> str:
    """Return a warning that the current rules file is not in force."""
    return f"The rules file is not in force as it is. {problem}"


def out_of_date(trouble: str) -> str:
    """Return a warning that the output may be old because the daemon cannot write."""
    return f"This may be out of date. {trouble}"


def say(text: str = "") -> None:
    """Print a text of Rookery's own; the commands in it are written as the user types them."""
    click.echo(plain(with_program_name(text)))


def say_hint(text: str) -> None:
    """Print commands that the user may type now; the text has nothing of agents in it."""
    click.echo(plain(with_program_name_in_prose(text)))


def say_verbatim(text: str) -> None:
    """Print a text of an agent or a user, without control characters."""
    click.echo(plain(text))


def say_line(text: str) -> None:
    """Print a text as one line, even if it has line breaks."""
    click.echo(one_line(text))


def complain(text: str) -> None:
    click.echo(plain(f"rookery: {with_program_name_in_prose(text)}"), err=True)


def complain_of(text: str) -> None:
    """Print what happened in words that quote an agent, and stay as they are."""
    click.echo(plain(f"rookery: {text}"), err=True)


def remark(text: str) -> None:
    """Print something that is not part of the answer, on standard error."""
    click.echo(plain(with_program_name(text)), err=True)


def does(state: str) -> str:
    """Return the verb phrase for a state, to follow the session's name."""
    asks = {"permission": "asks for permission", "question": "asks a question"}
    return asks.get(state, f"is {state}")


def plain(text: str) -> str:
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """Return text without control characters and line breaks."""
    # Fast path: printable text contains neither.
    return text if text.isprintable() else plain(_BREAKS.sub(" ", text))


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


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def running_on(commands: int) -> str:
    """Return how many commands of an agent still run after its turn, as text."""
    return f"{count(commands, 'command')} still {'runs' if commands == 1 else 'run'}"


def is_colourful() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def short(path: str) -> str:
    """Abbreviate the user's home in a path to a tilde."""
    home = os.path.expanduser("~")  # noqa: PTH111 - a prefix of text, not a path
    is_below = path == home or path.startswith(f"{home}/")
    return plain("~" + path.removeprefix(home) if is_below else path)


def local(moment: str) -> str:
    """Return a time in the local time zone."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def until(moment: str) -> str:
    """Return the time left until a moment."""
    remaining = datetime.fromisoformat(moment) - datetime.now(UTC)
    minutes, seconds = divmod(max(int(remaining.total_seconds()), 0), 60)
    return f"{minutes}m{seconds:02}s" if minutes else f"{seconds}s"


def at_deadline(moment: str, on_timeout: str, fallback: str) -> str:
    """Return what happens to a request that is not answered, and when.

    ``fallback`` is the possible outcome: ``dialog``, ``denial`` or ``stop``.
    """
    if fallback == "stop":
        consequence = "it may stop"
    elif fallback == "denial" or on_timeout == "deny":
        consequence = "it is denied"
    else:
        consequence = "its terminal takes over"
    return f"{consequence} in {until(moment)}"


def ago(moment: str) -> str:
    """Return the time since a moment."""
    seconds = int((datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"
