"""What a program waits for before it goes on."""

from __future__ import annotations

from dataclasses import dataclass

from rookery.programs.demo.dialog import Dialog
from rookery.programs.demo.input import InputEvent
from rookery.programs.demo.verdicts import SILENCE, Hearing, Verdict


@dataclass(frozen=True, slots=True)
class Until:
    """A moment of the clock, in seconds; one in the past is no wait at all."""

    moment: float

    def over(self, now: float) -> Verdict | None:
        return SILENCE if now >= self.moment else None


@dataclass(frozen=True, slots=True)
class Heard:
    """A hook."""

    hearing: Hearing

    def over(self, now: float) -> Verdict | None:
        return self.hearing.verdict


@dataclass(slots=True)
class Answered:
    """A person, or the hook that may answer instead: the first of the two."""

    dialog: Dialog
    hearing: Hearing | None
    choice: Verdict | None = None

    def press(self, event: InputEvent) -> None:
        if self.choice is not None:
            return
        match self.dialog.pressed(event):
            case Verdict() as choice:
                self.choice = choice
            case dialog:
                self.dialog = dialog

    def over(self, now: float) -> Verdict | None:
        if (
            self.choice is None
            and self.hearing is not None
            and self.hearing.verdict is not None
        ):
            return self.dialog.heard(self.hearing.verdict)
        return self.choice


Wait = Until | Heard | Answered

#: No wait at all.
AT_ONCE = Until(0)
