from __future__ import annotations


class Killed(BaseException):
    """Not an error: nothing may catch it and go on."""


class Fate:
    """Counts the moments at which one can die, and kills at one of them."""

    def __init__(self, die_at: int | None = None) -> None:
        self.moments = 0
        self._die_at = die_at
        self._dead = False

    def moment(self) -> None:
        self._dead = self._dead or self.moments == self._die_at
        self.moments += 1
        self.mourn()

    def mourn(self) -> None:
        """Stop what would go on, not having noticed that it is dead."""
        if self._dead:
            raise Killed
