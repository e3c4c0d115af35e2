"""Listeners: which session is told when others stop."""

from __future__ import annotations

from msgspec import Struct, structs

from rookery.client.answers import Answer, read
from rookery.client.transport import Client


class Listener(Answer, frozen=True):
    caller: str = ""
    target: str = ""
    until: str = ""
    is_lasting: bool = False
    wait: int | None = None
    since: str | None = None


class CombinedWait(Answer, frozen=True):
    """Several listeners whose news is told at once."""

    id: int = 0
    needed: int = 0
    of: int = 0
    there: int = 0
    deadline: str | None = None


class Listeners(Answer, frozen=True):
    listeners: tuple[Listener, ...] = ()
    waits: tuple[CombinedWait, ...] = ()


class Listening(Answer, frozen=True):
    target: str = ""
    listening: bool = False
    reason: str = ""
    ring: str = ""


class Listenings(Answer, frozen=True):
    listeners: tuple[Listening, ...] = ()


class Stopped(Answer, frozen=True):
    stopped: bool = False


class ListenOrder(Struct, frozen=True, kw_only=True):
    """A session that is to be told when others stop."""

    targets: tuple[str, ...]
    caller: str  #: which is told; empty: the session that asks
    until: str
    repeat: bool
    timeout: float | None
    needed: str | int


def list_listeners(daemon: Client) -> Listeners:
    return read(Listeners, daemon.get("listeners"))


def listen_to(daemon: Client, order: ListenOrder) -> Listenings:
    return read(Listenings, daemon.post("listeners", **structs.asdict(order)))


def stop_listening(daemon: Client, target: str, *, caller: str) -> Stopped:
    return read(Stopped, daemon.post("listeners", "stop", target=target, caller=caller))
