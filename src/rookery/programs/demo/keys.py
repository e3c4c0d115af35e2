"""Turns the bytes of a terminal into keys, typed text and pastes. Pure."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from enum import StrEnum

#: Seconds after which a lone ESC was the Escape key, and not the beginning of a sequence.
ESCAPE_DELAY = 0.03

_PASTE_BEGIN = "\x1b[200~"
_PASTE_END = "\x1b[201~"

_TOKEN = re.compile(
    r"(?P<text>[ -~\xa0-\U0010ffff]+)"
    r"|(?P<sequence>\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[^\[O\x1b]))"
    r"|(?P<broken>\x1b[\[O][0-?]*[ -/]*)"
    r"|(?P<control>.)",
    re.DOTALL,
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?\Z")


class Key(StrEnum):
    """A key that means something else than its character."""

    ENTER = "enter"
    NEWLINE = "newline"
    BACKSPACE = "backspace"
    CLEAR = "ctrl-u"
    CANCEL = "ctrl-c"
    CLOSE = "ctrl-d"
    ESCAPE = "escape"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Typed:
    """Characters that came as keys, in one read."""

    text: str


@dataclass(frozen=True, slots=True)
class Pasted:
    """A whole bracketed paste."""

    text: str


Event = Key | Typed | Pasted

_CONTROLS = {
    "\r": Key.ENTER,
    "\n": Key.NEWLINE,
    "\x7f": Key.BACKSPACE,
    "\b": Key.BACKSPACE,
    "\x15": Key.CLEAR,
    "\x03": Key.CANCEL,
    "\x04": Key.CLOSE,
    "\x1b": Key.ESCAPE,
}
_SEQUENCES = {
    "\x1b\r": Key.NEWLINE,
    "\x1b\n": Key.NEWLINE,
    "\x1b[A": Key.UP,
    "\x1bOA": Key.UP,
    "\x1b[B": Key.DOWN,
    "\x1bOB": Key.DOWN,
}


class Decoder:
    """Reads a terminal's bytes, wherever they are cut.

    However the bytes are split, the events are the same, but that a run of typed
    characters may come as several ``Typed``.
    """

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        #: What may still become something: part of a sequence, or of a paste's end mark.
        self._rest = ""
        self._is_pasting = False
        self._paste: list[str] = []

    @property
    def is_undecided(self) -> bool:
        """Whether time decides: nothing more for ``ESCAPE_DELAY`` means ``settle``."""
        return bool(self._rest) and not self._is_pasting

    def feed(self, chunk: bytes) -> list[Event]:
        text = self._rest + self._utf8.decode(chunk)
        self._rest = ""
        events: list[Event] = []
        position = 0
        while position < len(text):
            read = self._read_paste if self._is_pasting else self._read_keys
            position = read(text, position, events)
        return events

    def settle(self) -> list[Event]:
        """Say what the rest was, now that nothing followed it."""
        rest, self._rest = self._rest, ""
        return [Key.ESCAPE] if rest == "\x1b" else []

    def _read_keys(self, text: str, position: int, events: list[Event]) -> int:
        """Read up to the end of ``text`` or the beginning of a paste."""
        while position < len(text):
            if _UNFINISHED.match(text, position):
                self._rest = text[position:]
                return len(text)
            token = _TOKEN.match(text, position)
            if token is None:  # never: the last alternative takes any character
                break
            position = token.end()
            if token[0] == _PASTE_BEGIN:
                self._is_pasting = True
                break
            events += _event(token)
        return position

    def _read_paste(self, text: str, position: int, events: list[Event]) -> int:
        """Read up to the end of ``text`` or of the paste."""
        end = text.find(_PASTE_END, position)
        if end < 0:
            # The end mark may be cut in two: what could be its beginning is looked at again.
            end = max(position, len(text) - len(_PASTE_END) + 1)
            self._paste.append(text[position:end])
            self._rest = text[end:]
            return len(text)
        pasted = "".join((*self._paste, text[position:end]))
        events.append(Pasted(pasted.replace("\r\n", "\n").replace("\r", "\n")))
        self._is_pasting = False
        self._paste.clear()
        return end + len(_PASTE_END)


def _event(token: re.Match[str]) -> list[Event]:
    match token.lastgroup:
        case "text":
            return [Typed(token[0])]
        case "sequence":
            key = _SEQUENCES.get(token[0])
        case "control":
            key = _CONTROLS.get(token[0])
        case _:
            key = None
    return [key] if key else []
