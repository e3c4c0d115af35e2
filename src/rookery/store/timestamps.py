"""Convert times to text and back."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache


@lru_cache(maxsize=8)
def stamp(at: datetime) -> str:
    """Return a time as text. Cached, as one fact writes its time to several rows."""
    return at.isoformat()


def read_stamp(text: str | None) -> datetime | None:
    """Parse a time; none if the text is empty."""
    return datetime.fromisoformat(text) if text else None
