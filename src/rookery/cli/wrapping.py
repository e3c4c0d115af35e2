"""Print long texts in lines that fit the terminal, broken between words."""

from __future__ import annotations

import os
import sys

import click

from rookery.cli.tables import width_here
from rookery.presentation.cells import cells, wrapped
from rookery.presentation.texts import plain

#: Separates commands of which the user may type one.
ALTERNATIVE = "  |  "


def say_wrapped(text: str, *, first: str = "", rest: str | None = None) -> None:
    """Print a text of an agent or a user after ``first``; more lines begin with ``rest``.

    Without a terminal its lines stay whole, for programs that read them.
    """
    rest = " " * cells(first) if rest is None else rest
    for number, line in enumerate(_lines(plain(text), width_here() - cells(first))):
        click.echo(f"{rest if number else first}{line}".rstrip())


def between_commands(text: str, room: int) -> str:
    """Break a text between its alternative commands, so that each command stays whole."""
    first, *rest = text.split(ALTERNATIVE)
    indent = " " * (len(first) - len(first.lstrip()))
    lines = [first]
    for each in rest:
        longer = f"{lines[-1]}{ALTERNATIVE}{each}"
        if cells(longer) <= room:
            lines[-1] = longer
        else:
            lines.append(f"{indent}{each}")
    return "\n".join(lines)


def _lines(text: str, room: int) -> list[str]:
    has_width = sys.stdout.isatty() or bool(os.environ.get("COLUMNS"))
    return [*wrapped(text, room)] if has_width else text.split("\n")
