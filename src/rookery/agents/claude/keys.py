"""The keys that answer Claude Code's dialogs."""

from __future__ import annotations

import re

from rookery.agents.shared.keys import DialogKeys, choose, one_line, shows_text, towards
from rookery.model.permissions import PLAN, Call, Outcome, Verdict
from rookery.model.screens import Dialog, Press

#: The options that accept a plan without changing the permission mode, and that reject it.
_PLAN_YES = re.compile(r"Yes, (?:manually approve edits|and switch to default\b.*)")
_PLAN_NO = re.compile(r"No|Tell Claude what to change")

#: The option that denies, before and after Tab, which opens a field for the reason.
_REFUSAL = re.compile("No")
_REFUSAL_OPENED = "No, and tell Claude what to do differently"


class ClaudeKeys(DialogKeys):
    def decide(self, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
        if call.tool == PLAN:
            return _answer_plan(dialog, verdict)
        if verdict.outcome is Outcome.DENIED and verdict.reason:
            return _refuse_with_reason(dialog, verdict.reason)
        return super().decide(dialog, call, verdict)

    def reason_note(self, call: Call) -> str:
        # "Exit plan mode?", the dialog when there is no plan, has no field for a reason.
        has_no_field = call.questions or (call.tool == PLAN and not call.input.get("plan"))
        return super().reason_note(call) if has_no_field else ""


def _answer_plan(  # noqa: PLR0911 - one return for each state of the dialog
    dialog: Dialog, verdict: Verdict
) -> Press | None:
    if verdict.outcome is Outcome.ALLOWED:
        matching = [n for n, each in enumerate(dialog.options) if _PLAN_YES.fullmatch(each)]
        return choose(dialog, matching[0]) if len(matching) == 1 else None
    last = len(dialog.options) - 1
    if last < 1:
        return None
    option = dialog.options[last]
    if not verdict.reason:
        return Press(("escape",)) if _PLAN_NO.fullmatch(option) else None
    if option == "No":  # the short dialog has no field for a reason
        return Press(("escape",))
    if shows_text(option, verdict.reason) and dialog.chosen == last:
        return Press(("enter",))
    if not _PLAN_NO.fullmatch(option):
        return None
    if dialog.chosen == last:
        return Press(words=one_line(verdict.reason), is_last=False)
    return Press(towards(dialog, last), is_last=False)


def _refuse_with_reason(dialog: Dialog, reason: str) -> Press | None:
    """Move to the refusal, open it with Tab, type the reason, and press Enter."""
    last = len(dialog.options) - 1
    if last < 1:
        return None
    option = dialog.options[last]
    if dialog.chosen != last:
        is_no = _REFUSAL.match(option) is not None
        return Press(towards(dialog, last), is_last=False) if is_no else None
    if _REFUSAL.fullmatch(option):
        return Press(("tab",), is_last=False)
    if option == _REFUSAL_OPENED:
        return Press(words=one_line(reason), is_last=False)
    if shows_text(option.removeprefix("No, "), reason):
        return Press(("enter",))
    # Dialogs of older versions have no field for a reason.
    return Press(("escape",)) if option.endswith("(esc)") else None


KEYS = ClaudeKeys(
    "1", re.compile("Yes"), "escape", re.compile("No(?:, .*)?"), accepts_free_text=True
)
