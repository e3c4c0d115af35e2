"""Which keys answer a dialog, where no hook can carry the answer. Pure.

No key is better than a wrong one: what does not read as expected is left to the person at the
terminal. After each key one looks again; some dialogs ask back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from rookery.model.permissions import TELLING, Call, Outcome, Verdict
from rookery.model.screens import Dialog, squeeze

#: A numbered answer; the one that Enter would give has a mark before it.
_NUMBERED = re.compile(r"[ │┃]*(?:[❯›●] *)?(?P<number>\d+)\. +(?P<text>\S.*?)[ │]*")

#: Characters that are the same by no accident, wherever a line was broken.
_TELLING = 20


@dataclass(frozen=True, slots=True)
class _Way:
    """The keys for yes and no, and how the answers read that they give: the first, the last."""

    yes: str
    reads_yes: re.Pattern[str]
    no: str
    reads_no: re.Pattern[str]


_WAYS: Mapping[str, _Way] = {
    "claude": _Way("1", re.compile("Yes"), "escape", re.compile("No(?:, .*)?")),
    "codex": _Way("y", re.compile(r"Yes, .*\(y\)"), "escape", re.compile(r"No, .*\(esc\)")),
    "gemini": _Way("1", re.compile("Allow once"), "escape", re.compile(r"No, .*\(esc\)")),
    # Enter chooses what is marked, which cannot be seen: at worst that is no, or asks back.
    "opencode": _Way("enter", re.compile("Allow once"), "escape", re.compile("Reject")),
}

#: What OpenCode asks back, and the keys for yes and no: one cancels, the other confirms.
_ASKED_BACK = {
    "Reject permission Tell OpenCode what to do differently": ("escape", "enter"),
    "Always allow": ("escape", "escape"),
}


def options(lines: Iterable[str]) -> tuple[str, ...]:
    """Read the numbered answers of a dialog, from 1 on; of several lists, the last."""
    found: list[str] = []
    for line in lines:
        if each := _NUMBERED.fullmatch(line):
            number = int(each["number"])
            found = found[: number - 1] if number <= len(found) + 1 else []
            found += [each["text"]] if number == len(found) + 1 else []
    return tuple(found)


def keys_for(agent: str, dialog: Dialog, verdict: Verdict) -> tuple[str, ...]:
    """Name the keys that give a verdict in an agent's dialog; none if that is not sure."""
    yes_or_no = {Outcome.ALLOWED: 0, Outcome.DENIED: 1}.get(verdict.outcome)
    if dialog.kind != "permission" or yes_or_no is None or agent not in _WAYS:
        return ()
    if agent == "opencode":
        for asked, keys in _ASKED_BACK.items():
            if dialog.text == asked or (dialog.options and dialog.text.startswith(asked)):
                return (keys[yes_or_no],)
    return _answer(_WAYS[agent], dialog.options)[yes_or_no]


def _answer(way: _Way, choices: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    first, last = (choices[0], choices[-1]) if choices else ("", "")
    yes = (way.yes,) if way.reads_yes.fullmatch(first) else ()
    no = (way.no,) if way.reads_no.fullmatch(last) else ()
    return yes, no


def is_about(dialog: Dialog, call: Call) -> bool:
    """Whether a dialog shows what a call would do; if not, its answer is for another one."""
    name = next((name for name in TELLING if name in call.input), "")
    value = str(call.input.get(name, ""))
    if "path" in name.lower():
        value = PurePath(value).name
    wanted, shown = " ".join(value.split()), " ".join(dialog.text.split())
    is_long = len(squeeze(wanted)) >= _TELLING
    return f" {wanted} " in f" {shown} " or (is_long and squeeze(wanted) in squeeze(shown))
