"""Store the text of the last valid rules, in force while the file is invalid or missing."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.store.timestamps import stamp


def load(db: Connection) -> str | None:
    """Return the text of the last valid rules; ``None`` if there were none."""
    row = db.execute("select text from valid_rules").fetchone()
    return None if row is None else str(row["text"])


def save(db: Connection, text: str, *, at: datetime) -> None:
    db.execute(
        "insert into valid_rules (one, text, at) values (1, ?, ?)"
        " on conflict do update set text = excluded.text, at = excluded.at",
        (text, stamp(at)),
    )
