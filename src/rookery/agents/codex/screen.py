"""Read the screen of Codex."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from rookery.agents.shared import choices
from rookery.agents.shared.dialog_subjects import edits_subject
from rookery.agents.shared.screen_conversation import Speech
from rookery.model.screens import Dialog, Screen, View, bounded

_FOOTER = re.compile(
    r"\b(?:enter|esc)\b.*\b(?:confirm|cancel|close|back|skip|select|continue|quit|insert)\b"
)
#: The line that replaces the rest of a long command.
_HIDDEN = re.compile(r"\[… \d+ lines?\] .*")
#: The beginning of every dialog about a permission.
_PERMISSION = "Would you like"
#: The line of a dialog about a patch, and the beginning of each line that names a file.
_EDITS_PERMISSION, _DESTINATION = "Would you like to make the following edits", "Destination:"
#: The running turn, in the line above the box.
_WORKING = re.compile(r"\S .*\(\d[\dhms ]* • esc to interrupt\)")
#: The last line of a turn.
_TURN_END = re.compile(r"\s*Worked for .{1,40} • \d\d:\d\d\s*")
_OPTION = re.compile(r"\s*(?:› )?\d+\. ")
#: The last line while keys go to the search in earlier prompts; the box stays visible.
_SEARCH = re.compile(r"\s*reverse-i-search:")
#: The last line of a list of completions.
_COMPLETING = re.compile(r"\s*enter/tab insert · esc close\b")
#: A draft that has a list of commands above it, and a command of that list.
_COMMAND = re.compile(r"/\S*")
_OFFER = re.compile(r"(?P<mark>[› ]) (?P<name>/\S+)(?: {2}|$)")
#: The message about an unknown slash command; the text stays in the box.
_UNRECOGNIZED = re.compile(r"\W*(?P<said>Unrecognized command '(?P<name>/\S*)'.*)")

#: How Codex draws a conversation.
SPEECH = Speech(
    mark="• ",
    prompt=re.compile(r"›"),
    below=re.compile(r"  └ Tip: |[ ─] ?Worked for [<\d][^•]* • [\d:]+"),
    tool=re.compile(
        r"• (?:[A-Z][a-z]+ .*\n  [└│] |(?:Edited|Added|Deleted) .*\(\+\d+ -\d+\)"
        r"|Context compacted)"
    ),
    interruption=re.compile(r"■ Conversation interrupted\b"),
)


def read(screen: Screen) -> View:
    rows = len(screen.lines)
    while rows and not screen.lines[rows - 1].strip():
        rows -= 1
    lines, solid = screen.lines[:rows], screen.solid[:rows]
    if lines and _SEARCH.match(lines[-1]):
        return View(obstacle="its history search is open")
    if lines and _FOOTER.search(lines[-1]):
        return View(None, _dialog(lines))
    if _is_completing(lines):
        return View(None, Dialog("question", "It offers to complete a word."))
    box = _draft(lines, solid)
    working = any(_WORKING.match(line) for line in lines[-8:])
    return View(box, None, working, instead=_instead(box or "", lines))


def _is_completing(lines: Sequence[str]) -> bool:
    """Return whether a list of completions is open, whose last line is right above the box."""
    boxes = [row for row, line in enumerate(lines) if line.startswith(("›", "!"))]
    above = [line for line in lines[: boxes[-1]] if line.strip()] if boxes else []
    return bool(above) and _COMPLETING.match(above[-1]) is not None


def why_refused(screen: Screen, words: str) -> str:
    name = words.split(maxsplit=1)[0]
    messages = (_UNRECOGNIZED.match(line) for line in reversed(screen.lines))
    refusal = next((each for each in messages if each and each["name"] == name), None)
    return refusal["said"] if refusal else ""


def _instead(draft: str, lines: Sequence[str]) -> str:
    """Return the listed command that Enter would take, if it differs from the draft."""
    if not _COMMAND.fullmatch(draft):
        return ""
    box = max(row for row, line in enumerate(lines) if line.startswith("›"))
    above = box - 1 if box and not lines[box - 1].strip() else box
    listed = takewhile(bool, map(_OFFER.match, reversed(lines[:above])))
    chosen = [each["name"] for each in listed if each and each["mark"] == "›"]
    return chosen[-1] if chosen and chosen[-1] != draft else ""


def _draft(lines: Sequence[str], solid: Sequence[str]) -> str | None:
    """Read the box, which is above the last lines: those name the model and the folder."""
    row = len(lines) - 1
    while row >= 0 and lines[row].strip():
        row -= 1
    if row < 0 or "·" not in " ".join(lines[row + 1 :]):
        return None
    end = row
    while row >= 0 and lines[row][:1] not in {"›", "!"}:
        row -= 1
    if row < 0:
        return None
    shell = "!" if lines[row].startswith("!") else ""
    first, *rest = solid[row:end]
    return shell + "\n".join([first[1:].strip(), *(line.strip() for line in rest)]).strip()


def _dialog(lines: Sequence[str]) -> Dialog:
    """Read a dialog: the last lines that are not part of the conversation."""
    start = len(lines)
    while start and (
        lines[start - 1][:2].strip() in {"", "↑", "↓"} or _is_option(lines[start - 1])
    ):
        start -= 1
    start += _rows_of_last_turn(lines[start:])
    options = choices.read(lines[start:])
    # A wrapped line of a command may begin like an option: only the last list has options.
    first = start + (options.rows[0] if options.rows else 0)
    text_lines = [
        line.strip()
        for row, line in enumerate(lines[start:], start)
        if row < first or not _is_option(line)
    ]
    text = " ".join(line for line in text_lines if line and not _FOOTER.search(line))
    permission = _PERMISSION in text
    subjects = _subjects(lines[start:], options.rows)
    shown, *hidden = _HIDDEN.split("\n".join(subjects), maxsplit=1)
    dialog = Dialog(
        "permission" if permission else "question",
        text,
        options.options,
        options.chosen,
        is_numbered=False,
        subjects=(shown,) if hidden else subjects,
        is_cut=bool(hidden),
    )
    return bounded(dialog)


def _rows_of_last_turn(rows: Sequence[str]) -> int:
    """Return how many rows that are indented like a dialog belong to the turn before it.

    Rows of a permission are never counted: a command may have lines that look the same.
    """
    for row, line in enumerate(rows):
        if _TURN_END.fullmatch(line):
            return row + 1
        if _PERMISSION in line:
            break
    return 0


def _subjects(inside: Sequence[str], options: Sequence[int]) -> tuple[str, ...]:
    """Return the subject of a dialog: the changed files, or all from ``$`` to the options."""
    above = [line.strip() for line in (inside[: options[0]] if options else inside)]
    if files := _destinations(above):
        return (edits_subject(files),)
    for row, line in enumerate(above):
        if line.startswith("$ "):
            return ("\n".join([line[2:], *above[row + 1 :]]).strip(),)
    return tuple(line for line in above if line)


def _destinations(above: Sequence[str]) -> list[str]:
    """Return the files that a dialog about a patch names, one in each ``Destination:``."""
    files: list[str] = []
    is_about_edits = False
    for line in above:
        if line.startswith(_EDITS_PERMISSION):
            is_about_edits = True
        elif is_about_edits and line.startswith(_DESTINATION):
            files.append(line.removeprefix(_DESTINATION).strip())
        elif files and line:
            files[-1] += line  # a long path continues in the next line
    return files


def _is_option(line: str) -> bool:
    return bool(_OPTION.match(line))
