"""Decide whether a dialog on a screen is about a given call. Pure.

It is not enough that a dialog contains the text of a call: another call may contain it. Each
agent's reader extracts the subjects of a dialog, and one must equal the whole of the call.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence

from rookery.agents.shared.edited_files import files_in_patch
from rookery.model.folders import absolute_path
from rookery.model.permissions import DIALOG, TELLING, Call, Question
from rookery.model.screens import Dialog, squeeze

#: The tool that loads a skill.
_SKILL = "Skill"

#: The first line of the subject of a dialog about changed files.
_EDITS = "\0edits"

#: The page that submits several answers, and the option that submits them.
_REVIEW, _SUBMIT = "Review your answers", "Submit answers"


def is_about(  # noqa: PLR0911 - a table
    dialog: Dialog, call: Call
) -> bool:
    """Return whether a dialog shows exactly this call: its command, path, tool, question."""
    if call.tool == DIALOG:
        shown = (dialog.text, list(dialog.options), dialog.is_cut)
        stored = (call.input.get("text"), call.input.get("options"))
        return shown == (*stored, call.input.get("is_cut", False))
    if call.questions:
        return is_review(dialog) or asked_in(dialog, call) is not None
    name = next((name for name in TELLING if name in call.input), "")
    value = call.input.get(name)
    if dialog.is_cut:
        return isinstance(value, str) and _shows_part_of(dialog, value)
    if call.tool == _SKILL and isinstance(skill := call.input.get("skill"), str):
        return any(flat(each) == flat(skill_subject(skill)) for each in dialog.subjects)
    if not name:
        return any(_names(each, call.tool) for each in dialog.subjects)
    if not isinstance(value, str) or not value.strip():
        return False
    if "path" in name.lower():
        return any(_is_path(each, value, call.folder) for each in dialog.subjects)
    return any(
        flat(each) == flat(value) or _names_files_of(each, value, call.folder)
        for each in dialog.subjects
    )


def edits_subject(paths: Sequence[str]) -> str:
    """Return the subject of a dialog that names the files which a patch changes.

    It begins with a NUL, which no screen shows, so that no command can be mistaken for it.
    """
    return "\n".join([_EDITS, *paths])


def _names_files_of(subject: str, patch: str, folder: str) -> bool:
    """Return whether the subject of a dialog names just the files of a patch."""
    begin, *shown = subject.split("\n")
    files = files_in_patch(patch)
    return (
        begin == _EDITS
        and bool(files)
        and {flat(absolute_path(each, folder)) for each in shown}
        == {flat(absolute_path(each, folder)) for each in files}
    )


def skill_subject(name: str) -> str:
    """Return the subject of a dialog about a skill.

    It begins with a NUL, which no screen shows, so that no command can be mistaken for it.
    """
    return f"\0skill {name}"


def _shows_part_of(dialog: Dialog, text: str) -> bool:
    """Return whether everything that a cut-off dialog shows is part of a text."""
    return bool(text.strip()) and all(flat(each) in flat(text) for each in dialog.subjects)


def _names(subject: str, tool: str) -> bool:
    """Return whether a line of a dialog names a tool (an MCP tool as ``server - tool(…)``)."""
    expected = squeeze(tool.removeprefix("mcp__"))
    return squeeze(subject) == expected or (
        tool.startswith("mcp__") and squeeze(subject.partition("(")[0]) == expected
    )


def _is_path(subject: str, path: str, folder: str) -> bool:
    """Return whether a line of a dialog names this file, relative to the call's folder."""
    shown = subject.replace("\n", "")
    if shown.startswith("~/"):
        shown = os.path.expanduser(shown)  # noqa: PTH111 - text from a screen
    return bool(shown) and absolute_path(shown, folder) == absolute_path(path, folder)


def asked_in(dialog: Dialog, call: Call) -> Question | None:
    """Return the only question of a call whose text a dialog shows."""
    if dialog.is_cut:
        parts = [each for each in call.questions if _shows_part_of(dialog, each.text)]
        return parts[0] if len(parts) == 1 else None
    shown = {flat(each) for each in dialog.subjects}
    fits = [each for each in call.questions if flat(each.text) in shown]
    return fits[0] if len(fits) == 1 else None


def is_review(dialog: Dialog) -> bool:
    is_titled = any(each.startswith(_REVIEW) for each in dialog.subjects)
    return is_titled and dialog.options[:1] in {(), (_SUBMIT,)}


def flat(text: str) -> str:
    """Remove all whitespace: a terminal breaks lines anywhere."""
    return "".join(text.split())
