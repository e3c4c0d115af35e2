"""What a person sees: tables that fit, times one understands, no escapes of others."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

#: Whatever a terminal would obey: agents' words are shown, never obeyed.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_COLOURS = {
    "working": "green",
    "idle": "blue",
    "permission": "yellow",
    "question": "yellow",
    "starting": "cyan",
    "closing": "cyan",
    "failed": "red",
}

#: Who waits for a person comes first.
_ORDER = ("permission", "question", "idle", "working", "starting", "closing")


def say(text: str = "") -> None:
    click.echo(plain(text))


def complain(text: str) -> None:
    click.echo(f"rookery: {plain(text)}", err=True)


def plain(text: str) -> str:
    return _CONTROL.sub("", text)


def show_json(value: object) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    # JSON spells out the older control characters by itself.
    click.echo(re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text))


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_colourful() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def show_sessions(sessions: Sequence[Mapping[str, Any]]) -> None:
    """Show a table as wide as the terminal: who waits for a person first."""
    if not sessions:
        say('No sessions. Start one:  rookery start --agent demo "say: Hello"')
        return
    rows = [_row(each) for each in sorted(sessions, key=_rank)]
    width = shutil.get_terminal_size((120, 24)).columns
    titles = ("NAME", "AGENT", "STATE", "SINCE", "PROJECT", "WHAT")
    widths = _widths([titles, *rows], width)
    click.secho(_line(titles, widths), bold=is_colourful())
    for row in rows:
        colour = _COLOURS.get(row[2]) if is_colourful() else None
        click.secho(_line(row, widths), fg=colour)


def _rank(session: Mapping[str, Any]) -> tuple[int, str]:
    state = _state(session)
    rank = _ORDER.index(state) if state in _ORDER else len(_ORDER)
    return rank, str(session["created_at"])


def _state(session: Mapping[str, Any]) -> str:
    return str(session["activity"] or session["status"])


def _row(session: Mapping[str, Any]) -> tuple[str, ...]:
    home = os.path.expanduser("~")  # noqa: PTH111 - a prefix of text, not a path
    path = str(session["project_path"])
    shown = "~" + path.removeprefix(home) if path.startswith(home + "/") else path
    what = session["reason"] or session["title"]
    return (
        session["name"],
        session["agent"],
        _state(session),
        ago(session["since"]),
        plain(shown),
        " ".join(plain(str(what)).split()),
    )


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Give each column what it needs; where that is too much, the last ones give up first."""
    needs = [max(_cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    left = width - 2 * (len(needs) - 1)
    wide = (
        needs[:4]
        if sum(needs[:4]) <= left - 20
        else [min(each, left // 6) for each in needs[:4]]
    )
    rest = max(left - sum(wide), 2)
    path = min(needs[4], rest // 2)
    return [*wide, path, min(needs[5], rest - path)]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cut = (_cut(cell, width) for cell, width in zip(row, widths, strict=True))
    padded = (c + " " * (w - _cells(c)) for c, w in zip(cut, widths, strict=True))
    return "  ".join(padded).rstrip()


def _cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def _cut(text: str, width: int) -> str:
    if _cells(text) <= width:
        return text
    if width < 1:
        return ""
    text = text[:width]
    while _cells(text) > width - 1:
        text = text[:-1]
    return text + "…"


def local(moment: str) -> str:
    """Say when something was, on the clock of whoever looks."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def ago(moment: str) -> str:
    """Say how long ago something was."""
    seconds = int((datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"
