"""The keys that answer OpenCode's dialogs."""

from __future__ import annotations

import re

from rookery.agents.shared.keys import DialogKeys, one_line, shows_text
from rookery.model.permissions import Call, Outcome, Verdict
from rookery.model.screens import Dialog, Press

#: The dialogs that ask to confirm a choice, each with its keys for allowing and denying.
_CONFIRMATIONS = {
    "Reject permission Tell OpenCode what to do differently": ("escape", "enter"),
    "Always allow": ("escape", "escape"),
}


class OpenCodeKeys(DialogKeys):
    def decide(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        if is_confirmation(dialog.text):
            return _answer_confirmation(dialog, verdict)
        return super().decide(dialog, call, verdict)

    def reason_note(self, call: Call) -> str:
        if call.questions:
            return super().reason_note(call)
        return (
            "The agent receives your reason only if a subagent asked: other dialogs have no"
            " field for one."
        )


def is_confirmation(text: str) -> bool:
    """Return whether a dialog only asks to confirm the choice of the dialog before it."""
    return any(text.startswith(each) for each in _CONFIRMATIONS)


def _answer_confirmation(dialog: Dialog, verdict: Verdict) -> Press | None:
    asked = next(each for each in _CONFIRMATIONS if dialog.text.startswith(each))
    yes_or_no = 0 if verdict.outcome is Outcome.ALLOWED else 1
    typed_reason = dialog.text.removeprefix(asked).strip()
    key = Press((_CONFIRMATIONS[asked][yes_or_no],))
    if not typed_reason or dialog.options:
        wants_reason = verdict.outcome is Outcome.DENIED and verdict.reason
        if wants_reason and not dialog.options:
            return Press(words=one_line(verdict.reason), is_last=False)
        return key
    return key if shows_text(typed_reason, verdict.reason) else None


#: Enter chooses the selected option; the screen does not show which one that is. In the worst
#: case it denies, or opens a confirmation.
KEYS = OpenCodeKeys("enter", re.compile("Allow once"), "escape", re.compile("Reject"))
