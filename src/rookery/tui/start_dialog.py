"""The dialog that starts a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.suggester import SuggestFromList
from textual.widgets import Input

from rookery.tui.command_lines import NewSession
from rookery.tui.dialogs import Composer, composer
from rookery.tui.keys import hints
from rookery.tui.leavable_screen import LeavableScreen
from rookery.tui.painting import LineBar
from rookery.tui.styled import Span, line

#: What the field of the branch means if it is left empty, or has only this.
NO_WORKTREE, NAMED_WORKTREE = "", "+"


class StartDialog(LeavableScreen[NewSession | None]):
    """Asks for agent, folder, name, worktree and prompt; enter goes on to the next field."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "cancel"),
        # With priority, so that text typed right after the key goes to the next field.
        Binding("tab", "app.focus_next", "next field", priority=True),
        Binding("shift+tab", "app.focus_previous", "previous field", priority=True),
        Binding("down", "app.focus_next", "next field"),
        Binding("up", "app.focus_previous", "previous field"),
    ]

    def __init__(self, agents: Sequence[str], *, agent: str, folders: Sequence[str]) -> None:
        super().__init__()
        self._agents, self._agent, self._folders = agents, agent, folders

    def compose(self) -> ComposeResult:
        folder = self._folders[0] if self._folders else "."
        with Vertical(classes="dialog"):
            yield LineBar(id="dialog-title")
            yield LineBar(id="label-agent")
            suggested_agents = SuggestFromList(self._agents, case_sensitive=False)
            yield Input(self._agent, id="agent", suggester=suggested_agents)
            yield LineBar(id="label-folder")
            yield Input(folder, id="folder", suggester=SuggestFromList(self._folders))
            yield LineBar(id="label-name")
            yield Input(id="new-name")
            yield LineBar(id="label-worktree")
            yield Input(id="worktree")
            yield LineBar(id="label-prompt")
            yield composer()
            yield LineBar(id="dialog-keys")

    def on_mount(self) -> None:
        labels = {
            "agent": f"Agent  ({', '.join(self._agents)})",
            "folder": "Folder",
            "name": "Name  (optional)",
            "worktree": f"Git worktree  (its branch; {NAMED_WORKTREE} for one named after it)",
            "prompt": "Prompt  (optional)",
        }
        for name, label in labels.items():
            self.query_one(f"#label-{name}", LineBar).show((Span(label, "faint"),))
        self.query_one("#dialog-title", LineBar).show(line("New session", "heading"))
        keys = hints(("enter", "next, then start"), ("tab", "field"), ("esc", "cancel"))
        self.query_one("#dialog-keys", LineBar).show(keys)
        self.query_one(Composer).focus()

    def on_input_submitted(self) -> None:
        self.focus_next()

    def on_composer_text_written(self, message: Composer.TextWritten) -> None:
        worktree = self._value("worktree")
        self.leave(
            NewSession(
                agent=self._value("agent"),
                project=self._value("folder") or ".",
                name=self._value("new-name"),
                prompt=message.text.strip(),
                worktree=None if worktree == NO_WORKTREE else worktree.strip(NAMED_WORKTREE),
            )
        )

    def _value(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()

    def action_cancel(self) -> None:
        self.leave(None)
