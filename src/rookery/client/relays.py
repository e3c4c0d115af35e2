"""Relays: sessions that receive each other's answers."""

from __future__ import annotations

from collections.abc import Iterable

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.transport import Client


class RelayLimitsInfo(DaemonAnswer, frozen=True):
    hops: int = 0


class MemberInfo(DaemonAnswer, frozen=True):
    session: str = ""
    name: str = ""
    number: int = 0
    left_at: str | None = None


class RelayInfo(DaemonAnswer, frozen=True):
    id: str = ""
    members: tuple[MemberInfo, ...] = ()
    limits: RelayLimitsInfo = RelayLimitsInfo()
    created_at: str = ""
    created_by: str = ""
    closed_at: str | None = None
    reason: str = ""
    stayed: str = ""


class RelayListInfo(DaemonAnswer, frozen=True):
    relays: tuple[RelayInfo, ...] = ()


class SaidInfo(DaemonAnswer, frozen=True):
    at: str = ""
    words: str = ""
    missing: tuple[str, ...] = ()


class RelayTalk(DaemonAnswer, frozen=True):
    relay: RelayInfo = RelayInfo()
    said: tuple[SaidInfo, ...] = ()


def list_relays(daemon: Client, *, session: str = "", all: bool = False) -> RelayListInfo:  # noqa: A002 - its name
    """List the open relays and recently closed ones; with ``all`` every relay."""
    return read(RelayListInfo, daemon.get("relays", session=session, all=all))


def show_relay(daemon: Client, relay: str, *, last: int) -> RelayTalk:
    return read(RelayTalk, daemon.get("relays", relay, last=last))


def open_relay(
    daemon: Client,
    members: Iterable[tuple[str, str]],
    *,
    max_hops: int | None,
    max_a_minute: int | None,
) -> RelayInfo:
    """Open a relay. Each member is a session, and the name by which the others know it."""
    member_list = [{"session": session, "name": name} for session, name in members]
    answer = daemon.post(
        "relays", members=member_list, max_hops=max_hops, max_a_minute=max_a_minute
    )
    return read(RelayInfo, answer)


def join_relay(daemon: Client, relay: str, *, session: str, name: str) -> RelayInfo:
    return read(RelayInfo, daemon.post("relays", relay, "join", session=session, name=name))


def leave_relay(daemon: Client, relay: str, *, session: str) -> RelayInfo:
    return read(RelayInfo, daemon.post("relays", relay, "leave", session=session))


def close_relay(daemon: Client, relay: str) -> RelayInfo:
    return read(RelayInfo, daemon.post("relays", relay, "close"))
