"""Check what the store knows about failures and held deliveries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from rookery.doctor.checks import Check
from rookery.presentation.texts import count
from rookery.store.health_problems import UnsureMessage

#: Characters of a message by which a person recognises it.
MAX_SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class HoldState:
    """All deliveries are on hold."""

    since: datetime | None  #: ``None`` if that is unknown

    def __str__(self) -> str:
        since = f" since {self.since.astimezone():%Y-%m-%d %H:%M:%S}" if self.since else ""
        return f"deliveries are on hold{since}: no message is sent to any session"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Failures in the store, and reasons why messages are not delivered."""

    entries: int
    parked: int
    hooks: int
    doubts: tuple[UnsureMessage, ...]
    hold: HoldState | None = None
    headless: str = ""  #: which agents are not tracked, since too many are


def check_trouble(trouble: Trouble) -> Iterator[Check]:
    yield Check("journal", ok=True, detail=f"{trouble.entries:,} entries")
    for name, number, meaning in (
        ("parked", trouble.parked, "journal entries could not be processed"),
        ("hooks", trouble.hooks, "hook calls could not be processed"),
    ):
        advice = "" if number == 0 else "see: rookery daemon logs"
        yield Check(name, number == 0, f"{number} {meaning}", advice)
    doubts = tuple(map(_shown, trouble.doubts))
    advice = "check whether they arrived: rookery output NAME" if doubts else ""
    detail = f"{count(len(doubts), 'message')} that may not have arrived"
    yield Check("unsure", not doubts, detail, advice, doubts)
    headless = trouble.headless or "every agent that is started by hand is tracked"
    yield Check("headless", ok=not trouble.headless, detail=headless)
    if trouble.hold:
        yield Check("hold", ok=False, detail=str(trouble.hold), advice="rookery release")
    else:
        yield Check("hold", ok=True, detail="messages are delivered")


def _shown(message: UnsureMessage) -> str:
    words = " ".join(message.words.split())
    is_long = len(words) > MAX_SHOWN_CHARS
    cut = words[:MAX_SHOWN_CHARS] + "…" if is_long else words
    return f"{message.recipient}, {message.written_at.astimezone():%Y-%m-%d %H:%M:%S}: {cut}"
