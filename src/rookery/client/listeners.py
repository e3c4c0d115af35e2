"""Listeners: sessions that are notified when others stop."""

from __future__ import annotations

from msgspec import Struct, structs

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.transport import Client


class ListenerInfo(DaemonAnswer, frozen=True):
    caller: str = ""
    target: str = ""
    until: str = ""
    is_lasting: bool = False
    wait: int | None = None
    since: str | None = None


class CombinedWait(DaemonAnswer, frozen=True):
    """Several listeners whose news is sent together."""

    id: int = 0
    needed: int = 0
    of: int = 0
    there: int = 0
    deadline: str | None = None


class ListenersInfo(DaemonAnswer, frozen=True):
    listeners: tuple[ListenerInfo, ...] = ()
    waits: tuple[CombinedWait, ...] = ()


class ListeningInfo(DaemonAnswer, frozen=True):
    target: str = ""
    listening: bool = False
    reason: str = ""
    ring: str = ""


class ListeningsInfo(DaemonAnswer, frozen=True):
    listeners: tuple[ListeningInfo, ...] = ()


class StoppedInfo(DaemonAnswer, frozen=True):
    stopped: bool = False


class ListenOrder(Struct, frozen=True, kw_only=True):
    """A session to notify when others stop."""

    targets: tuple[str, ...]
    caller: str  #: the session to notify; empty for the calling session
    until: str
    repeat: bool
    timeout: float | None
    needed: str | int


def list_listeners(daemon: Client) -> ListenersInfo:
    return read(ListenersInfo, daemon.get("listeners"))


def listen_to(daemon: Client, order: ListenOrder) -> ListeningsInfo:
    return read(ListeningsInfo, daemon.post("listeners", **structs.asdict(order)))


def stop_listening(daemon: Client, target: str, *, caller: str) -> StoppedInfo:
    return read(StoppedInfo, daemon.post("listeners", "stop", target=target, caller=caller))
