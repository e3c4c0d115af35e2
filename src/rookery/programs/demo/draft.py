"""The words in the box: typed ones as they are, long pastes as a name for them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

#: A paste of more lines or characters is shown by name, as Claude Code does.
LONGEST_PASTE_LINES = 10
LONGEST_PASTE = 2_000


@dataclass(frozen=True, slots=True)
class Paste:
    """A paste too long to be shown."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    pieces: tuple[str | Paste, ...] = ()
    #: Long pastes since the program began; their numbers go on from draft to draft.
    pastes: int = 0

    @property
    def text(self) -> str:
        """What is submitted, exactly."""
        return "".join(piece if isinstance(piece, str) else piece.text for piece in self.pieces)

    @property
    def shown(self) -> str:
        """What the box shows."""
        return "".join(
            piece if isinstance(piece, str) else name(piece.number, piece.text)
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
        if text.count("\n") < LONGEST_PASTE_LINES and len(text) <= LONGEST_PASTE:
            return self.typed(text)
        number = self.pastes + 1
        return Draft((*self.pieces, Paste(number, text)), number)

    def shortened(self) -> Draft:
        """Without its last character, or its last long paste."""
        match self.pieces:
            case (*before, str(last)) if len(last) > 1:
                return replace(self, pieces=(*before, last[:-1]))
            case (*before, _):
                return replace(self, pieces=tuple(before))
            case _:
                return self

    def emptied(self) -> Draft:
        return Draft(pastes=self.pastes)


def name(number: int, text: str) -> str:
    """Call a long text by number and the line ends in it."""
    return f"[Pasted text #{number} +{text.count(chr(10))} lines]"
