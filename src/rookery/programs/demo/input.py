"""Keyboard input: decodes the terminal's bytes into events, and holds the draft. Pure."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from enum import StrEnum

#: A lone ESC is the Escape key if no byte follows it within this time.
ESCAPE_TIMEOUT_S = 0.03

#: A paste with more lines or characters than this is shown as a label, as in Claude Code.
MAX_SHOWN_PASTE_LINES = 10
MAX_SHOWN_PASTE_CHARACTERS = 2_000

_PASTE_START = "\x1b[200~"
_PASTE_END = "\x1b[201~"

_TOKEN = re.compile(
    r"(?P<text>[ -~\xa0-\U0010ffff]+)"
    r"|(?P<unfinished>\x1b(?:\[[0-?]*[ -/]*|O)?\Z)"
    r"|(?P<sequence>\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[^\[O\x1b]))"
    r"|(?P<broken>\x1b[\[O][0-?]*[ -/]*)"
    r"|(?P<control>.)",
    re.DOTALL,
)


class KeyPress(StrEnum):
    """A key that acts instead of typing a character."""

    ENTER = "enter"
    NEWLINE = "newline"
    BACKSPACE = "backspace"
    DELETE_INPUT = "ctrl-u"
    CANCEL = "ctrl-c"
    CLOSE = "ctrl-d"
    ESCAPE = "escape"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Typed:
    """Typed characters that came in one read."""

    text: str


@dataclass(frozen=True, slots=True)
class Pasted:
    """A whole bracketed paste."""

    text: str


InputEvent = KeyPress | Typed | Pasted

_KEYS = {
    "\r": KeyPress.ENTER,
    "\n": KeyPress.NEWLINE,
    "\x1b\r": KeyPress.NEWLINE,
    "\x1b\n": KeyPress.NEWLINE,
    "\x7f": KeyPress.BACKSPACE,
    "\b": KeyPress.BACKSPACE,
    "\x15": KeyPress.DELETE_INPUT,
    "\x03": KeyPress.CANCEL,
    "\x04": KeyPress.CLOSE,
    "\x1b": KeyPress.ESCAPE,
    "\x1b[A": KeyPress.UP,
    "\x1bOA": KeyPress.UP,
    "\x1b[B": KeyPress.DOWN,
    "\x1bOB": KeyPress.DOWN,
}


class Decoder:
    """Decodes a terminal's bytes into events that do not depend on how reads split the bytes.

    The one exception: a run of typed characters that is split comes as several ``Typed``.
    """

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        #: The beginning of a sequence or of a paste's end mark; later bytes complete it.
        self._rest = ""
        self._is_pasting = False
        self._paste: list[str] = []

    @property
    def is_undecided(self) -> bool:
        """Whether ``settle`` is due after ``ESCAPE_TIMEOUT_S`` without more bytes."""
        return bool(self._rest) and not self._is_pasting

    def feed(self, chunk: bytes) -> list[InputEvent]:
        text = self._rest + self._utf8.decode(chunk)
        self._rest = ""
        events: list[InputEvent] = []
        position = 0
        while position < len(text):
            read = self._read_paste if self._is_pasting else self._read_keys
            position = read(text, position, events)
        return events

    def settle(self) -> list[InputEvent]:
        """Return what the rest means now that no more bytes followed it."""
        rest, self._rest = self._rest, ""
        return [KeyPress.ESCAPE] if rest == "\x1b" else []

    def _read_keys(self, text: str, position: int, events: list[InputEvent]) -> int:
        """Read up to the end of ``text`` or the start of a paste; return the position."""
        for token in _TOKEN.finditer(text, position):
            if token.lastgroup == "unfinished":
                self._rest = token[0]
            elif token.lastgroup == "text":
                events.append(Typed(token[0]))
            elif token[0] == _PASTE_START:
                self._is_pasting = True
                return token.end()
            elif token[0] in _KEYS:
                events.append(_KEYS[token[0]])
        return len(text)

    def _read_paste(self, text: str, position: int, events: list[InputEvent]) -> int:
        """Read up to the end of ``text`` or of the paste; return the position."""
        end = text.find(_PASTE_END, position)
        if end < 0:
            # The end mark may be split between reads: keep what may be its beginning.
            end = max(position, len(text) - len(_PASTE_END) + 1)
            self._paste.append(text[position:end])
            self._rest = text[end:]
            return len(text)
        pasted = "".join((*self._paste, text[position:end]))
        events.append(Pasted(pasted.replace("\r\n", "\n").replace("\r", "\n")))
        self._is_pasting = False
        self._paste.clear()
        return end + len(_PASTE_END)


@dataclass(frozen=True, slots=True)
class LongPaste:
    """A paste that the draft shows as a label."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """The text in the input box."""

    pieces: tuple[str | LongPaste, ...] = ()
    #: Long pastes since the program started; numbering continues from draft to draft.
    pastes: int = 0

    @property
    def text(self) -> str:
        """The text that is submitted."""
        return "".join(piece if isinstance(piece, str) else piece.text for piece in self.pieces)

    @property
    def shown(self) -> str:
        """The text that the box shows."""
        return "".join(
            piece if isinstance(piece, str) else paste_label(piece.number, piece.text)
            for piece in self.pieces
        )

    def typed(self, text: str) -> Draft:
        match self.pieces:
            case _ if not text:
                return self
            case (*before, str(last)):
                return replace(self, pieces=(*before, last + text))
            case before:
                return replace(self, pieces=(*before, text))

    def pasted(self, text: str) -> Draft:
        if text.count("\n") < MAX_SHOWN_PASTE_LINES and len(text) <= MAX_SHOWN_PASTE_CHARACTERS:
            return self.typed(text)
        number = self.pastes + 1
        return Draft((*self.pieces, LongPaste(number, text)), number)

    def shortened(self) -> Draft:
        """Return the draft without its last character or its last long paste."""
        match self.pieces:
            case (*before, str(last)) if len(last) > 1:
                return replace(self, pieces=(*before, last[:-1]))
            case (*before, _):
                return replace(self, pieces=tuple(before))
            case _:
                return self

    def emptied(self) -> Draft:
        return Draft(pastes=self.pastes)


def paste_label(number: int, text: str) -> str:
    """Return the label of a long text: its number and how many line ends it has."""
    return f"[Pasted text #{number} +{text.count(chr(10))} lines]"
