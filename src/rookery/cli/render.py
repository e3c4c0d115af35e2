"""What a person sees: tables that fit, times one understands, no escapes of others."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from rookery.cli.endings import ended_by
from rookery.cli.names import with_names

#: Whatever a terminal would obey: agents' words are shown, never obeyed. Also what would turn
#: a line round, so that it reads otherwise than it is.
_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_TURNING}]")

#: The same in JSON, which spells out only the older control characters by itself.
_LEFT_BY_JSON = re.compile(f"[\x7f-\x9f\u2028\u2029{_TURNING}]")

#: Whatever would begin another line: in a table it would look like a row of its own.
_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")

_COLOURS = {
    "working": "green",
    "idle": "blue",
    "permission": "yellow",
    "question": "yellow",
    "starting": "cyan",
    "closing": "cyan",
    "failed": "red",
}

#: Who waits for a person comes first, then who may want to be told what to do now.
_ORDER = ("permission", "question", "failed turn", "idle", "working", "starting", "closing")

_TITLES = ("NAME", "AGENT", "STATE", "SINCE", "PROJECT", "WHAT")

#: Where a terminal is narrow these are left out, the first one first.
_SPARED = ("PROJECT", "AGENT", "SINCE")

#: Columns where the output is not a terminal.
WIDTH_WITHOUT_TERMINAL = 120

#: Said wherever somebody may wonder why nothing arrives.
HELD = "Words are held: none leave, to anybody, until:  rookery release"


def rules_warning(problem: str) -> str:
    """Say that the rules as they are written are not in force."""
    return f"The rules as they are written are not in force. {problem}"


def out_of_date(trouble: str) -> str:
    """Say that what is shown may be old, because the daemon cannot write."""
    return f"This may be out of date. {trouble}"


#: These may be cut, down to so many cells.
_CUT, _LEAST = ("PROJECT", "WHAT"), 14


def say(text: str = "") -> None:
    click.echo(plain(text))


def say_line(text: str) -> None:
    """Say one line, whatever line breaks are in the text."""
    click.echo(one_line(text))


def complain(text: str) -> None:
    remark(f"rookery: {text}")


def remark(text: str) -> None:
    """Tell the person something that is no part of the answer."""
    click.echo(plain(text), err=True)


def does(state: str) -> str:
    """Say what a session does, after its name."""
    asks = {"permission": "asks for permission", "question": "asks a question"}
    return asks.get(state, f"is {state}")


def plain(text: str) -> str:
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """Return text that a terminal does not obey and that stays on its line."""
    # Nothing printable is a control character or a line break; most texts are that.
    return text if text.isprintable() else plain(_BREAKS.sub(" ", text))


def show_json(value: object) -> None:
    click.echo(safe_json(json.dumps(value, indent=2, ensure_ascii=False)))


def safe_json(text: str) -> str:
    """Spell out in JSON what a terminal would obey; it means the same to a program."""
    return _LEFT_BY_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def first_line(text: str) -> str:
    """Return what a reason says before it shows a screen."""
    line = text.strip().partition("\n")[0]
    # What ends in a colon leads over to the screen.
    return (line.rpartition("; ")[0] or line) if line.endswith(":") else line


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_colourful() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def show_sessions(
    sessions: Sequence[Mapping[str, Any]],
    *,
    kept: Mapping[str, Mapping[str, Any]] | None = None,
    failures: Mapping[str, str] | None = None,
    asked: Mapping[str, str] | None = None,
    as_tree: bool = False,
) -> None:
    """Show a table as wide as the terminal: who waits for a person first.

    As a tree, each stands below the one that started it.
    """
    if not sessions:
        say('No sessions. Start one:  rookery start --agent demo "say: Hello"')
        return
    waiting, failed = kept or {}, failures or {}
    ranked, known = sorted(sessions, key=_rank), {each["id"]: each for each in sessions}
    rows = []
    for depth, each in _tree(ranked) if as_tree else ((0, each) for each in ranked):
        what = _what(each, waiting.get(each["id"]), failed.get(each["id"], ""))
        if note := (asked or {}).get(each["id"]):
            what = f"[{note}] {what}"
        rows.append(_row(each, with_names(what, known), depth))
    titles = dict(zip(_TITLES, _TITLES, strict=True))
    widths = _widths([titles, *rows], width_here())
    lines = [click.style(line_of(titles, widths), bold=is_colourful())]
    for row in rows:
        line, colour = line_of(row, widths), _COLOURS.get(row["STATE"])
        lines.append(click.style(line, fg=colour) if colour and is_colourful() else line)
    click.echo("\n".join(lines))  # at once: each echo flushes


def _rank(session: Mapping[str, Any]) -> tuple[int, str]:
    state = "failed turn" if has_failed_turn(session) else _state(session)
    rank = _ORDER.index(state) if state in _ORDER else len(_ORDER)
    return rank, str(session["created_at"])


def _tree(sessions: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Give each session after the one that started it, and how deep it stands."""
    listed = {each["id"] for each in sessions}
    children: dict[str | None, list[Mapping[str, Any]]] = {}
    for each in sessions:
        above = each["parent"] if each["parent"] in listed else None
        children.setdefault(above, []).append(each)

    def below(parent: str | None, depth: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
        for each in children.get(parent, ()):
            yield depth, each
            yield from below(each["id"], depth + 1)

    return below(None, 0)


def has_failed_turn(session: Mapping[str, Any]) -> bool:
    """Whether it is idle because its last turn failed."""
    return (session["activity"], session["reason"]) == ("idle", "failed")


def _state(session: Mapping[str, Any]) -> str:
    return "ended" if ended_by(session) else str(session["activity"] or session["status"])


def short(path: str) -> str:
    """Write a path as people do: from their home on."""
    home = os.path.expanduser("~")  # noqa: PTH111 - a prefix of text, not a path
    is_below = path == home or path.startswith(f"{home}/")
    return plain("~" + path.removeprefix(home) if is_below else path)


def width_here() -> int:
    """Return the columns of this terminal; or those that ``COLUMNS`` says.

    As ``shutil`` does it, whose compression modules every command would load.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size().columns or WIDTH_WITHOUT_TERMINAL
    except OSError:  # the output is no terminal
        return WIDTH_WITHOUT_TERMINAL


def _row(session: Mapping[str, Any], what: str, depth: int) -> Mapping[str, str]:
    row = {
        "NAME": "  " * depth + session["name"],
        "AGENT": session["agent"],
        "STATE": _state(session),
        "SINCE": ago(session["since"]),
        "PROJECT": short(session["project_path"]),
        "WHAT": " ".join(plain(what).split()),
    }
    return {title: one_line(cell) for title, cell in row.items()}


def _what(session: Mapping[str, Any], kept: Mapping[str, Any] | None, failure: str) -> str:
    """Say what a session is about; or what is the matter with it, or with words for it."""
    reason, state = str(session["reason"]), _state(session)
    if kept and state == "idle" and kept["why"]:
        why = kept["why"].removeprefix("Nothing was typed, because ")
        return f"{count(kept['messages'], 'message')} {_wait(kept)}: {why}"
    if kept and state in {"permission", "question", "working", "starting"}:
        about = reason or str(session["title"])
        return f"{about}; {count(kept['messages'], 'message')} {_wait(kept)}"
    if has_failed_turn(session):
        return f"failed: {failure}".removesuffix(": ")
    if session["status"] == "failed":
        return first_line(reason)
    if ended := ended_by(session):
        return ended
    what = reason or str(session["title"])
    commands = session.get("background") if state == "idle" else 0
    return f"{running_on(commands)} · {what}" if commands else what


def running_on(commands: int) -> str:
    """Say how many commands an agent has left running after its turn."""
    return f"{count(commands, 'command')} still {'runs' if commands == 1 else 'run'}"


def _wait(kept: Mapping[str, Any]) -> str:
    return "waits" if kept["messages"] == 1 else "wait"


def _widths(rows: Sequence[Mapping[str, str]], width: int) -> Mapping[str, int]:
    """Give each column what it needs; where that is too much, some are left out or cut."""
    needs = {title: max(cells(row[title]) for row in rows) for title in _TITLES}
    for spared in _SPARED:
        if _least(needs) <= width:
            break
        del needs[spared]
    whole = sum(need for title, need in needs.items() if title not in _CUT)
    left = width - whole - 2 * (len(needs) - 1)
    if "PROJECT" in needs:
        needs["PROJECT"] = min(needs["PROJECT"], max(left // 2, left - needs["WHAT"]))
        left -= needs["PROJECT"]
    return {**needs, "WHAT": max(min(needs["WHAT"], left), 0)}


def _least(needs: Mapping[str, int]) -> int:
    """Count the cells with which every column still says something."""
    least = (min(need, _LEAST) if title in _CUT else need for title, need in needs.items())
    return sum(least) + 2 * (len(needs) - 1)


def line_of(row: Mapping[str, str], widths: Mapping[str, int]) -> str:
    """Write a row of a table; what is wider than its column is cut."""
    fitting = {title: cut(row[title], width) for title, width in widths.items()}
    padded = (cell + " " * (widths[title] - cells(cell)) for title, cell in fitting.items())
    return "  ".join(padded).rstrip()


def cells(text: str) -> int:
    """Count the cells of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def cut(text: str, width: int) -> str:
    """Make text fit so many cells, and show where something is left out."""
    if cells(text) <= width:
        return text
    if width < 1:
        return ""
    text = text[:width]
    while cells(text) > width - 1:
        text = text[:-1]
    return text + "…"


def folded(text: str, width: int) -> str:
    """Break lines that are too long for so many cells, wherever that is."""
    rows: list[str] = []
    for line in text.split("\n"):
        row, taken = "", 0
        for each in line:
            if row and taken + cells(each) > width:
                rows.append(row)
                row, taken = "", 0
            row, taken = row + each, taken + cells(each)
        rows.append(row)
    return "\n".join(rows)


def cut_left(text: str, width: int) -> str:
    """Make text fit so many cells by its end: of a path that tells most."""
    return cut(text[::-1], width)[::-1]


def local(moment: str) -> str:
    """Say when something was, on the clock of whoever looks."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def until(moment: str) -> str:
    """Say how long it is until something will be."""
    left = datetime.fromisoformat(moment) - datetime.now(UTC)
    minutes, seconds = divmod(max(int(left.total_seconds()), 0), 60)
    return f"{minutes}m{seconds:02}s" if minutes else f"{seconds}s"


def at_deadline(moment: str, on_timeout: str, fallback: str) -> str:
    """Say what happens to a request that is not answered, and when.

    ``fallback`` is what can happen to it: ``dialog``, ``denial`` or ``stop``.
    """
    if fallback == "stop":
        what = "it is let stop"
    elif fallback == "denial" or on_timeout == "deny":
        what = "denies itself"
    else:
        what = "its terminal takes over"
    return f"{what} in {until(moment)}"


def ago(moment: str) -> str:
    """Say how long ago something was."""
    seconds = int((datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"
