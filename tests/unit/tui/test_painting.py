"""Panes that scroll lines: where they are, and what their scroll bar shows."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from rookery.tui.painting import TextPane
from rookery.tui.styled import StyledLine, line

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I7")]


class PaneApp(App[None]):
    CSS = "TextPane { overflow-x: hidden; }"

    def compose(self) -> ComposeResult:
        yield TextPane(id="pane")


def many_lines(width: int) -> list[StyledLine]:
    return [line(f"line {number}") for number in range(30)]


async def test_the_scroll_bar_shows_that_the_pane_is_at_its_end() -> None:
    app = PaneApp()
    async with app.run_test(size=(40, 10)) as pilot:
        pane = app.query_one(TextPane)

        pane.show(many_lines)
        await pilot.pause()

        assert pane.scroll_y == 20
        assert pane.vertical_scrollbar.position == 20
