from __future__ import annotations

from dataclasses import dataclass

from rookery.model.messages import Parcel


@dataclass
class FakeLog:
    """What is written down while words are delivered."""

    last: Parcel | None = None
    is_holding: bool = False
    typed: int = 0

    async def note_typed(self) -> None:
        self.typed += 1

    async def note_untyped(self) -> None:
        self.typed -= 1

    async def may_submit(self) -> bool:
        return not self.is_holding

    async def previous(self) -> Parcel | None:
        return self.last
