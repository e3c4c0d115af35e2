"""The readers of the journal. New behaviour is a new line here."""

from __future__ import annotations

from collections.abc import Mapping

from rookery.coordination import listeners, overlaps, relays
from rookery.notifications import long_turns, outcomes
from rookery.permissions import answered_in_terminal
from rookery.store.journal import Reader
from rookery.tracking import usage

READERS: Mapping[str, Reader] = {
    "permissions": answered_in_terminal.READER,
    "transcripts": usage.READER,
    "listeners": listeners.READER,
    "relays": relays.READER,
    "notifications": outcomes.READER,
    "long turns": long_turns.READER,
    "overlaps": overlaps.READER,
}
