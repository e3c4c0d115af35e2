"""The terminal interface as a Textual application."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from textual.app import App, SystemCommand
from textual.screen import Screen
from textual.theme import Theme

from rookery.tui.board_screen import TuiSetup
from rookery.tui.keys import KEYS
from rookery.tui.main_screen import MainScreen

#: The terminal's own sixteen colours on its own background.
THEME = Theme(
    name="rookery",
    ansi=True,
    primary="ansi_cyan",
    secondary="ansi_blue",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    accent="ansi_cyan",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables={
        "ansi-background": "ansi_black",
        "ansi-foreground": "ansi_white",
        "block-cursor-foreground": "ansi_black",
        "block-cursor-background": "ansi_cyan",
        "input-cursor-background": "ansi_default",
        "input-cursor-foreground": "ansi_default",
        "input-cursor-text-style": "reverse",
        "border-blurred": "ansi_bright_black",
    },
)


class RookeryApp(App[None]):
    """Shows all sessions, and lets the user answer, send, start and attach."""

    CSS_PATH = Path(__file__).with_name("rookery.tcss")
    TITLE = "Rookery"
    ENABLE_COMMAND_PALETTE = True
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-normal")]  # noqa: RUF012 - as in Textual

    def __init__(self, setup: TuiSetup) -> None:
        super().__init__(ansi_color=True)
        self.register_theme(THEME)
        self.theme = THEME.name
        self._setup = setup

    def get_default_screen(self) -> Screen[None]:
        return MainScreen(self._setup)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield the actions of the keys for the command palette."""
        main = self.screen_stack[0]
        for each in KEYS:
            if each.action and each.shown and "(" not in each.action:

                async def run(action: str = each.action) -> None:
                    await main.run_action(action)

                yield SystemCommand(each.purpose.capitalize(), f"key {each.shown}", run)


def run(setup: TuiSetup) -> None:
    """Show the interface until the user leaves it."""
    RookeryApp(setup).run()
