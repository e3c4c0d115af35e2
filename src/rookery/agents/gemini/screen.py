"""Read the screen of Gemini CLI."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rookery.agents.shared.choices import read as read_options
from rookery.agents.shared.screen_conversation import Speech
from rookery.model.screens import Dialog, Screen, View, bounded

#: Separates the conversation from the status; without colours it is the edge of the box, too.
_RULE = re.compile(r"─{20,}")
#: The edges of the box, upper and lower. Sent prompts are drawn between such edges, too.
_EDGES = ((re.compile(r"▄{20,}"), re.compile(r"▀{20,}")), (_RULE, _RULE))
#: The first line of the box: its mark, and the text after it. With ``*`` no permission is
#: asked.
_PROMPT = re.compile(r" (?:🎤 )?(?P<mark>[>*!]|\(r:\))(?: (?P<draft>.*))?")
#: The mark of a search in earlier prompts.
_SEARCH = "(r:)"
#: The hint in the empty box; the first blank is the cursor.
_HINT = re.compile(
    r" {2,3}(?:Type your (?:message or .+|shell command)|Press '\w+' for \w+ mode\.)"
)
#: The running turn, in the line above the box.
_WORKING = re.compile(r"\(esc to cancel, \d[^)]*\)")
#: Prompts that wait until Gemini has loaded or its turn is over, and the lines below them: the
#: prompts, the status and the rule.
_QUEUED = re.compile(r"  Queued \(press ↑ to edit\):")
_BELOW_QUEUED = re.compile(r"\s*| {4}\S.*|.*\? for shortcuts|─{20,}| \S.*")
#: The line above the box when Tab has hidden everything else.
_ALONE = re.compile(r"\(esc to cancel, |press tab twice for more$")
#: The frame around a dialog; frames inside it are further to the right.
_FRAME_TOP, _FRAME_END = re.compile(r" ?╭─"), re.compile(r" ?╰─")
#: The first line in the frame of a tool that runs or has run.
_TOOL_HEAD = re.compile(r" ?│ [✓✕⊷-] +\S")
#: The option that Enter would choose, any option, and the line below them.
_CHOSEN = re.compile(r"[ │]*● +\d+\. ")
_OPTION = re.compile(r"[ │]*(?:● +)?\d+\. ")
_FOOTER = re.compile(r"\b(?:Enter to (?:select|submit)|Esc to (?:close|cancel|exit))\b")
#: A permission to use a tool; every other dialog is a question.
_PERMISSION = re.compile(r"\b(?:Allow once|Do you want to allow)\b")
#: The line that replaces the rest of a long command.
_HIDDEN = re.compile(r"\.\.\. (?:first |last )?\d+ (?:lines? )?hidden \(Ctrl\+O.*\) \.\.\.")
#: The left edges of a line in the inner frame; and the file that a dialog is about.
_INNER = re.compile(r" ?│ │ ?")
_WRITTEN = re.compile(r"^\? \S+ +(?:Writing to )?(?P<path>\S.*?)(?: => .*)?$")
#: A word that Enter completes instead of sending the draft, if there are completions.
_COMPLETED = re.compile(r"@\S*$")
_LOADING = re.compile(r"Loading suggestions")
#: The line below the box with the labels of the last line.
_LABELS = re.compile(r"\(/directory\)|(?:^| )/model$")

#: The message that Gemini restarts itself: keys pressed now would go to its next box.
_RESTARTING = re.compile(r"Gemini CLI is restarting\b")

#: The rows above the box in which the status (with a running turn) and the rule are looked for.
_STATUS_ROWS, _RULE_ROWS = 5, 3
#: Maximum rows below a frame: they show the effect of a key.
_MAX_TOAST_ROWS = 2

#: How Gemini draws a conversation.
SPEECH = Speech(
    mark="✦ ",
    prompt=re.compile(r" [>*!] "),
    below=re.compile(r" {20,}\? for shortcuts|[─▄▀]{20,}"),
    tool=re.compile(r"✦ (?s:.)*?\n  [✓✕⊷]  \S"),
    interruption=re.compile(r"ℹ +Request cancelled\.$"),
)


def read(screen: Screen) -> View:
    lines = screen.lines
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    box_rows = _find_box(lines)
    if box_rows is None:
        return View(None, _dialog(lines))
    above, below = box_rows
    if dialog := _dialog(_without_status(lines[:above])):
        return View(None, dialog)
    draft = _draft(lines[above + 1 : below])
    if draft.startswith(_SEARCH):
        return View(obstacle="its history search is open")
    if _may_list(draft) and (choices := _choices(lines[below + 1 :])):
        return _offered(draft, choices)
    status = lines[max(0, above - _STATUS_ROWS) : above]
    is_working = any(_WORKING.search(line) for line in status) or _has_queue(lines[:above])
    return View(draft, None, is_working)


def _has_queue(over: Sequence[str]) -> bool:
    """Return whether prompts are listed above the box that Gemini will take up by itself."""
    row = _last_row(over, _QUEUED.fullmatch)
    return row is not None and all(_BELOW_QUEUED.fullmatch(line) for line in over[row + 1 :])


def _find_box(lines: Sequence[str]) -> tuple[int, int] | None:
    """Return the rows of the box's edges: no frame and no other box is below them."""
    for below in range(len(lines) - 1, -1, -1):
        if _FRAME_END.match(lines[below]):
            return None
        for top, bottom in _EDGES:
            if bottom.fullmatch(lines[below]):
                edge = _above(lines, below, top)
                return edge or _find_plain_box(lines)
    return _find_plain_box(lines)


