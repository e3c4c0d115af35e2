"""A channel that remembers what it was given."""

from __future__ import annotations

from collections.abc import Callable

from rookery.model.errors import NotificationDoubted, NotificationFailed
from rookery.model.notifications import Notification


class FakeNotifier:
    """It outlives the daemon, as a person who was told does."""

    def __init__(self, name: str = "fake") -> None:
        self.name = name
        self.moment: Callable[[], None] = lambda: None  #: the daemon may die in it
        self.given: list[Notification] = []
        self.attempts = 0
        self.broken = ""  #: why nothing can be sent
        self.fails = 0  #: so many attempts fail
        self.surprise: Exception | None = None  #: no channel should raise it
        self.is_doubtful = False  #: it is never known whether it was sent

    @property
    def titles(self) -> list[str]:
        return [each.title for each in self.given]

    async def why_not(self) -> str:
        return self.broken

    async def send(self, notification: Notification) -> None:
        self.moment()
        self.attempts += 1
        if self.surprise:
            raise self.surprise
        if self.is_doubtful:
            raise NotificationDoubted("no answer")
        if self.attempts <= self.fails:
            raise NotificationFailed("no answer")
        self.given.append(notification)
        self.moment()
