"""What can be read from a terminal's screen."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from rookery.model.text_rewriting import essence


@dataclass(frozen=True, slots=True)
class Screen:
    """The rows of a terminal, as text."""

    lines: tuple[str, ...]
    #: The same rows with blanks for faint and for reversed text: hints, and the cursor on them.
    solid: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dialog:
    """A dialog on the screen, which the next key would answer."""

    kind: Literal["permission", "question"]
    text: str
    options: tuple[str, ...] = ()  #: in the order of the screen, if they can be read
    #: The index of the option that Enter would choose; none if the screen does not show it.
    chosen: int | None = None
    is_numbered: bool = True  #: a digit chooses an option; else arrows and Enter do
    #: What it asks about, as the dialog shows it: the command, the path, the tool.
    subjects: tuple[str, ...] = ()
    #: The dialog does not fit the screen: ``subjects`` are the visible parts of the call.
    is_cut: bool = False
    is_confirmation: bool = False  #: it only asks to confirm the choice in the previous dialog


#: Characters of a dialog's text. Real screens show less; this limits what a hostile program can
#: make Rookery store.
MAX_DIALOG_CHARACTERS = 20_000


def bounded(dialog: Dialog) -> Dialog:
    """Return a dialog whose text is short enough to store; ``is_cut`` if it was shortened."""
    if len(dialog.text) <= MAX_DIALOG_CHARACTERS:
        return dialog
    return replace(dialog, text=dialog.text[:MAX_DIALOG_CHARACTERS], is_cut=True)


@dataclass(frozen=True, slots=True)
class Press:
    """One step of answering a dialog: keys to press, or text to type."""

    keys: tuple[str, ...] = ()
    words: str = ""  #: typed instead of keys
    is_last: bool = True  #: it closes the dialog; if not, the dialog is read again


@dataclass(frozen=True, slots=True)
class View:
    """What an agent's screen shows the user."""

    box: str | None = None  #: the text in the input box; ``None`` if no box is visible
    dialog: Dialog | None = None
    is_working: bool = False
    is_cut: bool = False  #: the box begins above the screen: only its end can be read
    obstacle: str = ""  #: why keys would not reach the input box, if not because of a dialog
    #: The completion that Enter would accept instead of the command in the box.
    instead: str = ""
    is_suspended: bool = False  #: the program has released its terminal, as after ctrl-z

    @property
    def has_no_dialog(self) -> bool:
        """Return whether no dialog is open; false if the screen cannot be read."""
        return self.dialog is None and (self.box is not None or self.is_working)

    @property
    def is_resting(self) -> bool:
        """Return whether it shows an input box, and the agent neither works nor asks."""
        return self.box is not None and not self.is_working and self.dialog is None


_STYLE = re.compile(r"\x1b\[([0-9;]*)m")
_OTHER = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-ln-z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9])")

_FAINT, _REVERSED, _WEIGHT_OFF, _REVERSED_OFF = 2, 7, 22, 27


def read_styled(text: str) -> Screen:
    """Read a screen that was captured with its styles."""
    lines, solid = [], []
    hidden: frozenset[int] = frozenset()
    for row in text.split("\n"):
        plain, firm = "", ""
        # Split at the styles: text at even positions, styles at odd ones.
        for number, piece in enumerate(_STYLE.split(_OTHER.sub("", row))):
            if number % 2:
                hidden = _restyled(hidden, piece)
            else:
                plain += piece
                firm += " " * len(piece) if hidden else piece
        lines.append(plain.rstrip())
        solid.append(firm.rstrip())
    return Screen(tuple(lines), tuple(solid))


def _restyled(hidden: frozenset[int], style: str) -> frozenset[int]:
    codes = iter(int(code or 0) for code in style.split(";"))
    for code in codes:
        if code in {38, 48, 58}:  # a colour: its parameters follow
            for _ in range(1 if next(codes, 0) == 5 else 3):  # noqa: PLR2004 - 5: by index
                next(codes, 0)
        elif code == 0:
            hidden = frozenset()
        elif code in {_FAINT, _REVERSED}:
            hidden |= {code}
        elif code == _WEIGHT_OFF:
            hidden -= {_FAINT}
        elif code == _REVERSED_OFF:
            hidden -= {_REVERSED}
    return hidden


def squeeze(text: str) -> str:
    """Return the letters and digits of a text, which stay the same however it is wrapped."""
    return "".join(filter(str.isalnum, essence(text)))


def shape(line: str) -> str:
    """Return the letters of a line, which a redraw does not change; else its symbols."""
    return re.sub(r"[\W\d_]+", "", line) or re.sub(r"[\s\d]+", "", line)


def tail(lines: Iterable[str], count: int = 15) -> str:
    """Return the last lines that are not blank."""
    texts = [line.rstrip() for line in lines if line.strip()]
    return "\n".join(texts[-count:])
