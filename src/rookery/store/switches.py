"""What is switched for all sessions at once."""

from __future__ import annotations

from sqlite3 import Connection
from typing import Literal, TypeAlias

#: Who asks for permissions: each agent in its own terminal, or Rookery.
Mode: TypeAlias = Literal["local", "remote"]


def mode(db: Connection) -> Mode:
    row = db.execute("select value from switches where name = 'mode'").fetchone()
    return "remote" if row and row["value"] == "remote" else "local"


def set_mode(db: Connection, mode: Mode) -> None:
    db.execute(
        "insert into switches values ('mode', ?) on conflict do update set value = ?",
        (mode, mode),
    )
