"""Notifications: which were sent, which channels work, and which sessions are muted."""

from __future__ import annotations

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.transport import Client


class CountsInfo(DaemonAnswer, frozen=True):
    waiting: int = 0
    failed: int = 0
    working: int = 0
    idle: int = 0
    line: str = ""


class NotificationInfo(DaemonAnswer, frozen=True):
    name: str = ""
    folder: str = ""
    kind: str = ""
    channel: str = ""
    text: str = ""
    at: str = ""
    is_reminder: bool = False
    state: str = ""
    reason: str = ""


class NotificationsInfo(DaemonAnswer, frozen=True):
    notifications: tuple[NotificationInfo, ...] = ()


class ChannelInfo(DaemonAnswer, frozen=True):
    channel: str = ""
    enabled: bool = False
    kinds: tuple[str, ...] = ()
    hindrance: str = ""
    switch: str = ""
    sent: bool = False


class NotificationTrial(DaemonAnswer, frozen=True):
    title: str = ""
    body: str = ""
    kind: str = ""
    channels: tuple[ChannelInfo, ...] = ()
    quiet: str = ""
    configuration: str = ""
    reminder_minutes: float = 0.0
    batch_seconds: float = 0.0
    status_line: bool = False


class MutedInfo(DaemonAnswer, frozen=True):
    name: str = ""
    muted: bool = False
    until: str | None = None


class MutedListInfo(DaemonAnswer, frozen=True):
    sessions: tuple[MutedInfo, ...] = ()


def count_sessions(daemon: Client) -> CountsInfo:
    return read(CountsInfo, daemon.get("counts"))


def list_notifications(daemon: Client, *, last: int) -> NotificationsInfo:
    return read(NotificationsInfo, daemon.get("notifications", last=last))


def try_notification(
    daemon: Client, session: str, *, kind: str, send: bool
) -> NotificationTrial:
    asked = {"session": session, "kind": kind, "send": send}
    return read(NotificationTrial, daemon.post("notifications", "test", **asked))


def mute_session(daemon: Client, session: str, *, seconds: float | None) -> MutedInfo:
    return read(MutedInfo, daemon.post("sessions", session, "mute", seconds=seconds))


def unmute_session(daemon: Client, session: str) -> MutedInfo:
    return read(MutedInfo, daemon.post("sessions", session, "unmute"))


def list_muted(daemon: Client) -> MutedListInfo:
    return read(MutedListInfo, daemon.get("muted"))
