"""Read the screen of OpenCode."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from rookery.agents.opencode.keys import is_confirmation
from rookery.agents.shared.choices import read as read_options
from rookery.model.screens import Dialog, Screen, View, bounded

#: The lower edge of the box, which is as wide as the box.
_EDGE = re.compile(r" *╹▀{20,}")
#: The left edge of the box, and of sent prompts, results and questions.
_BAR = "┃"
#: The hint in the empty box before the first prompt.
_HINT = re.compile(r"(?:Ask anything|Run a command)… \".*\"")
#: The last line of the box while it is a shell.
_SHELL = re.compile(r"Shell")
#: The running turn, in the line below the box.
_WORKING = re.compile(r"\besc (?:again to )?interrupt\b")
#: The line below each answer, which names the agent and the model.
_ANSWER = re.compile(r" *▣ ")
#: The last line of a dialog, which is drawn in place of the box.
_FOOTER = re.compile(r"\b(?:enter (?:confirm|submit|toggle|select)|esc (?:dismiss|cancel))\b")
#: The dialog before a tool is used; every other dialog is a question.
_PERMISSION = re.compile(r"△ (?:Permission required|Always allow|Reject permission)")
#: The file that a permission is about.
_FILE = re.compile(r"[→←] \w+ (?P<path>\S.*)")
#: A numbered option.
_OPTION = re.compile(r"\d+\. ")
#: The head of a list or a notice that covers the whole screen.
_OVERLAY = re.compile(r"(?:^|  )(?P<title>\S(?: ?\S)*) {6,}esc(?:   |$)")
#: A word that Enter completes instead of sending the draft, if there are completions.
_COMPLETED = re.compile(r"(?:^|\s)@\S*$")
#: Maximum rows of a permission: the rest of a longer command is left out.
_MAX_ROWS = 15
#: The gap between the conversation and the column beside it.
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


def _is_first_prompt(lines: Sequence[str]) -> bool:
    """Return whether there is a prompt and no answer yet, as at the start of a first turn."""
    is_sent = any(line.lstrip().startswith(_BAR) for line in lines)
    return is_sent and not any(_ANSWER.match(line) for line in lines)


def _read_box(box: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return the text in the box, and the list of completions above it."""
    *rows, edge = box
    left, width = edge.index("╹"), edge.count("▀")
    inside: list[str] = []
    choices: list[str] = []
    for line in reversed(rows):
        text = _cut(line[left + 1 :], width).strip()
        if text.endswith(_BAR):  # a list has a right edge, the box has none
            choices.insert(0, text.removesuffix(_BAR).strip())
        elif choices:
            break  # the list covers the conversation
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
    # Enter runs the draft if the draft is first in the list, which may still be loading.
    first = choices[0].split(" ")[0]
    return View(draft, instead="" if draft == first else first)


def _cut(text: str, width: int) -> str:
    """Return the text in the first columns; another column may be beside them."""
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
    """Read the dialog at the bottom, in place of the box."""
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
    options = read_options(block)
    # A wrapped line of a command may begin like an option: only the last list has options.
    first_option = options.rows[0] if options.rows else len(block)
    numbered_lines = (
        (row, _GAP.split(line)[0].strip(" △"))
        for row, line in enumerate(block)
        if not _FOOTER.search(line)
    )
    text_lines = [
        line for row, line in numbered_lines if row < first_option or not _OPTION.match(line)
    ]
    text = " ".join(filter(None, text_lines))
    dialog = Dialog(
        "permission" if is_permission else "question",
        text,
        options.options or _buttons(block),
        # The selected option differs only in its colour, which is not read.
        is_numbered=bool(options.options),
        subjects=_subjects(text_lines),
        is_cut=is_permission and len(block) >= _MAX_ROWS,
        is_confirmation=is_confirmation(text),
    )
    return bounded(dialog)


def _subjects(text_lines: Sequence[str]) -> tuple[str, ...]:
    """Return the subjects of a dialog: from the first ``$`` on, or the file, or each line."""
    for row, line in enumerate(text_lines):
        if line.startswith("$ "):
            return ("\n".join([line[2:], *text_lines[row + 1 :]]).strip(),)
        if found := _FILE.fullmatch(line):
            return (found["path"],)
    return tuple(line for line in text_lines if line)


def _buttons(block: Sequence[str]) -> tuple[str, ...]:
    """Read the options side by side in the last line, before the key hints."""
    last = next(line for line in reversed(block) if _FOOTER.search(line))
    buttons = _GAP.split(last.strip())[0]
    return () if _FOOTER.search(buttons) else tuple(re.split(" {2,}", buttons))
