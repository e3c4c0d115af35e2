"""The keys of the interface: one table for bindings, help, palette and documentation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rookery.presentation.cells import wrapped
from rookery.tui.styled import Span, StyledLine, line, width_of


@dataclass(frozen=True, slots=True)
class KeyAction:
    key: str  #: as Textual names it; several are separated by commas
    shown: str  #: as a person reads it
    action: str  #: the main screen's action; empty for an action of Textual's own
    purpose: str
    section: str


_MOVE, _ANSWER, _SESSION, _LOOK, _REST = (
    "Move and look",
    "Answer what a session asks",
    "Sessions",
    "The list",
    "The rest",
)

KEYS: tuple[KeyAction, ...] = (
    KeyAction("down,j", "j ↓", "move(1)", "next session", _MOVE),
    KeyAction("up,k", "k ↑", "move(-1)", "previous session", _MOVE),
    KeyAction("home", "home", "move(-100000)", "first session", _MOVE),
    KeyAction("end", "end", "move(100000)", "last session", _MOVE),
    KeyAction("u", "u", "next_unread", "next session that needs you or has news", _MOVE),
    KeyAction("tab", "tab", "next_preview", "conversation, screen or diff", _MOVE),
    KeyAction("pagedown,J", "pgdn J", "scroll_preview(1)", "scroll the preview down", _MOVE),
    KeyAction("pageup,K", "pgup K", "scroll_preview(-1)", "scroll the preview up", _MOVE),
    KeyAction(
        "enter", "enter", "open", "attach; in a narrow terminal first the details", _MOVE
    ),
    KeyAction("a", "a", "allow", "allow the shown request", _ANSWER),
    KeyAction(
        "A", "A", "allow_for_session", "allow the request for the rest of the session", _ANSWER
    ),
    KeyAction("d", "d", "deny", "deny the request, with a reason if you like", _ANSWER),
    *(
        KeyAction(str(n), "1-9" if n == 1 else "", f"choose({n})", "choose an option", _ANSWER)
        for n in range(1, 10)
    ),
    KeyAction("t", "t", "write_answer", "answer in your own words", _ANSWER),
    KeyAction("o", "o", "show_request", "show the whole request", _ANSWER),
    KeyAction("s", "s", "send", "send a message, to all marked sessions", _SESSION),
    KeyAction("space", "space", "mark", "mark the session, or take the mark back", _SESSION),
    KeyAction("n", "n", "new", "start a session", _SESSION),
    KeyAction("f", "f", "fork", "start a branch of the conversation", _SESSION),
    KeyAction("r", "r", "resume", "continue an ended conversation", _SESSION),
    KeyAction("i", "i", "interrupt", "stop the current turn", _SESSION),
    KeyAction("x", "x", "end", "end the session, after a question", _SESSION),
    KeyAction("w", "w", "why", "show the evidence for the state", _SESSION),
    KeyAction("c", "c", "copy", "copy the last answer or a block of code", _SESSION),
    KeyAction("m", "m", "mute", "mute or unmute notifications", _SESSION),
    KeyAction("h", "h", "hide", "hide the session, or show it again", _SESSION),
    KeyAction("slash", "/", "search", "search names, folders, prompts and answers", _LOOK),
    KeyAction("v", "v", "next_view", "live, waiting, working, failed or all sessions", _LOOK),
    KeyAction("b", "b", "next_grouping", "group by project, by tag, or not", _LOOK),
    KeyAction("T", "T", "tree", "families as a tree, or a flat list", _LOOK),
    KeyAction("H", "H", "show_hidden", "also list hidden sessions", _LOOK),
    KeyAction("g", "g", "graph", "who waits for whom, and relays", _LOOK),
    KeyAction("escape", "esc", "back", "close, clear the search, drop marks", _REST),
    KeyAction("ctrl+p", "^p", "", "all actions by name", _REST),
    KeyAction("question_mark", "?", "help", "all keys", _REST),
    KeyAction("q", "q", "quit", "leave; agents keep running", _REST),
)

#: Cells of the column of keys in the help.
_KEY_CELLS = 8


def help_lines(width: int) -> list[StyledLine]:
    """Return the page of all keys."""
    return [*_help(width)]


def _help(width: int) -> Iterator[StyledLine]:
    section = ""
    for each in KEYS:
        if not each.shown:
            continue
        if each.section != section:
            if section:
                yield line("")
            section = each.section
            yield line(section, "strong")
        key = f"  {each.shown:<{_KEY_CELLS}}"
        for place, text in enumerate(wrapped(each.purpose, width - len(key))):
            yield (Span(" " * len(key) if place else key, "key"), Span(text))


def hints_within(width: int, *pairs: tuple[str, str]) -> StyledLine:
    """Return keys with short labels for the bottom line, as many as fit."""
    shown: StyledLine = ()
    for pair in dict(pairs).items():
        if width_of(more := (*shown, *hints(pair))) <= width:
            shown = more
    return shown


def hints(*pairs: tuple[str, str]) -> StyledLine:
    """Return keys with short labels for the bottom line."""
    return tuple(
        span
        for key, label in pairs
        for span in (Span(f" {key}", "key"), Span(f" {label} ", "faint"))
    )
