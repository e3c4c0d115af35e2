"""What can be read off a terminal's screen."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from rookery.model.rewriting import essence


@dataclass(frozen=True, slots=True)
class Screen:
    """The rows of a terminal, as text."""

    lines: tuple[str, ...]
    #: The same without what is faint or under the cursor: hints are shown so, drafts never.
    solid: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dialog:
    """Something that the next key would answer."""

    kind: Literal["permission", "question"]
    text: str
    options: tuple[str, ...] = ()  #: what may be chosen, in its order, where that can be read
    #: The option that Enter would give, counted from 0; none if the screen does not tell.
    chosen: int | None = None
    is_numbered: bool = True  #: a digit chooses an option; else arrows and Enter do
    #: What it is about, each as the dialog itself shows it: the command, the path, the tool.
    subjects: tuple[str, ...] = ()
    #: It does not fit its screen: ``subjects`` are the parts of the call that it shows.
    is_cut: bool = False
    asks_back: bool = False  #: it only asks to confirm a choice of the dialog before it


#: Characters of a dialog's text. Screens show less; this bounds what is stored of hostile ones.
MAX_DIALOG_CHARACTERS = 20_000


def bounded(dialog: Dialog) -> Dialog:
    """Return a dialog whose text is not too long to store; one that is shortened is cut."""
    if len(dialog.text) <= MAX_DIALOG_CHARACTERS:
        return dialog
    return replace(dialog, text=dialog.text[:MAX_DIALOG_CHARACTERS], is_cut=True)


@dataclass(frozen=True, slots=True)
class Press:
    """One step towards an answer in a dialog: keys to press, or words to type."""

    keys: tuple[str, ...] = ()
    words: str = ""  #: typed instead of keys
    is_last: bool = True  #: it ends the dialog; else the dialog is read again


@dataclass(frozen=True, slots=True)
class View:
    """What an agent shows its person."""

    box: str | None = None  #: what stands in the input box; ``None`` if no box can be seen
    dialog: Dialog | None = None
    is_working: bool = False
    is_cut: bool = False  #: the box begins above the screen: only the end of it can be read
    obstacle: str = ""  #: why keys would not reach the input box, where that is no dialog
    #: The completion that Enter would take instead of the command in the box.
    instead: str = ""

    @property
    def has_no_dialog(self) -> bool:
        """Whether it shows that nothing is asked: a screen that cannot be read does not."""
        return self.dialog is None and (self.box is not None or self.is_working)

    @property
    def is_resting(self) -> bool:
        """Whether it shows an input box, and neither works nor asks."""
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
        # The pieces between the styles, and the styles between the pieces.
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
        if code in {38, 48, 58}:  # a colour: its own numbers follow
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
    """Keep what every terminal shows alike: letters and digits, unwrapped."""
    return "".join(filter(str.isalnum, essence(text)))


def shape(line: str) -> str:
    """Return what stays the same in a line that is drawn again and again: its letters."""
    return re.sub(r"[\W\d_]+", "", line) or re.sub(r"[\s\d]+", "", line)


def tail(lines: Iterable[str], count: int = 15) -> str:
    """Return the last lines that say something."""
    said = [line.rstrip() for line in lines if line.strip()]
    return "\n".join(said[-count:])
