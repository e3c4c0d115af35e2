"""How a moment is written down, and read again."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache


@lru_cache(maxsize=8)
def stamp(at: datetime) -> str:
    """Write a moment. Kept: one fact has it written in several rows."""
    return at.isoformat()


def read_stamp(text: str | None) -> datetime | None:
    """Read a moment; none where nothing was written down."""
    return datetime.fromisoformat(text) if text else None
