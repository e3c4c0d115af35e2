"""What a program waits for before it goes on."""

from __future__ import annotations

from dataclasses import dataclass

from rookery.programs.demo.dialog import ChoiceDialog
from rookery.programs.demo.hooks import NO_DECISION, Decision, HookCall
from rookery.programs.demo.input import InputEvent


@dataclass(frozen=True, slots=True)
class Until:
    """A moment of the clock, in seconds; one in the past is no wait at all."""

    moment: float

    def over(self, now: float) -> Decision | None:
        return NO_DECISION if now >= self.moment else None


@dataclass(frozen=True, slots=True)
class Heard:
    """A hook."""

    hearing: HookCall

    def over(self, now: float) -> Decision | None:
        return self.hearing.decision


@dataclass(slots=True)
class Answered:
    """A person, or the hook that may answer instead: the first of the two."""

    dialog: ChoiceDialog
    hearing: HookCall | None
    choice: Decision | None = None

    def press(self, event: InputEvent) -> None:
        if self.choice is not None:
            return
        match self.dialog.pressed(event):
            case Decision() as choice:
                self.choice = choice
            case dialog:
                self.dialog = dialog

    def over(self, now: float) -> Decision | None:
        if (
            self.choice is None
            and self.hearing is not None
            and self.hearing.decision is not None
        ):
            return self.dialog.heard(self.hearing.decision)
        return self.choice


Wait = Until | Heard | Answered

#: No wait at all.
AT_ONCE = Until(0)
