"""Answer the dialogs of OpenCode by keys."""

from __future__ import annotations

import re

from rookery.agents.shared.keys import DialogKeys, is_said, one_line
from rookery.model.permissions import Call, Outcome, Verdict
from rookery.model.screens import Dialog, Press

#: What it asks back, and the keys for yes and no: one cancels, the other confirms.
_ASKED_BACK = {
    "Reject permission Tell OpenCode what to do differently": ("escape", "enter"),
    "Always allow": ("escape", "escape"),
}


class OpenCodeKeys(DialogKeys):
    def decide(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        if asks_back(dialog.text):
            return _answer_back(dialog, verdict)
        return super().decide(dialog, call, verdict)

    def reason_note(self, call: Call) -> str:
        if call.questions:
            return super().reason_note(call)
        return (
            "The reason is not delivered, unless a subagent asks: else its dialog takes none."
        )


def asks_back(text: str) -> bool:
    """Return whether a dialog only asks to confirm what was chosen in the one before it."""
    return any(text.startswith(each) for each in _ASKED_BACK)


def _answer_back(dialog: Dialog, verdict: Verdict) -> Press | None:
    asked = next(each for each in _ASKED_BACK if dialog.text.startswith(each))
    yes_or_no = 0 if verdict.outcome is Outcome.ALLOWED else 1
    written = dialog.text.removeprefix(asked).strip()
    key = Press((_ASKED_BACK[asked][yes_or_no],))
    if not written or dialog.options:
        wants_reason = verdict.outcome is Outcome.DENIED and verdict.reason
        if wants_reason and not dialog.options:
            return Press(words=one_line(verdict.reason), is_last=False)
        return key
    return key if is_said(written, verdict.reason) else None


#: Enter chooses what is marked, which cannot be seen: at worst that is no, or asks back.
KEYS = OpenCodeKeys("enter", re.compile("Allow once"), "escape", re.compile("Reject"))