def _find_plain_box(lines: Sequence[str]) -> tuple[int, int] | None:
    """Return the blank rows around the box in a terminal without true colour.

    There the box is only a background colour, which the text of a screen does not show. It is
    found between the rule above the status and the labels below.
    """
    labels = _last_row(lines, _LABELS.search)
    rule = _last_row(lines[: labels or 0], _RULE.fullmatch)
    if labels is None or rule is None:
        return None
    above = _next_blank(lines, rule + 1)
    if above > rule + _RULE_ROWS or above + 1 >= labels:
        return None
    if _PROMPT.fullmatch(lines[above + 1]) is None:
        return None
    below = _next_blank(lines, above + 2)
    if not _may_list(_draft(lines[above + 1 : below])):
        below = labels - 1  # a draft may contain blank lines
    return (above, below) if below < labels and not lines[below].strip() else None


def _last_row(lines: Sequence[str], is_wanted: Callable[[str], object]) -> int | None:
    return next((row for row in reversed(range(len(lines))) if is_wanted(lines[row])), None)


def _next_blank(lines: Sequence[str], row: int) -> int:
    while row < len(lines) and lines[row].strip():
        row += 1
    return row


def _above(lines: Sequence[str], below: int, top: re.Pattern[str]) -> tuple[int, int] | None:
    for above in range(below - 1, -1, -1):
        if top.fullmatch(lines[above]):
            is_box = above + 1 < below and _PROMPT.fullmatch(lines[above + 1])
            return (above, below) if is_box and _is_last(lines[:above]) else None
    return None


def _is_last(over: Sequence[str]) -> bool:
    """Return whether a box is the input box, and not a sent prompt on a half-drawn screen."""
    has_status = any(_RULE.fullmatch(line) for line in over[-_RULE_ROWS:])
    return has_status or bool(over and (not over[-1].strip() or _ALONE.search(over[-1])))


def _draft(inside: Sequence[str]) -> str:
    first = _PROMPT.fullmatch(inside[0])
    mark, draft = (first["mark"], first["draft"] or "") if first else ("", "")
    if _HINT.fullmatch(draft):
        draft = ""
    # A shell, or a search in earlier prompts: it accepts no prompt.
    other = mark if mark in {"!", _SEARCH} else ""
    return other + "\n".join([draft.strip(), *(line.strip() for line in inside[1:])]).strip()


