"""Read the screen of OpenCode."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from rookery.agents.opencode.keys import is_confirmation
from rookery.agents.shared.choices import read as read_options
from rookery.model.screens import Dialog, Screen, View, bounded

#: The lower edge of the box: its width is the box's.
_EDGE = re.compile(r" *╹▀{20,}")
#: The left edge of the box, of words that were sent, of results and of questions.
_BAR = "┃"
#: What the empty box says before the first prompt.
_HINT = re.compile(r"(?:Ask anything|Run a command)… \".*\"")
#: The last line of the box, if what is typed is run.
_SHELL = re.compile(r"Shell")
#: The present turn, in the line below the box.
_WORKING = re.compile(r"\besc (?:again to )?interrupt\b")
#: The line below each answer, which names who gives it.
_ANSWER = re.compile(r" *▣ ")
#: The last line of what asks something in the box's place.
_FOOTER = re.compile(r"\b(?:enter (?:confirm|submit|toggle|select)|esc (?:dismiss|cancel))\b")
#: Asked before a tool is used; everything else is a question.
_PERMISSION = re.compile(r"△ (?:Permission required|Always allow|Reject permission)")
#: The file that a permission is about.
_FILE = re.compile(r"[→←] \w+ (?P<path>\S.*)")
#: A numbered option.
_OPTION = re.compile(r"\d+\. ")
#: The head of a list or a notice that is laid over all the rest; above and below it is nothing.
_OVERLAY = re.compile(r"(?:^|  )(?P<title>\S(?: ?\S)*) {6,}esc(?:   |$)")
#: A word that it completes at Enter, instead of sending it, if there is anything to choose.
_COMPLETED = re.compile(r"(?:^|\s)@\S*$")
#: Rows that a permission has at most: the rest of a longer command is left out.
_MAX_ROWS = 15
#: What separates the conversation from the column beside it.
_GAP = re.compile(r" {6,}")


def read(screen: Screen) -> View:
    lines = screen.lines
    if title := _overlay(lines):
        return View(None, Dialog("question", title))
    edges = [row for row, line in enumerate(lines) if _EDGE.match(line)]
    if not edges:
        return View(None, _dialog(lines))
    row = edges[-1]
    top = _top_of_box(lines, row)
    draft, choices = _read_box(lines[top : row + 1])
    if choices:
        return _offered(draft or "", choices)
    working = any(_WORKING.search(line) for line in lines[row + 1 :])
    return View(draft, None, working or _is_first_prompt(lines[:top]))


def _top_of_box(lines: Sequence[str], edge: int) -> int:
    left, top = lines[edge].index("╹"), edge
    while top and lines[top - 1][left : left + 1] == _BAR:
        top -= 1
    return top


def _is_first_prompt(said: Sequence[str]) -> bool:
    """Whether there is a prompt and no answer yet: for a while, that is all it shows."""
    is_sent = any(line.lstrip().startswith(_BAR) for line in said)
    return is_sent and not any(_ANSWER.match(line) for line in said)


def _read_box(box: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return what stands in the box, and what the list above it offers."""
    *rows, edge = box
    left, width = edge.index("╹"), edge.count("▀")
    inside: list[str] = []
    choices: list[str] = []
    for line in reversed(rows):
        text = _cut(line[left + 1 :], width).strip()
        if text.endswith(_BAR):  # a list has a right edge, the box has none
            choices.insert(0, text.removesuffix(_BAR).strip())
        elif choices:
            break  # the list covers what was said
        else:
            inside.insert(0, text)
    if not inside:
        return None, ()
    draft = "\n".join(inside[:-1]).strip()
    if _HINT.fullmatch(draft):
        draft = ""
    return ("!" + draft if _SHELL.fullmatch(inside[-1]) else draft), choices


def _offered(draft: str, choices: Sequence[str]) -> View:
    if _COMPLETED.search(draft):
        listed = ", ".join(choices)[:200]
        return View(None, Dialog("question", f"It offers to complete a word: {listed}"))
    # Enter runs the draft if that is first in the list, which may still be loading.
    first = choices[0].split(" ")[0]
    return View(draft, instead="" if draft == first else first)


def _cut(text: str, width: int) -> str:
    """Return what stands in the first columns; a column beside them may follow."""
    for number, character in enumerate(text):
        if unicodedata.combining(character):
            continue
        width -= 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if width < 0:
            return text[:number]
    return text


def _overlay(lines: Sequence[str]) -> str:
    for row, line in enumerate(lines):
        if found := _OVERLAY.search(line):
            left, right = found.start("title"), found.end()
            around = (*lines[max(0, row - 1) : row], *lines[row + 1 : row + 2])
            if not any(each[left:right].strip() for each in around):
                return found["title"]
    return ""


def _dialog(lines: Sequence[str]) -> Dialog | None:
    """Read what is asked at the bottom, where the box would be."""
    rows = [row for row, line in enumerate(lines) if line.lstrip().startswith(_BAR)]
    if not rows:
        return None
    first = last = rows[-1]
    while first - 1 in rows:
        first -= 1
    block = [line.lstrip().removeprefix(_BAR) for line in lines[first : last + 1]]
    if not any(_FOOTER.search(line) for line in block):
        return None
    is_permission = any(_PERMISSION.search(line) for line in block)
    found = read_options(block)
    # A wrapped line of a command may begin like an option: only the last list has options.
    first_option = found.rows[0] if found.rows else len(block)
    said = (
        (row, _GAP.split(line)[0].strip(" △"))
        for row, line in enumerate(block)
        if not _FOOTER.search(line)
    )
    asked = [line for row, line in said if row < first_option or not _OPTION.match(line)]
    text = " ".join(filter(None, asked))
    dialog = Dialog(
        "permission" if is_permission else "question",
        text,
        found.options or _buttons(block),
        # Its mark is a colour, which is not read.
        is_numbered=bool(found.options),
        subjects=_subjects(asked),
        is_cut=is_permission and len(block) >= _MAX_ROWS,
        is_confirmation=is_confirmation(text),
    )
    return bounded(dialog)


def _subjects(asked: Sequence[str]) -> tuple[str, ...]:
    """Say what a dialog is about: all from the first ``$`` on, or the file, or each line."""
    for row, line in enumerate(asked):
        if line.startswith("$ "):
            return ("\n".join([line[2:], *asked[row + 1 :]]).strip(),)
        if found := _FILE.fullmatch(line):
            return (found["path"],)
    return tuple(line for line in asked if line)


def _buttons(block: Sequence[str]) -> tuple[str, ...]:
    """Read the options side by side in the last line, before the hints of keys."""
    last = next(line for line in reversed(block) if _FOOTER.search(line))
    named = _GAP.split(last.strip())[0]
    return () if _FOOTER.search(named) else tuple(re.split(" {2,}", named))
