"""Read the screen of Claude Code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from rookery.agents.shared import choices
from rookery.agents.shared.dialog_subjects import skill_subject
from rookery.model.permissions import PLAN
from rookery.model.screens import Dialog, Screen, View, bounded

_RULE = re.compile(r"[─━]{20,}.*")
#: The upper edge of a dialog.
_EDGE = re.compile(r"[─━▔]{20,}.*")
#: The option that Enter would choose, in a dialog without a footer: an input box is never below
#: the last rule.
_CHOSEN = re.compile(r" {2,}❯ \S")
#: The dashed lines above and below the subject of a dialog.
_DASHES = re.compile(r"╌{20,}.*")
#: A tool with a single argument, as in ``Read(/etc/hosts)``, and a web address.
_ARGUMENT = re.compile(r"\w+\((?P<value>.+)\)")
_NAMED = re.compile(r"url: (?P<value>.+)")
#: The title of a dialog about a skill, whose arguments are not shown.
_SKILL = re.compile(r'Use skill "(?P<name>.+)"\?')
#: Shown in place of a call that is too long.
_WITHHELD = "(value cannot be shown in full"
#: The question whether the plan may be executed.
_PLAN = re.compile(r"Would you like to proceed\?|Exit plan mode\?")
#: The line above the box while Claude Code works.
_SPINNER = re.compile(r"[·✢✳✶✻✽*] \S.*…(?: \(.*)?\s*")
#: The last line of a dialog: a permission, a question, trust, a menu.
_FOOTER = re.compile(r"\b(?:Esc to (?:cancel|exit)|Enter to (?:confirm|select|continue))\b")
_OPTION = re.compile(r"\s*(?:❯\s*)?\d+\.\s")
#: The selected option of a dialog, or of the completions of a draft. It is looked for below the
#: last rule: a dialog may quote a text that looks like rules and an input box.
_SELECTED = re.compile(r"(?:\s+❯ \S|❯ \d+\. )")
_SELECTED_NUMBER = re.compile(r"\s*❯ \d+\. ")
#: The beginning of a draft with completions below its box: a command, a file.
_COMPLETED = ("/", "@")
_COMMAND = re.compile(r"/\S*")
#: A command in the list that opens while a command is typed: its name, and its aliases.
_OFFER = re.compile(r"  (?P<mark>[❯ ]) (?P<name>/\S+)(?: \((?P<others>[^)]*)\))?(?:\s|$)")
#: Overlays that take the keys while the input box stays on the screen, and their names.
_OVERLAYS = (
    (re.compile(r"\s*search prompts:"), "its history search is open"),
    (re.compile(r".*\benter to return · space to reply\b"), "its list of agents is open"),
)

#: Maximum rows below the box: the mode, hints, the user's own status line.
_MAX_ROWS_BELOW_BOX = 6


def read(screen: Screen) -> View:
    rules = [row for row, line in enumerate(screen.lines) if _RULE.fullmatch(line.strip())]
    # Only below the last rule: a draft in the box may contain the words of a footer.
    under = screen.lines[rules[-1] + 1 :] if rules else screen.lines
    last = [line for line in under if line.strip()][-4:]
    if any(_FOOTER.search(line) for line in last):
        return View(None, _dialog(screen.lines))
    if _is_chosen_from(screen, rules):
        return View(None, _dialog(screen.lines))
    if len(rules) < 2:  # noqa: PLR2004 - the box stands between two
        asks = any(_CHOSEN.match(line) for line in last)
        return View(None, _dialog(screen.lines)) if asks else _cut_view(screen, rules)
    above, below = rules[-2:]
    status = [line for line in screen.lines[below + 1 :] if line.strip()]
    if obstacle := _overlay(status):
        return View(obstacle=obstacle)
    working = any("esc to interrupt" in line for line in status) or any(
        _SPINNER.fullmatch(line) for line in screen.lines[max(0, above - 5) : above]
    )
    draft = _draft(screen.solid[above + 1 : below])
    if draft is not None and _COMMAND.fullmatch(draft):
        offers = _offers(screen.lines[:above], status)
        if offers:
            return View(draft, None, working, instead=_instead(draft, offers))
    return View() if len(status) > _MAX_ROWS_BELOW_BOX else View(draft, None, working)


def _is_chosen_from(screen: Screen, rules: Sequence[int]) -> bool:
    """Return whether there are options below the last rule that are not completions."""
    below = screen.lines[rules[-1] + 1 :] if rules else ()
    if any(_SELECTED_NUMBER.match(line) for line in below):
        return True
    draft = _draft(screen.solid[rules[-2] + 1 : rules[-1]]) if len(rules) > 1 else ""
    has_completions = draft is not None and draft.startswith(_COMPLETED)
    return not has_completions and any(_SELECTED.match(line) for line in below)


def _offers(over: Sequence[str], status: Sequence[str]) -> Sequence[re.Match[str]]:
    """Return the commands in the list below the box, or directly above it in a low pane."""
    below = [found for line in status if (found := _OFFER.match(line))]
    if below and _OFFER.match(status[0]):
        return below
    above = list(takewhile(bool, map(_OFFER.match, reversed(over))))
    return [found for found in reversed(above) if found]


def _instead(draft: str, offers: Sequence[re.Match[str]]) -> str:
    """Return the command that Enter would take from the list; empty if it equals the draft."""
    for offer in offers:
        if offer["mark"] == "❯":
            others = (f"/{each.strip()}" for each in (offer["others"] or "").split(","))
            return "" if draft in {offer["name"], *others} else offer["name"]
    return ""


def _cut_view(screen: Screen, rules: Sequence[int]) -> View:
    """Read a box that is higher than the screen, which shows only its lower edge."""
    if not rules or rules[0] < max(len(screen.lines) - _MAX_ROWS_BELOW_BOX, 1):
        return View()
    rows = screen.solid[: rules[0]]
    # Every line of a draft is indented by two blanks, the width of the mark.
    is_box = all(not row.strip() or row.startswith("  ") for row in rows) and rows[0].strip()
    return View("\n".join(map(str.strip, rows)), is_cut=True) if is_box else View()


def _overlay(status: Sequence[str]) -> str:
    """Return which overlay takes the keys instead of the box; empty if none does."""
    names = (name for line in status for sign, name in _OVERLAYS if sign.match(line))
    return next(names, "")


def _draft(inside: Sequence[str]) -> str | None:
    if not inside or inside[0][:1] not in {"❯", "!", "#"}:
        return None
    shell = "!" if inside[0].startswith("!") else ""
    return (
        shell
        + "\n".join([inside[0][1:].strip(), *(line.strip() for line in inside[1:])]).strip()
    )


def _dialog(lines: Sequence[str]) -> Dialog:
    """Read a dialog: the text below the last edge that precedes a question, and the options."""
    # Edges begin in the first column; the agent's own text never does.
    edges = [row for row, line in enumerate(lines) if _EDGE.fullmatch(line)]
    parts = [lines[row + 1 :] for row in reversed(edges)] or [lines]
    asking = [part for part in parts if "?" in " ".join(part)]
    inside = (asking or parts)[0]
    options = choices.read(inside)
    unnumbered = () if options.is_numbered else options.rows
    # A wrapped line of a command may begin like an option: only the last list has options.
    first_option = options.rows[0] if options.rows else 0
    text_lines = [
        line.strip()
        for row, line in enumerate(inside)
        if row not in unnumbered
        and not (row >= first_option and _OPTION.match(line))
        and line.strip(" ╌─━")
    ]
    text = " ".join(line for line in text_lines if not _FOOTER.search(line))
    is_plan = _PLAN.search(text) is not None
    permission = is_plan or "Do you want to" in text
    shown: tuple[str, ...] | None = None
    if permission and not is_plan:
        above = inside[: options.rows[0]] if options.rows else inside
        shown = _shown_part(above, has_head=bool(edges))
    dialog = Dialog(
        "permission" if permission else "question",
        text,
        options.options,
        options.chosen,
        options.is_numbered,
        (PLAN,) if is_plan else _subjects(inside, options.rows) if shown is None else shown,
        is_cut=shown is not None,
    )
    return bounded(dialog)


def _shown_part(above: Sequence[str], *, has_head: bool) -> tuple[str, ...] | None:
    """Return the part of a call that a dialog shows; ``None`` if it shows the whole call."""
    dashes = [row for row, line in enumerate(above) if _DASHES.fullmatch(line)]
    if len(dashes) > 1:
        body = " ".join(line.strip() for line in above[dashes[0] + 1 : dashes[-1]])
        return () if body.startswith(_WITHHELD) else None
    if dashes:  # the upper dashes have scrolled away, and the beginning of the call with them
        return ("\n".join(_unmarked(line) for line in above[: dashes[0]]),)
    return None if has_head else ()


def _subjects(inside: Sequence[str], options: Sequence[int]) -> tuple[str, ...]:
    """Return the subject of a dialog: the whole command between the dashes, or its path."""
    above = list(inside[: options[0]] if options else inside)
    title = next((line.strip() for line in above if line.strip()), "")
    if skill := _SKILL.fullmatch(title):
        return (skill_subject(skill["name"]),)
    dashes = [row for row, line in enumerate(above) if _DASHES.fullmatch(line)]
    if len(dashes) < 2:  # noqa: PLR2004 - one above, one below
        subject_lines = [line.strip() for line in above if line.strip() and line[0] not in " ←"]
        lines = [line.strip() for line in above if line.strip()]
        return (" ".join(subject_lines), *lines) if subject_lines else tuple(lines)
    body = [_unmarked(line) for line in above[dashes[0] + 1 : dashes[-1]]]
    if title.endswith("command"):
        return ("\n".join(body),)
    head = [line.strip() for line in above[: dashes[0]] if line.strip()]
    if title.endswith("file") and len(head) > 1:
        return (head[1],)
    first = body[0].strip() if body else ""
    if found := _ARGUMENT.fullmatch(first) or _NAMED.fullmatch(first):
        return (found["value"],)
    return tuple(line.strip() for line in body if line.strip())


def _unmarked(line: str) -> str:
    """Remove the bar before each line of a command with several lines."""
    return line[1:].removeprefix("│").removeprefix(" ").rstrip()
