"""Read what determines the next step of the deliveries to a session."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity
from rookery.model.messages import Parcel, Urgency
from rookery.model.sessions import Session
from rookery.store import flags, message_batches, messages, sessions


@dataclass(frozen=True, slots=True)
class CurrentDelivery:
    """The state that determines the next step for a session."""

    is_holding: bool
    session: Session
    parcel: Parcel | None  #: taken up, and not yet proved to have arrived
    has_pending: bool
    urgency: Urgency  #: of the first urgent message that waits

    @property
    def has_work(self) -> bool:
        is_free = self.session.activity is Activity.IDLE
        is_urgent = self.session.activity is Activity.WORKING and bool(self.urgency)
        return self.parcel is not None or (is_free and self.has_pending) or is_urgent

    @property
    def awaits_interrupt(self) -> bool:
        is_working = self.session.activity is Activity.WORKING
        return is_working and self.urgency is Urgency.INTERRUPT


def read_state(db: Connection, session: SessionId) -> CurrentDelivery:
    return CurrentDelivery(
        is_holding=flags.is_holding(db),
        session=sessions.get(db, session),
        parcel=message_batches.under_way(db, session),
        has_pending=messages.has_pending(db, session),
        urgency=messages.urgency_of(db, session),
    )
