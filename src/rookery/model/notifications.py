"""Notifications: what a person is told about sessions, and in which words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from rookery.model.facts import SessionId
from rookery.model.reason_texts import in_one_line
from rookery.model.short_texts import shortened

NotificationId = NewType("NotificationId", int)


class NotificationKind(StrEnum):
    """The outcomes that a person can be told about."""

    NEEDS_YOU = "needs-you"  #: a session asks for a permission or an answer
    FINISHED = "finished"  #: a turn has ended with an answer
    FAILED = "failed"  #: a turn or a whole session has failed
    LIMIT = "limit"  #: a limit of the agent's provider, or the session's budget, is reached
    OVERLAP = "overlap"  #: two live sessions have changed the same file
    LONG_TURN = "long-turn"  #: a turn has been running for ``notifications.long_turn_minutes``
    ENDED = "ended"  #: a session has ended without a failure
    STARTED = "started"  #: a session that Rookery started is up


#: The kinds that a channel carries if its settings name none.
DEFAULT_KINDS = (
    NotificationKind.NEEDS_YOU,
    NotificationKind.FINISHED,
    NotificationKind.FAILED,
    NotificationKind.LIMIT,
    NotificationKind.OVERLAP,
)


class NotificationState(StrEnum):
    """How far a notification has come. A channel gets each one at most once."""

    WAITING = "waiting"  #: it is not due yet
    SENDING = "sending"  #: the channel may have it
    SENT = "sent"
    FAILED = "failed"  #: the channel reported an error each time
    UNSURE = "unsure"  #: it may have been sent, so it is not sent again
    SKIPPED = "skipped"  #: there was a reason not to send it


#: The subject of a notification about the start of a session.
START = "start"

#: The subject of a notification about the end of a session.
END = "end"

#: Characters of a question, a command or a reason that a notification contains.
MAX_TEXT_CHARACTERS = 500

#: Sessions that a notification about several names one by one.
MAX_NAMED_SESSIONS = 5

#: Control characters, and characters that change the direction of text.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

#: Matches the error of a turn that failed because of a limit of the agent's provider.
_LIMIT = re.compile(
    r"(?i)rate.?limit|usage.?limit|session limit|weekly limit|\bquota\b|billing|"
    r"limit (?:is |was )?(?:reached|exceeded)|(?:reached|exceeded|hit) (?:your|the) .*limit|"
    r"too many requests|insufficient.credit|credit balance"
)

_SINGLE: Mapping[NotificationKind, str] = {
    NotificationKind.NEEDS_YOU: "{name} needs you",
    NotificationKind.FINISHED: "{name} is finished",
    NotificationKind.FAILED: "{name} failed",
    NotificationKind.LIMIT: "{name} reached a limit",
    NotificationKind.OVERLAP: "{name} changes the same file as another session",
    NotificationKind.LONG_TURN: "{name} is still working",
    NotificationKind.ENDED: "{name} has ended",
    NotificationKind.STARTED: "{name} has started",
}
_SEVERAL: Mapping[NotificationKind, str] = {
    NotificationKind.NEEDS_YOU: "{count} sessions wait",
    NotificationKind.FINISHED: "{count} sessions are finished",
    NotificationKind.FAILED: "{count} sessions failed",
    NotificationKind.LIMIT: "{count} sessions reached a limit",
    NotificationKind.OVERLAP: "{count} sessions change the same files as others",
    NotificationKind.LONG_TURN: "{count} sessions are still working",
    NotificationKind.ENDED: "{count} sessions have ended",
    NotificationKind.STARTED: "{count} sessions have started",
}

#: What is counted if a notification has several items of one session.
_COUNTED: Mapping[NotificationKind, str] = {
    NotificationKind.NEEDS_YOU: "requests",
    NotificationKind.FINISHED: "turns",
}


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """Something that a person may want to know. The first three fields identify it."""

    session: SessionId
    kind: NotificationKind
    subject: str  #: the request, the number of the turn, ``START`` or ``END``
    text: str  #: the question, the command, the answer, the prompt or the reason
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationItem:
    """One outcome of one session, as stored for one channel."""

    id: NotificationId
    session: SessionId
    name: str
    agent: str
    folder: str
    kind: NotificationKind
    subject: str
    channel: str
    text: str
    at: datetime
    is_reminder: bool = False
    attempts: int = 0  #: how often the channel reported an error
    state: NotificationState = NotificationState.WAITING
    reason: str = ""  #: why it was skipped or failed
    settled_at: datetime | None = None

    @property
    def request(self) -> str:
        """Return the id of the request that the notification is about; empty if none."""
        return self.subject if self.kind is NotificationKind.NEEDS_YOU else ""


@dataclass(frozen=True, slots=True)
class Notification:
    """What a channel tells at once: one outcome, or several of the same kind."""

    kind: NotificationKind
    items: tuple[NotificationItem, ...]

    @property
    def title(self) -> str:
        first, count = self.items[0], len({each.session for each in self.items})
        if count > 1:
            return _SEVERAL[self.kind].format(count=count)
        title = _SINGLE[self.kind].format(name=safe_text(first.name))
        title = title.replace(" needs ", " still needs ") if first.is_reminder else title
        what = _COUNTED.get(self.kind)
        return f"{title}: {len(self.items)} {what}" if what and len(self.items) > 1 else title

    def body(self, *, with_text: bool = True) -> str:
        """Return the folder and the text; for several items, one line for each."""
        if len(self.items) == 1:
            lines = [safe_text(self.items[0].folder), self.items[0].text if with_text else ""]
            return "\n".join(filter(None, lines))
        named = [_line(each, with_text=with_text) for each in self.items[:MAX_NAMED_SESSIONS]]
        more = len(self.items) - len(named)
        return "\n".join([*named, f"and {more} more"] if more else named)


def _line(item: NotificationItem, *, with_text: bool) -> str:
    place = f" ({safe_text(item.folder)})" if item.folder else ""
    said = f": {item.text}" if with_text and item.text else ""
    return f"{safe_text(item.name)}{place}{said}"


def safe_text(text: str) -> str:
    """Return a text of a session as one short line without control characters."""
    return shortened(_UNSAFE.sub("", in_one_line(text)).strip(), MAX_TEXT_CHARACTERS)


def kind_of_failure(error: str) -> NotificationKind:
    """Return whether an error message means that a limit was reached, or another failure."""
    return NotificationKind.LIMIT if _LIMIT.search(error) else NotificationKind.FAILED


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """The numbers of sessions by what they do, without those that are muted or hidden."""

    waiting: int = 0
    failed: int = 0
    working: int = 0
    idle: int = 0

    @property
    def line(self) -> str:
        """Return the numbers for a status bar; empty if no session needs the person."""
        parts = [(self.waiting, "wait"), (self.failed, "failed")]
        return " · ".join(f"{count} {word}" for count, word in parts if count)


@dataclass(frozen=True, slots=True)
class SessionBar:
    """What an attached terminal shows below one session."""

    text: str  #: its name, agent and state
    others: str = ""  #: how many other sessions need the person
    next: str = ""  #: the name of the program of the next session that waits
