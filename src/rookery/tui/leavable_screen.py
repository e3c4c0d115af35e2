"""A dialog that is left once, however often a key to leave it is pressed."""

from __future__ import annotations

from textual.screen import ModalScreen, ScreenResultType


class LeavableScreen(ModalScreen[ScreenResultType]):
    """The base of all dialogs."""

    def leave(self, result: ScreenResultType | None) -> None:
        """Close the dialog with its result; a key that comes later has no effect."""
        if self.is_current:
            self.dismiss(result)
