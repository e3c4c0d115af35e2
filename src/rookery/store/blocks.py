"""Store the blocks of sessions: what they have said and done, in order."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from sqlite3 import Connection, Row
from typing import Any

import msgspec

from rookery.model.blocks import MAX_TEXT_CHARACTERS, Block, BlockKind, StoredBlock
from rookery.model.facts import SessionId
from rookery.model.reason_texts import failure_text
from rookery.model.short_texts import shortened
from rookery.store.timestamps import stamp

#: Characters of the data as JSON that are kept.
MAX_DATA_CHARACTERS = 64_000

#: Characters of each text in data that would be too long as a whole.
MAX_FIELD_CHARACTERS = 2_000

#: Characters of the blocks that are read at once; a thousand results of tools have 64 million.
MAX_READ_CHARACTERS = 2_000_000

_FOUND = """
    select * from blocks where session = ?1 and number > ?2
        and (?3 or kind in (select value from json_each(?4)))
"""

_INSERT = """
    insert into blocks (session, number, kind, at, failed, tool, call_id, data, text) values (
        ?1, (select coalesce(max(number), 0) + 1 from blocks where session = ?1),
        ?2, ?3, ?4, ?5, ?6, ?7, ?8)
"""

#: The statements that insert so many texts, the most first. A statement for many rows takes a
#: third of the time of one for each; few sizes, as each is a prepared statement.
_INSERT_TEXTS = {
    rows: "insert into blocks (session, at, number, kind, text) values "
    + ", ".join(f"(?1, ?2, ?3 + {row}, 'text', ?{row + 3})" for row in range(1, rows + 1))
    for rows in (64, 8, 1)
}


def append(db: Connection, session: SessionId, blocks: Iterable[Block], *, at: datetime) -> int:
    """Append blocks to the output of a session. Returns the number of its last block."""
    for block in blocks:
        append_one(db, session, block, at=at)
    return count(db, session)


def append_texts(
    db: Connection, session: SessionId, texts: Iterable[str], *, at: datetime
) -> None:
    """Append texts, one block each. This must be fast: they are most of what agents stream."""
    rest = [bounded(each) for each in texts]
    number = count(db, session)
    for rows, statement in _INSERT_TEXTS.items():
        while len(rest) >= rows:
            db.execute(statement, (session, stamp(at), number, *rest[:rows]))
            number += rows
            rest = rest[rows:]


def append_one(db: Connection, session: SessionId, block: Block, *, at: datetime) -> None:
    """Append a block. This must be fast: it is part of most hook calls."""
    db.execute(
        _INSERT,
        (
            session,
            block.kind,
            stamp(at),
            block.failed,
            _storable(block.tool),
            block.call_id and _storable(block.call_id),
            _encoded(block.data) if block.data else "",
            bounded(block.text),
        ),
    )


def count(db: Connection, session: SessionId) -> int:
    """Return the number of blocks of a session, which is the number of its last one."""
    (number,) = db.execute(
        "select coalesce(max(number), 0) from blocks where session = ?", (session,)
    ).fetchone()
    return int(number)


def last(
    db: Connection,
    session: SessionId,
    limit: int,
    *,
    after: int = 0,
    kinds: Collection[BlockKind] = (),
) -> list[StoredBlock]:
    """Return the last blocks after a number, of these kinds or of all kinds; oldest first.

    They are fewer than ``limit`` if they would have more than ``MAX_READ_CHARACTERS``.
    """
    values = (session, after, not kinds, json.dumps([*kinds]), limit)
    return _read_within(db.execute(f"{_FOUND} order by number desc limit ?5", values))[::-1]


def after(
    db: Connection,
    session: SessionId,
    number: int,
    limit: int,
    *,
    kinds: Collection[BlockKind] = (),
) -> list[StoredBlock]:
    """Return the first blocks after a number, of these kinds or of all kinds; oldest first.

    They are fewer than ``limit`` if they would have more than ``MAX_READ_CHARACTERS``.
    """
    values = (session, number, not kinds, json.dumps([*kinds]), limit)
    return _read_within(db.execute(f"{_FOUND} order by number limit ?5", values))


#: The last results in which failures are searched.
MAX_RESULTS = 1_000


def failures(db: Connection, session: SessionId) -> dict[str, str]:
    """Return why tool calls of a session failed, by the agent's own ids of the calls."""
    rows = db.execute(
        "select call_id, text from (select call_id, text, failed from blocks"
        " where session = ? and kind = 'tool-result' order by number desc limit ?)"
        " where failed and call_id <> ''",
        (session, MAX_RESULTS),
    )
    return {row["call_id"]: failure_text(row["text"]) for row in rows}


def _read_within(rows: Iterable[Row]) -> list[StoredBlock]:
    """Read rows up to ``MAX_READ_CHARACTERS``, at least one."""
    found: list[StoredBlock] = []
    characters = 0
    for row in rows:
        characters += len(row["text"]) + len(row["data"])
        if found and characters > MAX_READ_CHARACTERS:
            break
        found.append(_read(row))
    return found


def forget(db: Connection, session: SessionId, *, limit: int) -> int:
    """Delete the oldest blocks of a session that is deleted. Returns how many."""
    return db.execute(
        "delete from blocks where id in"
        " (select id from blocks where session = ? order by number limit ?)",
        (session, limit),
    ).rowcount


#: Spares the last block of a live session: the next one gets its number from it.
_FORGET_AGED = """
    delete from blocks where at < ?
        and id in (select id from blocks where id > 0 order by id limit ?)
        and (exists (select 1 from blocks later
                where later.session = blocks.session and later.number > blocks.number)
            or exists (select 1 from sessions
                where sessions.id = blocks.session and ended_at is not null))
"""


def forget_aged(db: Connection, *, before: datetime, limit: int) -> int:
    """Delete the oldest blocks that are older than a time. Returns how many."""
    first = "select at from blocks where id = (select min(id) from blocks)"
    oldest = db.execute(first).fetchone()
    if oldest is None or oldest["at"] >= before.isoformat():
        return 0
    return db.execute(_FORGET_AGED, (before.isoformat(), limit)).rowcount


def bounded(text: str) -> str:
    """Return the text as it is stored: a long one is cut, and says how much was dropped."""
    return _storable(shortened(text, MAX_TEXT_CHARACTERS))


def _storable(text: str) -> str:
    """Replace lone surrogates, which no encoding of a database can hold."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _encoded(data: Mapping[str, Any]) -> str:
    encoded = json.dumps(data, ensure_ascii=False)
    if len(encoded) > MAX_DATA_CHARACTERS:
        encoded = json.dumps(_with_short_texts(data), ensure_ascii=False)
    if len(encoded) > MAX_DATA_CHARACTERS:
        return json.dumps({"dropped_characters": len(encoded)})
    return _storable(encoded)


def _with_short_texts(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    match value:
        case str():
            return shortened(value, MAX_FIELD_CHARACTERS)
        case Mapping():
            return {name: _with_short_texts(each) for name, each in value.items()}
        case list() | tuple():
            return [_with_short_texts(each) for each in value]
        case _:
            return value


def _read(row: Row) -> StoredBlock:
    return StoredBlock(
        BlockKind(row["kind"]),
        row["text"],
        row["tool"],
        row["call_id"],
        msgspec.json.decode(row["data"]) if row["data"] else {},
        bool(row["failed"]),
        number=row["number"],
        at=datetime.fromisoformat(row["at"]),
    )
