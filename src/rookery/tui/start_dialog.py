"""The dialog that starts a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.suggester import SuggestFromList
from textual.widgets import Input

from rookery.client.starts import AUTO_RUNTIME
from rookery.model.sessions import ACP
from rookery.tui.command_lines import NewSession
from rookery.tui.dialogs import Composer, composer, text_cells
from rookery.tui.keys import hints_within
from rookery.tui.leavable_screen import LeavableScreen
from rookery.tui.painting import LineBar, TextPane
from rookery.tui.styled import Span, line, paragraph

#: Values of the worktree field: no worktree, or one whose branch is named after the session.
NO_WORKTREE, NAMED_WORKTREE = "", "+"

_LABELS = {
    "agent": "Agent",
    "folder": "Folder",
    "name": "Name",
    "runtime": "Runtime",
    "profile": "Profile",
    "tags": "Tags",
    "worktree": "Worktree",
    "prompt": "Prompt  (optional)",
}


class StartDialog(LeavableScreen[None]):
    """Asks how to start a session; enter goes on to the next field.

    It stays open until the session has started: a failed start must not lose the prompt.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "cancel"),
        # With priority, so that text typed right after the key goes to the next field.
        Binding("tab", "app.focus_next", "next field", priority=True),
        Binding("shift+tab", "app.focus_previous", "previous field", priority=True),
        Binding("down", "app.focus_next", "next field"),
        Binding("up", "app.focus_previous", "previous field"),
    ]

    def __init__(
        self,
        agents: Mapping[str, Sequence[str]],
        *,
        agent: str,
        folders: Sequence[str],
        start: Callable[[NewSession], None],
    ) -> None:
        """Propose an agent; ``agents`` are those that can be started, with their runtimes.

        ``start`` starts the session, and closes the dialog or calls ``tell_failure``.
        """
        super().__init__()
        self._agents, self._agent, self._folders = agents, agent, folders
        self._start, self._is_starting = start, False

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield LineBar(id="dialog-title")
            yield TextPane(id="dialog-about", follows=False)
            for name, line_input in self._fields().items():
                with Horizontal(classes="field"):
                    yield LineBar(id=f"label-{name}")
                    yield line_input
            yield LineBar(id="label-prompt")
            yield composer()
            yield LineBar(id="dialog-keys")

    def _fields(self) -> dict[str, Input]:
        """Return the one-line fields in their order."""
        folder = self._folders[0] if self._folders else "."
        agents = SuggestFromList([*self._agents], case_sensitive=False)
        folders = SuggestFromList(self._folders)
        return {
            "agent": Input(self._agent, ", ".join(self._agents), id="agent", suggester=agents),
            "folder": Input(folder, id="folder", suggester=folders),
            "name": Input(id="new-name", placeholder="optional"),
            "runtime": Input(id="runtime"),
            "profile": Input(id="profile", placeholder="optional; of the configuration"),
            "tags": Input(id="tags", placeholder="optional; separated by spaces"),
            "worktree": Input(
                id="worktree",
                placeholder=f"a branch; {NAMED_WORKTREE}: one named after it",
            ),
        }

    def on_mount(self) -> None:
        for name, label in _LABELS.items():
            self.query_one(f"#label-{name}", LineBar).show((Span(label, "faint"),))
        self.query_one("#dialog-title", LineBar).show(line("New session", "heading"))
        keys = (("enter", "next, then start"), ("esc", "cancel"), ("tab", "field"))
        shown = hints_within(text_cells(self.app.size.width), *keys, ("→", "complete"))
        self.query_one("#dialog-keys", LineBar).show(shown)
        self.query_one("#dialog-about", TextPane).display = False
        self._offer_runtimes()
        self.query_one(Composer).focus()

    @on(Input.Changed, "#agent")
    def _offer_runtimes(self) -> None:
        """Propose the agent's runtimes; an agent that only the configuration names has ACP."""
        offered = self._agents.get(self._value("agent"), (ACP,))
        field = self.query_one("#runtime", Input)
        field.placeholder = f"{AUTO_RUNTIME}; or {', '.join(offered)}"
        field.suggester = SuggestFromList([AUTO_RUNTIME, *offered])

    def on_input_submitted(self) -> None:
        self.focus_next()

    def on_composer_text_written(self, message: Composer.TextWritten) -> None:
        if not self._is_starting:
            self._is_starting = True
            self._start(self._filled_in(message.text))

    def tell_failure(self, text: str) -> None:
        """Show why the session was not started, and let the user try again."""
        self._is_starting = False
        if not self.is_attached:
            return  # the dialog was closed meanwhile
        about = self.query_one("#dialog-about", TextPane)
        width = self.query_one(Vertical).content_size.width
        lines = [*paragraph(text, width, "failed"), line("")]
        about.display, about.styles.height = True, len(lines)
        about.show(lambda width: lines, from_start=True)

    def _filled_in(self, prompt: str) -> NewSession:
        worktree = self._value("worktree")
        # A profile names its agent: the form's own proposal must not override that.
        agent, profile = self._value("agent"), self._value("profile")
        runtime = self._value("runtime")
        return NewSession(
            agent="" if profile and agent == self._agent else agent,
            project=self._value("folder") or ".",
            name=self._value("new-name"),
            prompt=prompt.strip(),
            profile=profile,
            runtime="" if runtime == AUTO_RUNTIME else runtime,
            tags=tuple(self._value("tags").replace(",", " ").split()),
            worktree=None if worktree == NO_WORKTREE else worktree.strip(NAMED_WORKTREE),
        )

    def _value(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()

    def action_cancel(self) -> None:
        self.leave(None)
