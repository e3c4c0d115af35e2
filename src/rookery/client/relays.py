"""Relays: let sessions talk with each other."""

from __future__ import annotations

from collections.abc import Iterable

from rookery.client.answers import Answer, read
from rookery.client.transport import Client


class RelayLimits(Answer, frozen=True):
    hops: int = 0


class Member(Answer, frozen=True):
    session: str = ""
    name: str = ""
    number: int = 0
    left_at: str | None = None


class Relay(Answer, frozen=True):
    id: str = ""
    members: tuple[Member, ...] = ()
    limits: RelayLimits = RelayLimits()
    created_at: str = ""
    created_by: str = ""
    closed_at: str | None = None
    reason: str = ""
    stayed: str = ""


class RelayList(Answer, frozen=True):
    relays: tuple[Relay, ...] = ()


class Said(Answer, frozen=True):
    at: str = ""
    words: str = ""
    missing: tuple[str, ...] = ()


class RelayTalk(Answer, frozen=True):
    relay: Relay = Relay()
    said: tuple[Said, ...] = ()


def list_relays(daemon: Client, *, session: str = "", all: bool = False) -> RelayList:  # noqa: A002 - its name
    """List the open relays and those closed not long ago; with ``all`` every one."""
    return read(RelayList, daemon.get("relays", session=session, all=all))


def show_relay(daemon: Client, relay: str, *, last: int) -> RelayTalk:
    return read(RelayTalk, daemon.get("relays", relay, last=last))


def open_relay(
    daemon: Client,
    members: Iterable[tuple[str, str]],
    *,
    max_hops: int | None,
    max_a_minute: int | None,
) -> Relay:
    """Let sessions talk. A member is a session and the name that the others know it by."""
    named = [{"session": session, "name": name} for session, name in members]
    answer = daemon.post("relays", members=named, max_hops=max_hops, max_a_minute=max_a_minute)
    return read(Relay, answer)


def join_relay(daemon: Client, relay: str, *, session: str, name: str) -> Relay:
    return read(Relay, daemon.post("relays", relay, "join", session=session, name=name))


def leave_relay(daemon: Client, relay: str, *, session: str) -> Relay:
    return read(Relay, daemon.post("relays", relay, "leave", session=session))


def close_relay(daemon: Client, relay: str) -> Relay:
    return read(Relay, daemon.post("relays", relay, "close"))
