"""The client of the daemon: ``Client`` carries requests, a module for each area types them."""

from __future__ import annotations

from rookery.client.transport import Client, ConnectionLost

__all__ = ["Client", "ConnectionLost"]
