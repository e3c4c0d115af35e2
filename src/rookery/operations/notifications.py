"""Operations on notifications: list and test them, mute sessions, count who needs a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection

from pydantic import Field

from rookery.model.errors import NotificationFailed, RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.notifications import (
    Notification,
    NotificationId,
    NotificationItem,
    NotificationKind,
)
from rookery.model.scopes import Need
from rookery.model.sessions import Session
from rookery.notifications.conditions import ATTACHED, muted_text
from rookery.operations.access import reach, target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import Nothing, OfSession, Params
from rookery.ports.notifier import Notifier
from rookery.store import notifications, sessions


@dataclass(frozen=True, slots=True)
class CountedSessions:
    waiting: int
    failed: int
    working: int
    idle: int
    line: str  #: for a status bar; empty if no session needs the person


async def count_sessions(context: Context, caller: Caller, params: Nothing) -> CountedSessions:
    """Count the sessions that wait, failed, work and are idle; muted ones are left out."""
    now = context.journal.clock.now()
    since = now - timedelta(hours=context.settings.limits.listed_hours)

    def read(db: Connection) -> CountedSessions:
        allowed = reach(context, db, caller, Need.READ)
        found = notifications.count_sessions(db, now=now, ended_after=since, among=allowed)
        return CountedSessions(
            found.waiting, found.failed, found.working, found.idle, found.line
        )

    return await context.database.peek(read)


class NotificationsParams(Params):
    last: int = Field(20, ge=1, le=1_000, description="how many")


@dataclass(frozen=True, slots=True)
class Notifications:
    notifications: list[NotificationItem]  #: newest first


async def list_notifications(
    context: Context, caller: Caller, params: NotificationsParams
) -> Notifications:
    """List the last notifications, each with its channel and what became of it."""
    found = await context.database.read(lambda db: notifications.latest(db, limit=params.last))
    return Notifications(found)


class MuteParams(OfSession):
    seconds: float | None = Field(
        None, gt=0, le=366 * 86_400, description="for how long; else until it is unmuted"
    )


@dataclass(frozen=True, slots=True)
class MutedSession:
    session: SessionId
    name: str
    muted: bool
    until: datetime | None = None


async def mute(context: Context, caller: Caller, params: MuteParams) -> MutedSession:
    """Send no notifications about a session, for a time or until it is unmuted."""
    session = await target(context, caller, params.session, Need.OWN)
    span = timedelta(seconds=params.seconds) if params.seconds else None
    until = context.journal.clock.now() + span if span else None

    def write(db: Connection) -> MutedSession:
        notifications.mute(db, session.id, until=until)
        return MutedSession(session.id, session.name, muted=True, until=until)

    return await once(context, caller, MutedSession, write)


async def unmute(context: Context, caller: Caller, params: OfSession) -> MutedSession:
    """Send notifications about a session again."""
    session = await target(context, caller, params.session, Need.OWN)

    def write(db: Connection) -> MutedSession:
        notifications.unmute(db, session.id)
        return MutedSession(session.id, session.name, muted=False)

    return await once(context, caller, MutedSession, write)


@dataclass(frozen=True, slots=True)
class MutedSessions:
    sessions: list[MutedSession]


async def list_muted(context: Context, caller: Caller, params: Nothing) -> MutedSessions:
    """List the muted sessions."""
    now = context.journal.clock.now()

    def read(db: Connection) -> MutedSessions:
        muted = notifications.mutes(db, now=now)
        found = sessions.of_ids(db, muted)
        return MutedSessions(
            [
                MutedSession(each.id, each.name, muted=True, until=muted[each.id])
                for each in found
            ]
        )

    return await context.database.read(read)


class NotifyTestParams(Params):
    session: str = Field("", description="the session that it is about; else an example")
    kind: NotificationKind = NotificationKind.NEEDS_YOU
    send: bool = Field(default=False, description="send it, instead of only showing it")


@dataclass(frozen=True, slots=True)
class ChannelCheck:
    """What a channel would do with a notification, and why."""

    channel: str
    enabled: bool
    kinds: list[NotificationKind]  #: that it carries
    hindrance: str = ""  #: why it would not get this notification now
    switch: str = ""  #: the lines of the configuration that turn it on
    sent: bool = False


@dataclass(frozen=True, slots=True)
class NotificationCheck:
    title: str
    body: str
    kind: NotificationKind
    channels: list[ChannelCheck]
    quiet: str  #: why nothing would be sent about this session now
    configuration: str  #: the file in which channels are turned on
    reminder_minutes: float
    batch_seconds: float
    status_line: bool  #: whether the status line of Rookery's tmux shows the numbers


async def try_out(
    context: Context, caller: Caller, params: NotifyTestParams
) -> NotificationCheck:
    """Show which channels a notification would go to and why; with send, send it as well."""
    session = (
        await target(context, caller, params.session, Need.OWN) if params.session else None
    )
    notification = Notification(params.kind, (_example(context, params.kind, session),))
    settings = context.settings.notifications
    by_name = {each.name: each for each in context.notifiers}
    channels = [
        await _check(context, by_name.get(name), name, notification, send=params.send)
        for name in settings.channels
    ]
    return NotificationCheck(
        title=notification.title,
        body=notification.body(),
        kind=params.kind,
        channels=channels,
        quiet=await _why_quiet(context, session) if session else "",
        configuration=str(context.home.settings),
        reminder_minutes=settings.reminder_minutes,
        batch_seconds=settings.batch_seconds,
        status_line=settings.tmux,
    )


async def _check(
    context: Context,
    notifier: Notifier | None,
    name: str,
    notification: Notification,
    *,
    send: bool,
) -> ChannelCheck:
    settings = context.settings.notifications.channels[name]
    if notifier is None:
        switch = f"[notifications.{name}]\n{settings.SWITCH}"
        return ChannelCheck(name, enabled=False, kinds=[], switch=switch)
    kinds = list(settings.kinds)
    hindrance = await notifier.why_not()
    if not hindrance and notification.kind not in kinds:
        hindrance = f"it does not carry {notification.kind}"
    if send and not hindrance:
        try:
            await notifier.send(notification)
        except NotificationFailed as error:
            hindrance = str(error)
    is_sent = send and not hindrance
    return ChannelCheck(name, enabled=True, kinds=kinds, hindrance=hindrance, sent=is_sent)


async def _why_quiet(context: Context, session: Session) -> str:
    """Return why no notification would be sent about a session now."""
    now = context.journal.clock.now()
    muted = await context.database.read(lambda db: notifications.mutes(db, now=now))
    if session.id in muted:
        return muted_text(muted, session.id)
    try:
        attached = await context.runtime.terminal(session.id).is_attached()
    except RuntimeFailed:
        attached = False
    return ATTACHED if attached else ""


def _example(
    context: Context, kind: NotificationKind, session: Session | None
) -> NotificationItem:
    return NotificationItem(
        id=NotificationId(0),
        session=session.id if session else SessionId(""),
        name=session.name if session else "example",
        agent=session.agent if session else "demo",
        folder=session.project_path if session else "/home/you/project",
        kind=kind,
        subject="test",
        channel="",
        text=EXAMPLES[kind],
        at=context.journal.clock.now(),
    )


#: The text of a notification that is only a test.
EXAMPLES = {
    NotificationKind.NEEDS_YOU: "This is a test. May it use Bash? npm test",
    NotificationKind.FINISHED: "This is a test. All 12 tests pass.",
    NotificationKind.FAILED: "This is a test. The connection was lost.",
    NotificationKind.LIMIT: "This is a test. The usage limit is reached.",
    NotificationKind.OVERLAP: "This is a test. Another session has changed README.md, too.",
    NotificationKind.LONG_TURN: "This is a test. Find out why the build is slow.",
    NotificationKind.ENDED: "This is a test. It was inactive for 72 h.",
    NotificationKind.STARTED: "This is a test. Write the tests.",
}
