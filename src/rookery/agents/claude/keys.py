"""Answer the dialogs of Claude Code by keys."""

from __future__ import annotations

import re

from rookery.agents.shared.keys import DialogKeys, choose, is_said, one_line, towards
from rookery.model.permissions import PLAN, Call, Outcome, Verdict
from rookery.model.screens import Dialog, Press

#: Leaving plan mode without a change of what needs asking, and sending the plan back.
_PLAN_YES = re.compile(r"Yes, (?:manually approve edits|and switch to default\b.*)")
_PLAN_NO = re.compile(r"No|Tell Claude what to change")

#: Its refusal, before and after Tab, and where the reason goes.
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
        # "Exit plan mode?", which is asked where there is no plan, takes no reason.
        takes_none = call.questions or (call.tool == PLAN and not call.input.get("plan"))
        return super().reason_note(call) if takes_none else ""


def _answer_plan(  # noqa: PLR0911 - a table
    dialog: Dialog, verdict: Verdict
) -> Press | None:
    if verdict.outcome is Outcome.ALLOWED:
        fits = [n for n, each in enumerate(dialog.options) if _PLAN_YES.fullmatch(each)]
        return choose(dialog, fits[0]) if len(fits) == 1 else None
    last = len(dialog.options) - 1
    if last < 1:
        return None
    told = dialog.options[last]
    if not verdict.reason:
        return Press(("escape",)) if _PLAN_NO.fullmatch(told) else None
    if told == "No":  # the short dialog takes no reason
        return Press(("escape",))
    if is_said(told, verdict.reason) and dialog.chosen == last:
        return Press(("enter",))
    if not _PLAN_NO.fullmatch(told):
        return None
    if dialog.chosen == last:
        return Press(words=one_line(verdict.reason), is_last=False)
    return Press(towards(dialog, last), is_last=False)


def _refuse_with_reason(dialog: Dialog, reason: str) -> Press | None:
    """Move to the refusal, open it with Tab, type the reason, and press Enter."""
    last = len(dialog.options) - 1
    if last < 1:
        return None
    told = dialog.options[last]
    if dialog.chosen != last:
        is_no = _REFUSAL.match(told) is not None
        return Press(towards(dialog, last), is_last=False) if is_no else None
    if _REFUSAL.fullmatch(told):
        return Press(("tab",), is_last=False)
    if told == _REFUSAL_OPENED:
        return Press(words=one_line(reason), is_last=False)
    if is_said(told.removeprefix("No, "), reason):
        return Press(("enter",))
    # Older dialogs offer no place for a reason.
    return Press(("escape",)) if told.endswith("(esc)") else None


KEYS = ClaudeKeys("1", re.compile("Yes"), "escape", re.compile("No(?:, .*)?"), takes_words=True)
