"""Connect to ``codex app-server`` as a client."""

from __future__ import annotations

from collections.abc import Sequence

from rookery.drivers.json_rpc import RpcClient

_CLIENT = {"name": "rookery", "title": "Rookery", "version": "0.1"}


async def introduce(rpc: RpcClient, *, unwanted: Sequence[str] = ()) -> None:
    """Open the connection; the notifications with ``unwanted`` methods are not sent."""
    capabilities = {
        "experimentalApi": True,  # questions to the user and the queue are experimental
        "requestAttestation": False,
        **({"optOutNotificationMethods": unwanted} if unwanted else {}),
    }
    await rpc.call("initialize", {"clientInfo": _CLIENT, "capabilities": capabilities})
    rpc.notify("initialized")
