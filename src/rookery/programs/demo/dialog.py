"""A choice that takes the place of the input box; a hook may answer it instead. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from rookery.programs.demo.hooks import Decision, HookCall, Ruling
from rookery.programs.demo.input import InputEvent, KeyPress, Typed

_REFUSED = Decision(Ruling.REFUSE)


@dataclass(frozen=True, slots=True)
class DialogOption:
    label: str
    decision: Decision


@dataclass(slots=True)
class ChoiceDialog:
    title: str
    text: str
    prompt: str  #: the line above the options; none if empty
    options: tuple[DialogOption, ...]
    question: str | None = None  #: None: the dialog asks for a permission
    hook: HookCall | None = None
    selected: int = 0
    choice: Decision | None = None

    @property
    def decision(self) -> Decision | None:
        """Return the first answer, from keyboard or hook; None while the dialog is open."""
        if self.choice is None and self.hook is not None and self.hook.decision is not None:
            return self._answer_of(self.hook.decision)
        return self.choice

    def press(self, event: InputEvent) -> None:
        """Move the selection or choose. A stray Enter chooses, as in the real agents."""
        match event:
            case _ if self.choice is not None:
                return
            case KeyPress.ENTER:
                self.choice = self.options[self.selected].decision
            case KeyPress.ESCAPE | KeyPress.CANCEL:
                self.choice = _REFUSED
            case KeyPress.UP:
                self.selected = (self.selected - 1) % len(self.options)
            case KeyPress.DOWN:
                self.selected = (self.selected + 1) % len(self.options)
            case Typed(text):
                digits = (int(character) for character in text if character in "123456789")
                number = next((digit for digit in digits if digit <= len(self.options)), None)
                if number is not None:
                    self.choice = self.options[number - 1].decision

    def _answer_of(self, decision: Decision) -> Decision | None:
        """Return what a hook's decision means here; None if it leaves the dialog open."""
        match decision.ruling:
            case Ruling.ALLOW if self.question is not None:
                label = decision.answers.get(self.question)
                return None if label is None else Decision(Ruling.ALLOW, label)
            case Ruling.ALLOW | Ruling.DENY | Ruling.REFUSE:
                return decision
            case _:
                return None


def trust(folder: str) -> ChoiceDialog:
    options = (DialogOption("Yes", Decision(Ruling.ALLOW)), DialogOption("No", _REFUSED))
    return ChoiceDialog("Do you trust the files in this folder?", folder, "", options)


def permission(tool: str, text: str) -> ChoiceDialog:
    options = (
        DialogOption("Yes", Decision(Ruling.ALLOW)),
        DialogOption("Yes, and don't ask again this session", Decision(Ruling.ALWAYS)),
        DialogOption("No, and tell demo what to do differently (esc)", _REFUSED),
    )
    return ChoiceDialog(tool, text, "Do you want to proceed?", options)


def question(text: str, labels: tuple[str, ...]) -> ChoiceDialog:
    options = tuple(DialogOption(label, Decision(Ruling.ALLOW, label)) for label in labels)
    return ChoiceDialog("Question", text, "", options, question=text)
