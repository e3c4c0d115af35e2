"""Stop waiting for an answer when the client that asked for it has left."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Never, TypeVar

from starlette.requests import ClientDisconnect, Request

from rookery.supervise import first_of

T = TypeVar("T")


async def while_connected(request: Request, asking: Awaitable[T]) -> T:
    """Wait for an answer until the client disconnects. Raises ``ClientDisconnect``.

    Otherwise a long poll would continue, for up to a day, for a client that has left.
    """
    return await first_of(asking, _disconnected(request))


async def _disconnected(request: Request) -> Never:
    """Wait until the client disconnects, then raise ``ClientDisconnect``."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise ClientDisconnect
