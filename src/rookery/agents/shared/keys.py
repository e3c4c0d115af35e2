"""Which keys answer a dialog, where no hook can carry the answer. Pure.

No key is better than a wrong one: a dialog that does not read as expected is left to the
person at the terminal. Only one step is named at a time; the screen is read again after it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rookery.agents.shared import choices
from rookery.agents.shared.subjects import asked_in, flat, is_review
from rookery.model.permissions import DIALOG, PLAN, Call, Outcome, Question, Verdict
from rookery.model.screens import Dialog, Press, squeeze


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
    "demo": _Way("1", re.compile("Yes"), "escape", re.compile(r"No, .*\(esc\)")),
}

#: What OpenCode asks back, and the keys for yes and no: one cancels, the other confirms.
_ASKED_BACK = {
    "Reject permission Tell OpenCode what to do differently": ("escape", "enter"),
    "Always allow": ("escape", "escape"),
}

#: Leaving plan mode without a change of what needs asking, and sending the plan back.
_PLAN_YES = re.compile(r"Yes, (?:manually approve edits|and switch to default\b.*)")
_PLAN_NO = re.compile(r"No|Tell Claude what to change")

#: Claude's refusal, before and after Tab, and where the reason goes.
_REFUSAL = re.compile("No")
_REFUSAL_OPENED = "No, and tell Claude what to do differently"

#: A box that is ticked or not, before an option of which several may be chosen.
_TICK = re.compile(r"\[(?P<tick>[ ✔x])\] +(?P<text>.*)")


def options(lines: Sequence[str]) -> tuple[str, ...]:
    """Read the numbered options of a dialog, from 1 on; of several lists, the last."""
    found = choices.read(lines)
    return found.options if found.is_numbered else ()


def keys_for(  # noqa: PLR0911 - a table
    agent: str, dialog: Dialog, call: Call, verdict: Verdict
) -> Press | None:
    """Name the next step that gives a verdict in a dialog; none if that is not sure."""
    if verdict.outcome is Outcome.ANSWERED:
        return _answer_question(dialog, call, verdict)
    yes_or_no = {Outcome.ALLOWED: 0, Outcome.DENIED: 1}.get(verdict.outcome)
    if yes_or_no is None:
        return None
    if call.questions and call.tool != DIALOG and verdict.outcome is Outcome.DENIED:
        return Press(("escape",)) if dialog.options else None
    if dialog.kind != "permission" or agent not in _WAYS:
        return None
    if call.tool == PLAN:
        return _answer_plan(dialog, verdict)
    if agent == "opencode" and asks_back(dialog):
        return _answer_back(dialog, verdict, yes_or_no)
    if agent == "claude" and verdict.outcome is Outcome.DENIED and verdict.reason:
        return _refuse_with_reason(dialog, verdict.reason)
    return _yes_or_no(agent, dialog)[yes_or_no]


def carries_reason(agent: str, call: Call) -> bool:
    """Return whether a refusal by keys can say why: "Exit plan mode?" has no place for it."""
    if call.tool == PLAN and not call.input.get("plan"):
        return False
    return agent == "claude" and not call.questions


def reason_note(agent: str, call: Call) -> str:
    """Say that the reason of a refusal by keys does not reach the agent; empty if it does."""
    if carries_reason(agent, call):
        return ""
    if agent == "opencode" and not call.questions:
        return (
            "The reason is not delivered, unless a subagent asks: else its dialog takes none."
        )
    return "The reason is not delivered: its dialog takes none."


#: Agents whose dialog takes free text, and which of them also hands in several answers.
_TAKES_WORDS, _TAKES_SEVERAL = frozenset({"claude", "gemini"}), frozenset({"claude", "gemini"})


def takes(agent: str, call: Call, answers: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether answers can be given in the dialog of an agent, by keys."""
    options = {each.text: each.options for each in call.questions}
    named = all({*given} <= {*options.get(text, ())} for text, given in answers.items())
    if call.tool == DIALOG:
        return named
    if len(call.questions) > 1:
        return named and agent in _TAKES_SEVERAL
    return named or agent in _TAKES_WORDS


def asks_back(dialog: Dialog) -> bool:
    """Return whether a dialog only asks to confirm what was chosen in the one before it."""
    return any(dialog.text.startswith(each) for each in _ASKED_BACK)


def _answer_back(dialog: Dialog, verdict: Verdict, yes_or_no: int) -> Press | None:
    asked = next(each for each in _ASKED_BACK if dialog.text.startswith(each))
    written = dialog.text.removeprefix(asked).strip()
    key = Press((_ASKED_BACK[asked][yes_or_no],))
    if not written or dialog.options:
        wants_reason = verdict.outcome is Outcome.DENIED and verdict.reason
        if wants_reason and not dialog.options:
            return Press(words=_one_line(verdict.reason), is_last=False)
        return key
    return key if _is_said(written, verdict.reason) else None


