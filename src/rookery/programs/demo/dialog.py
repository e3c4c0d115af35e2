"""A choice put on the screen in the place of the box. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from rookery.programs.demo.hooks import Decision, Ruling
from rookery.programs.demo.input import InputEvent, KeyPress, Pasted, Typed

_REFUSED = Decision(Ruling.REFUSE)


@dataclass(frozen=True, slots=True)
class Option:
    label: str
    decision: Decision


@dataclass(frozen=True, slots=True)
class ChoiceDialog:
    title: str
    text: str
    prompt: str  #: the line above the options; none if empty
    options: tuple[Option, ...]
    question: str | None = None  #: None: what is asked is a permission
    selected: int = 0

    def pressed(self, event: InputEvent) -> ChoiceDialog | Decision:
        """Return what became of it: the choice, or the dialog as it looks now.

        A stray Enter chooses, as it does with real agents.
        """
        match event:
            case KeyPress.ENTER:
                return self.options[self.selected].decision
            case KeyPress.ESCAPE | KeyPress.CANCEL:
                return _REFUSED
            case KeyPress.UP | KeyPress.DOWN:
                step = 1 if event is KeyPress.DOWN else -1
                return replace(self, selected=(self.selected + step) % len(self.options))
            case Typed(text):
                return self._picked(text)
            case KeyPress() | Pasted():
                return self
            case _:
                assert_never(event)

    def heard(self, decision: Decision) -> Decision | None:
        """Return what a hook's decision means here; None if it leaves the dialog standing."""
        match decision.ruling:
            case Ruling.ALLOW if self.question is not None:
                label = decision.answers.get(self.question)
                return None if label is None else Decision(Ruling.ALLOW, label)
            case Ruling.ALLOW | Ruling.DENY | Ruling.REFUSE:
                return decision
            case _:
                return None

    def _picked(self, text: str) -> ChoiceDialog | Decision:
        for character in text:
            if character in "123456789" and int(character) <= len(self.options):
                return self.options[int(character) - 1].decision
        return self


def trust(folder: str) -> ChoiceDialog:
    options = (Option("Yes", Decision(Ruling.ALLOW)), Option("No", _REFUSED))
    return ChoiceDialog("Do you trust the files in this folder?", folder, "", options)


def permission(tool: str, text: str) -> ChoiceDialog:
    options = (
        Option("Yes", Decision(Ruling.ALLOW)),
        Option("Yes, and don't ask again this session", Decision(Ruling.ALWAYS)),
        Option("No, and tell demo what to do differently (esc)", _REFUSED),
    )
    return ChoiceDialog(tool, text, "Do you want to proceed?", options)


def question(text: str, labels: tuple[str, ...]) -> ChoiceDialog:
    options = tuple(Option(label, Decision(Ruling.ALLOW, label)) for label in labels)
    return ChoiceDialog("Question", text, "", options, question=text)