def _may_list(draft: str) -> bool:
    """Return whether a draft may have a list of completions below it."""
    return draft.startswith("/") or bool(_COMPLETED.search(draft))


def _choices(below: Sequence[str]) -> Sequence[str]:
    """Read the list under the box, from which Enter would choose."""
    listed: list[str] = []
    for line in below:
        if not line.strip() or _LABELS.search(line):
            break
        listed.append(line.strip())
    return listed


def _offered(draft: str, choices: Sequence[str]) -> View:
    if _COMPLETED.search(draft) and not _LOADING.match(choices[0]):
        listed = ", ".join(choices)[:200]
        return View(None, Dialog("question", f"It offers to complete a word: {listed}"))
    if _LOADING.match(choices[0]):
        return View()
    # Enter runs the draft if the draft is first in the list, which may still be loading.
    first = choices[0].split()[0]
    is_first = draft.rsplit(maxsplit=1)[-1].lstrip("/") == first
    return View(draft, instead="" if is_first else f"/{first}")


def _without_status(lines: Sequence[str]) -> Sequence[str]:
    """Remove the status between the conversation and the box."""
    rows = [row for row, line in enumerate(lines) if _RULE.fullmatch(line)]
    end = rows[-1] if rows and rows[-1] >= len(lines) - _STATUS_ROWS else len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def _dialog(lines: Sequence[str]) -> Dialog | None:
    """Read the dialog in the last frame, unless the conversation continues after it."""
    ends = [row for row, line in enumerate(lines) if _FRAME_END.match(line)]
    if not ends or sum(bool(line.strip()) for line in lines[ends[-1] + 1 :]) > _MAX_TOAST_ROWS:
        return None
    if any(_RESTARTING.search(line) for line in lines[ends[-1] + 1 :]):
        return None
    tops = [row for row in range(ends[-1]) if _FRAME_TOP.match(lines[row])]
    inside = lines[tops[-1] + 1 if tops else 0 : ends[-1]]
    if tops and _TOOL_HEAD.match(inside[0]):
        return None  # what a tool prints may look like a dialog
    if not any(_CHOSEN.match(line) or _FOOTER.search(line) for line in inside):
        return None
    options = read_options(inside)
    # A wrapped line of a command may begin like an option: only the last list has options.
    first = options.rows[0] if options.rows else 0
    is_option = [row >= first and bool(_OPTION.match(line)) for row, line in enumerate(inside)]
    text_lines = (line for row, line in enumerate(inside) if not is_option[row])
    dialog_lines = [line.strip(" │╭╮╰╯─") for line in text_lines]
    text = " ".join(line for line in dialog_lines if line and not _FOOTER.search(line))
    is_permission = any(_PERMISSION.search(line) for line in inside)
    subjects = _subjects(inside, options.rows)
    parts = _HIDDEN.split("\n".join(subjects))
    # Without the top of its frame, the beginning has scrolled away.
    is_cut = is_permission and (len(parts) > 1 or not tops)
    dialog = Dialog(
        "permission" if is_permission else "question",
        text,
        options.options,
        options.chosen,
        subjects=tuple(filter(str.strip, parts)) if is_cut else subjects,
        is_cut=is_cut,
    )
    return bounded(dialog)


def _subjects(inside: Sequence[str], options: Sequence[int]) -> tuple[str, ...]:
    """Return the subject of a dialog: the whole command in the inner frame, or its path."""
    above = list(inside[: options[0]] if options else inside)
    framed = [line for line in above if _INNER.match(line)]
    head = next((line.strip(" │") for line in above if line.strip(" │")), "")
    if head.startswith("? Shell"):
        return ("\n".join(_INNER.sub("", line).rstrip(" │") for line in framed),)
    if found := _WRITTEN.search(head):
        return (found["path"],)
    return tuple(line.strip(" │╭╮╰╯─") for line in above if line.strip(" │╭╮╰╯─"))
