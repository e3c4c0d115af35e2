"""Questions for a store, and waiting for their answers: for an event, never for a while."""

from __future__ import annotations

from sqlite3 import Connection

import anyio

from rookery.store.database import Database, Work


async def until(database: Database, question: Work[bool]) -> None:
    """Wait for entries until the answer is yes."""
    with anyio.fail_after(5):
        while True:
            bell = database.bell()
            if await database.read(question):
                return
            await bell.wait()


def all_is_said(db: Connection) -> bool:
    (waiting,) = db.execute(
        "select count(*) from messages"
        " where step in ('pending', 'sending', 'pasted', 'submitted')"
    ).fetchone()
    return not waiting


def steps(db: Connection) -> list[str]:
    return [row["step"] for row in db.execute("select step from messages order by id")]


def waits_for(db: Connection) -> list[str]:
    return [row["waits_for"] for row in db.execute("select * from messages order by id")]


def kinds(db: Connection) -> list[str]:
    return [row["kind"] for row in db.execute("select kind from entries order by seq")]
