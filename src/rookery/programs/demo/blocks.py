"""What is printed in the conversation, for good. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rookery.programs.demo.layout import lay_out


class Kind(StrEnum):
    """The mark a block begins with."""

    BANNER = " "
    PROMPT = "❯ "
    WORDS = "● "
    RESULT = "  ⎿ "  #: of the block above it


@dataclass(frozen=True, slots=True)
class Block:
    kind: Kind
    text: str

    def rows(self, columns: int) -> list[str]:
        rows = lay_out(self.text, self.kind.value, columns)
        return rows if self.kind is Kind.RESULT else ["", *rows]
