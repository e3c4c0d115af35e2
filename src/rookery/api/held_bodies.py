"""Limit the bytes of all request bodies that are arriving at the same time."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

from rookery.api.request_checks import MAX_REQUEST_BYTES

#: Bytes of all bodies that have not arrived completely.
MAX_HELD_BYTES = 4 * MAX_REQUEST_BYTES


class ArrivingBody(Protocol):
    """A request whose body has not arrived completely."""

    @abstractmethod
    def refuse_body(self) -> None:
        """Answer the request with an error, and keep nothing of its body."""


class HeldBodies:
    """Counts the bytes of bodies that are arriving, and refuses the largest one at a limit.

    So clients that send much and never end cannot use up the memory, and a small or slow body
    still arrives.
    """

    def __init__(self, most: int = MAX_HELD_BYTES) -> None:
        self._most = most
        self._held: dict[ArrivingBody, int] = {}
        self._total = 0

    def add(self, body: ArrivingBody, size: int) -> None:
        self._held[body] = self._held.get(body, 0) + size
        self._total += size
        while self._total > self._most:
            largest = max(self._held, key=self._held.__getitem__)
            self.release(largest)
            largest.refuse_body()

    def release(self, body: ArrivingBody) -> None:
        self._total -= self._held.pop(body, 0)