def _yes_or_no(agent: str, dialog: Dialog) -> tuple[Press | None, Press | None]:
    way, offered = _WAYS[agent], dialog.options
    first, last = (offered[0], offered[-1]) if offered else ("", "")
    yes = Press((way.yes,)) if way.reads_yes.fullmatch(first) else None
    # The last option of Codex may be cut off; the line below it says that Esc cancels.
    is_last_hidden = agent == "codex" and dialog.is_cut
    no = Press((way.no,)) if is_last_hidden or way.reads_no.fullmatch(last) else None
    return yes, no


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
    if _is_said(told, verdict.reason) and dialog.chosen == last:
        return Press(("enter",))
    if not _PLAN_NO.fullmatch(told):
        return None
    if dialog.chosen == last:
        return Press(words=_one_line(verdict.reason), is_last=False)
    return Press(_towards(dialog, last), is_last=False)


def _refuse_with_reason(dialog: Dialog, reason: str) -> Press | None:
    """Move to the refusal, open it with Tab, type the reason, and press Enter."""
    last = len(dialog.options) - 1
    if last < 1:
        return None
    told = dialog.options[last]
    if dialog.chosen != last:
        is_no = _REFUSAL.match(told) is not None
        return Press(_towards(dialog, last), is_last=False) if is_no else None
    if _REFUSAL.fullmatch(told):
        return Press(("tab",), is_last=False)
    if told == _REFUSAL_OPENED:
        return Press(words=_one_line(reason), is_last=False)
    if _is_said(told.removeprefix("No, "), reason):
        return Press(("enter",))
    # Older dialogs offer no place for a reason.
    return Press(("escape",)) if told.endswith("(esc)") else None


def _answer_question(  # noqa: PLR0911 - a table
    dialog: Dialog, call: Call, verdict: Verdict
) -> Press | None:
    if is_review(dialog):
        is_ours = all(_is_reviewed(dialog, given) for given in verdict.answers.values())
        hand_in = choose(dialog, 0) if dialog.options else Press(("enter",))
        return hand_in if is_ours else None
    if call.tool == DIALOG:
        return _choose_named(dialog, verdict)
    question = asked_in(dialog, call)
    if question is None or question.text not in verdict.answers:
        return None
    given = verdict.answers[question.text]
    if any(_TICK.fullmatch(each) for each in dialog.options):
        return _tick(dialog, given)
    if len(given) != 1:
        return None
    names = [each.strip() for each in dialog.options]
    if given[0] in question.options and given[0] in names:
        return choose(dialog, names.index(given[0]), is_last=len(call.questions) == 1)
    if given[0] in question.options and any(each.startswith(given[0]) for each in names):
        return None  # it is chosen already and has a mark, as in "Blue ✓": nothing is to type
    return _type_answer(dialog, question, given[0])


def _choose_named(dialog: Dialog, verdict: Verdict) -> Press | None:
    """Choose an option of a dialog of which only the screen tells."""
    given = [each for answers in verdict.answers.values() for each in answers]
    if len(given) != 1 or dialog.options.count(given[0]) != 1:
        return None
    return choose(dialog, dialog.options.index(given[0]))


def _is_reviewed(dialog: Dialog, given: tuple[str, ...]) -> bool:
    return squeeze(", ".join(given)) in squeeze(" ".join(dialog.subjects))


def _tick(dialog: Dialog, wanted: tuple[str, ...]) -> Press | None:
    """Tick what is wanted and untick the rest, one by one; then go on to the next page."""
    ticks = [_TICK.fullmatch(each) for each in dialog.options]
    names = [each["text"] for each in ticks if each]
    if not {*wanted} <= {*names}:
        return None
    for number, each in enumerate(ticks):
        if each and (each["tick"] != " ") != (each["text"] in wanted):
            return choose(dialog, number, is_last=False)
    return Press(("right",), is_last=False)


#: The option that takes free text, as each agent names it.
_FREE = re.compile(r"Type something\.?|Type your own answer|Enter a custom value")


def _type_answer(dialog: Dialog, question: Question, words: str) -> Press | None:
    place = len(question.options)
    if place >= len(dialog.options):
        return None
    told = dialog.options[place]
    if dialog.chosen != place:
        return choose(dialog, place, is_last=False) if _FREE.fullmatch(told) else None
    if _FREE.fullmatch(told):
        return Press(words=_one_line(words), is_last=False)
    return Press(("enter",)) if _is_said(told, words) else None


def choose(dialog: Dialog, number: int, *, is_last: bool = True) -> Press | None:
    """Name the keys that choose an option, counted from 0."""
    if not 0 <= number < len(dialog.options):
        return None
    if dialog.is_numbered and number < 9:  # noqa: PLR2004 - there is no key 10
        return Press((str(number + 1),), is_last=is_last)
    if dialog.chosen is None:
        return None
    if dialog.chosen == number:
        return Press(("enter",), is_last=is_last)
    return Press(_towards(dialog, number), is_last=False)


def _towards(dialog: Dialog, number: int) -> tuple[str, ...]:
    return ("down",) if dialog.chosen is None or dialog.chosen < number else ("up",)


def _is_said(shown: str, words: str) -> bool:
    return flat(shown) == flat(words)


def _one_line(words: str) -> str:
    return " ".join(words.split())
