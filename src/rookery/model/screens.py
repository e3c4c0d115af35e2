"""What can be read off a terminal's screen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Dialog:
    """Something that the next key would answer."""

    kind: Literal["permission", "question"]
    text: str


@dataclass(frozen=True, slots=True)
class View:
    """What an agent shows its person."""

    box: str | None = None  #: what stands in the input box; ``None`` if no box can be seen
    dialog: Dialog | None = None
    is_working: bool = False


def squeeze(text: str) -> str:
    """Keep what every terminal shows alike: letters and digits, unwrapped."""
    return "".join(filter(str.isalnum, text))


def tail(lines: Iterable[str], count: int = 15) -> str:
    """Return the last lines that say something."""
    said = [line.rstrip() for line in lines if line.strip()]
    return "\n".join(said[-count:])
