"""What a turn wants done, as values: the turn decides, the stage carries out."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass

from rookery.programs.demo.dialog import ChoiceDialog
from rookery.programs.demo.hooks import Decision, HookCall
from rookery.programs.demo.screen import Block

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Print:
    """Put a block into the conversation."""

    block: Block


@dataclass(frozen=True, slots=True)
class Grow:
    """Show the words of a block that is not complete."""

    words: str


@dataclass(frozen=True, slots=True)
class Record:
    """Add to the transcript."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Tell:
    """Run a hook; its answer does not matter."""

    event: str
    fields: Fields


@dataclass(frozen=True, slots=True)
class Consult:
    """Run a hook and wait for its decision."""

    event: str
    fields: Fields


@dataclass(frozen=True, slots=True)
class Await:
    """Wait for the decision of a hook that runs."""

    hearing: HookCall


@dataclass(frozen=True, slots=True)
class Ask:
    """Put a dialog on the screen and wait for a decision, from a person or a hook."""

    dialog: ChoiceDialog
    fields: Fields | None  #: of the hook PermissionRequest; None: no hook may answer


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


@dataclass(frozen=True, slots=True)
class Listen:
    """Take words from now on, and call the session begun."""


@dataclass(frozen=True, slots=True)
class Renew:
    """Go on as another session."""


@dataclass(frozen=True, slots=True)
class Leave:
    """End the program."""

    code: int


@dataclass(frozen=True, slots=True)
class Die:
    """End the program as a crash does."""


Effect = (
    Print | Grow | Record | Tell | Consult | Await | Ask | Wait | Listen | Renew | Leave | Die
)

#: Each effect is answered by a decision, silence where nothing was asked.
Effects = Generator[Effect, Decision, None]
