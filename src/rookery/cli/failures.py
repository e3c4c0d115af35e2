"""Print why a command failed: one sentence on what happened, then what to do."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from rookery.cli.daemon_process import advice_on_stall
from rookery.cli.exit_codes import (
    FAILED,
    NOT_DONE_IN_TIME,
    NOT_RUNNING,
    OF_REFUSALS,
    PERSON_NEEDED,
    USAGE,
)
from rookery.cli.program_name import with_program_name_in_prose
from rookery.cli.render import complain, complain_of, remark, safe_json
from rookery.client import ConnectionLost
from rookery.home import Home
from rookery.model.errors import (
    Answered,
    BadInput,
    NotRunning,
    PersonNeeded,
    RookeryError,
    TimedOut,
    code_of,
)

#: The error code, printed with --json, of a command line that cannot be understood.
USAGE_CODE = "usage"

#: The error code of a file or an output that the operating system refused.
SYSTEM_CODE = "system"


def exit_code_of(error: RookeryError) -> int:
    match error:
        case Answered(code=code):
            return OF_REFUSALS.get(code, FAILED)
        case NotRunning():
            return NOT_RUNNING
        case BadInput():
            return USAGE
        case TimedOut():
            return NOT_DONE_IN_TIME
        case PersonNeeded():
            return PERSON_NEEDED
        case _:
            return FAILED


def explain(error: RookeryError, here: Home) -> str:
    """Return the text that a command prints for an error: what happened and what to do."""
    match error:
        case TimedOut():
            return f"{error} {advice_on_stall(here)}"
        case NotRunning() if not isinstance(error, ConnectionLost):
            return f"{error}  (its home: {here.state})"
        case BadInput() | Answered(code="bad-input"):
            return _sentence(str(error).removeprefix(f"{BadInput.__doc__} "))
        case _:
            return str(error)


#: Words that begin a sentence. Any other first word may be a name, or what the user typed.
_BEGINNINGS = frozenset(
    {
        *(
            "a",
            "an",
            "at",
            "attach",
            "give",
            "it",
            "name",
            "no",
            "nothing",
            "only",
            "run",
            "several",
        ),
        *("the", "there", "this", "unknown", "use", "which"),
    }
)


def _sentence(text: str) -> str:
    """Capitalise the first word of an error, unless it may be a name or the user's text."""
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first in _BEGINNINGS else text


def report_refusal(error: RookeryError, here: Home) -> NoReturn:
    """Print why Rookery did not do what was asked, and end the command."""
    code, status = _code_of(error), exit_code_of(error)
    if isinstance(error, PersonNeeded):
        if not asks_for_json(sys.argv[1:]):
            complain_of(str(error))
            remark(f"  Answer:  {error.details['how']}")
            sys.exit(status)
        fail(code, str(error), status)
    report_error(code, explain(error, here))
    sys.exit(status)


def _code_of(error: RookeryError) -> str:
    return error.code if isinstance(error, Answered) else code_of(type(error))


#: Matches click's error for a text that is not a number, which names click's own types.
_PLAIN_NUMBER = re.compile(r"is not a valid (?:integer|float)(?: range)?(?=\.|$)")


def report_usage(error: click.ClickException) -> None:
    """Print what is wrong with a command line, in one line, and where its help is."""
    message = _PLAIN_NUMBER.sub("is not a number", _message_of(error))
    message += "" if message.endswith((".", "?", "!")) else "."
    report_error(USAGE_CODE, _sentence(message), see=_help_of(error))


def _message_of(error: click.ClickException) -> str:
    """Return click's message; it breaks the lines of one that lists choices."""
    match error:
        case click.MissingParameter(param=click.Parameter(type=click.Choice(choices=choices))):
            return f"Give one of: {', '.join(map(str, choices))}."
        case _:
            return error.format_message().strip()


def _help_of(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{context.command_path} --help" if context else ""


def report_error(code: str, message: str, *, see: str = "") -> None:
    """Print an error; as JSON if the command line asks for JSON."""
    if asks_for_json(sys.argv[1:]):
        _report_json(code, with_program_name_in_prose(message))
        return
    complain(message)
    if see:
        remark(f"See:  {see}")


def _report_json(code: str, message: str) -> None:
    shown = {"error": {"code": code, "message": message}}
    click.echo(safe_json(json.dumps(shown, ensure_ascii=False)), err=True)


def fail(code: str, message: str, status: int) -> NoReturn:
    """Print an error, which may quote an agent, and end the command with this exit code."""
    if asks_for_json(sys.argv[1:]):
        _report_json(code, message)
    else:
        complain_of(message)
    sys.exit(status)


def asks_for_json(words: Sequence[str]) -> bool:
    """Return whether a command line has the option --json before "--"."""
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options
