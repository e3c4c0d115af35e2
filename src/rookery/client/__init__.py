"""The client of the daemon: ``Client`` sends requests; each area has a module with types."""

from __future__ import annotations

from rookery.client.transport import Client, ConnectionLost

__all__ = ["Client", "ConnectionLost"]
