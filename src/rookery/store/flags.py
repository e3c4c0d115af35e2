"""Switches that apply to all sessions."""

from __future__ import annotations

from sqlite3 import Connection
from typing import Literal, TypeAlias

#: Who asks for permissions: each agent in its own terminal, or Rookery.
Mode: TypeAlias = Literal["local", "remote"]


def mode(db: Connection) -> Mode:
    row = db.execute("select value from switches where name = 'mode'").fetchone()
    return "remote" if row and row["value"] == "remote" else "local"


def set_mode(db: Connection, mode: Mode) -> None:
    _set(db, "mode", mode)


def is_holding(db: Connection) -> bool:
    """Return whether all deliveries are held."""
    row = db.execute("select value from switches where name = 'hold'").fetchone()
    return row is not None and row["value"] == "on"


def hold(db: Connection, *, on: bool) -> bool:
    """Hold or release all deliveries. False if nothing changed."""
    if is_holding(db) == on:
        return False
    _set(db, "hold", "on" if on else "off")
    return True


def may_parents_answer(db: Connection) -> bool:
    """Return whether a session may answer the requests of sessions that it started."""
    row = db.execute("select value from switches where name = 'parents_may_answer'").fetchone()
    return row is not None and row["value"] == "on"


def let_parents_answer(db: Connection, *, on: bool) -> None:
    _set(db, "parents_may_answer", "on" if on else "off")


def tells_agents_of_overlaps(db: Connection) -> bool:
    """Return whether agents are told that another session changes the same file."""
    row = db.execute("select value from switches where name = 'tell_overlaps'").fetchone()
    return row is not None and row["value"] == "on"


def tell_agents_of_overlaps(db: Connection, *, on: bool) -> None:
    _set(db, "tell_overlaps", "on" if on else "off")


def _set(db: Connection, name: str, value: str) -> None:
    db.execute(
        "insert into switches values (?, ?) on conflict do update set value = excluded.value",
        (name, value),
    )
