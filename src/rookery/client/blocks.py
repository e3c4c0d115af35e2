"""The output of a session, block by block."""

from __future__ import annotations

from typing import Any

from msgspec import field

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.sessions import SessionInfo
from rookery.client.transport import Client


class BlockInfo(DaemonAnswer, frozen=True):
    number: int = 0
    at: str = ""
    kind: str = ""
    text: str = ""
    tool: str = ""
    call_id: str = ""
    data: dict[str, object] = field(default_factory=dict)
    failed: bool = False


class BlocksInfo(DaemonAnswer, frozen=True):
    session: SessionInfo = SessionInfo()
    blocks: tuple[BlockInfo, ...] = ()
    up_to: int = 0
    count: int = 0


class ShownBlocksInfo(DaemonAnswer, frozen=True):
    seen: int = 0


def show_blocks(
    daemon: Client,
    session: str,
    *,
    after: int | None = None,
    last: int | None = None,
    kinds: tuple[str, ...] = (),
) -> BlocksInfo:
    """Return the last blocks, or the first after a number; with ``kinds`` only these kinds."""
    return _ask(daemon, session, after=after, last=last, kinds=kinds or None)


def show_missed_blocks(
    daemon: Client, session: str, *, channel: str, last: int | None = None
) -> BlocksInfo:
    """Return the first blocks, or the ``last``, that were not shown in a channel yet."""
    return _ask(daemon, session, channel=channel, last=last)


def await_blocks(daemon: Client, session: str, *, after: int, timeout: float) -> BlocksInfo:
    """Return the blocks after a number, once there are any; none on timeout or at the end."""
    answer = daemon.get("sessions", session, "blocks", after=after, timeout=timeout)
    return read(BlocksInfo, answer)


def _ask(
    daemon: Client, session: str, **limits: int | str | tuple[str, ...] | None
) -> BlocksInfo:
    set_limits: dict[str, Any] = {
        name: value for name, value in limits.items() if value is not None
    }
    return read(BlocksInfo, daemon.get("sessions", session, "blocks", **set_limits))


def mark_blocks_shown(
    daemon: Client, session: str, *, channel: str, seen: int
) -> ShownBlocksInfo:
    """Report which block was shown last in a channel."""
    answer = daemon.post("sessions", session, "blocks", "shown", channel=channel, seen=seen)
    return read(ShownBlocksInfo, answer)
