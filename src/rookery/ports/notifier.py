"""The interface of a channel that tells a person about sessions."""

from __future__ import annotations

from typing import Protocol

from rookery.model.notifications import Notification


class Notifier(Protocol):
    """Carries notifications out of Rookery, for instance to the desktop."""

    @property
    def name(self) -> str:
        """Return the name of the channel in the configuration."""
        ...

    async def why_not(self) -> str:
        """Return why nothing can be sent at present; empty if it can."""
        ...

    async def send(self, notification: Notification) -> None:
        """Send a notification once. Raises ``NotificationFailed``."""
        ...
