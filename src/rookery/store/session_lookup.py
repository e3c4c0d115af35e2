"""Find sessions by what users call them: a name, an id, its beginning, a part of a name."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from sqlite3 import Connection

from rookery.model.errors import SessionAmbiguous, SessionUnknown
from rookery.model.facts import SessionId
from rookery.model.names import SHOWN_NAME_CHARACTERS
from rookery.model.sessions import Session
from rookery.model.spelling_suggestions import did_you_mean
from rookery.store.sessions import LIVE, read_session

#: Minimum length of an abbreviated id: fewer characters match an id by chance. A name is
#: chosen by a person, and may be abbreviated to any unique prefix.
MIN_ID_CHARACTERS = 4

#: Minimum length of a part in the middle of a name.
MIN_PART_CHARACTERS = 2

#: The newest live sessions whose names are compared with an unknown name.
MAX_COMPARED_SESSIONS = 200

_NAME_BEGINS = "substr(name, 1, length(:word)) = :word"

_NAME_CONTAINS = "instr(name, :word) > 0"

_ID_BEGINS = (
    "substr(id, 1, length(:word)) = :word or substr(native_id, 1, length(:word)) = :word"
)


def resolve(
    db: Connection,
    word: str,
    *,
    among: Collection[SessionId] | None = None,
    by_part: bool = False,
) -> Session:
    """Return the session with this id, name or native id, or a prefix of one.

    If ``among`` is given, only these sessions are searched. With ``by_part`` a unique part of
    a name is enough, as well.
    """
    for condition in (
        "id = :word",
        f"name = :word and {LIVE}",
        f"native_id = :word and {LIVE}",
        "name = :word",
        "native_id = :word",
    ):
        if found := _find(db, condition, word, limit=1, among=among):
            return found[0]
    if session := _abbreviated(db, word, among=among, by_part=by_part):
        return session
    raise SessionUnknown(_unknown_message(db, word, among))


def _unknown_message(db: Connection, word: str, among: Collection[SessionId] | None) -> str:
    """Return the end of the error for an unknown word: similar names, or how to list all."""
    shown = repr(word[:SHOWN_NAME_CHARACTERS])
    live = _find(db, LIVE, word, limit=MAX_COMPARED_SESSIONS, among=among)
    if near := did_you_mean(word, (each.name for each in live)):
        return f"{shown}. {near}"
    is_short = len(word) < MIN_ID_CHARACTERS
    hint = f" (an abbreviated id needs {MIN_ID_CHARACTERS} characters)" if is_short else ""
    return f"{shown}{hint}. See them all with:  rookery ls --all"


def _abbreviated(
    db: Connection, word: str, *, among: Collection[SessionId] | None, by_part: bool
) -> Session | None:
    """Return the only session whose name or id begins so, or whose name has this part.

    Live sessions come first.

    Raises ``SessionAmbiguous`` if there are several.
    """
    if not word:
        return None
    may_be_id = len(word) >= MIN_ID_CHARACTERS
    begins = f"({_NAME_BEGINS} or {_ID_BEGINS})" if may_be_id else _NAME_BEGINS
    may_be_part = by_part and len(word) >= MIN_PART_CHARACTERS
    matches = (begins, _NAME_CONTAINS) if may_be_part else (begins,)
    for condition in (*(f"{each} and {LIVE}" for each in matches), *matches):
        found = _find(db, condition, word, limit=10, among=among)
        if len(found) > 1:
            raise SessionAmbiguous(", ".join(f"{each.name} ({each.id})" for each in found))
        if found:
            return found[0]
    return None


def _find(
    db: Connection,
    condition: str,
    word: str,
    *,
    limit: int,
    among: Collection[SessionId] | None,
) -> list[Session]:
    chosen = "" if among is None else " and id in (select value from json_each(:among))"
    rows = db.execute(
        f"select * from sessions where ({condition}){chosen}"
        f" order by created_at desc limit {limit}",
        {"word": word, "among": json.dumps([*(among or ())])},
    )
    return [read_session(row) for row in rows]


def called(db: Connection, name: str) -> Session | None:
    """Return the live session with exactly this name."""
    found = _find(db, f"name = :word and {LIVE}", name, limit=1, among=None)
    return found[0] if found else None


@dataclass(frozen=True, slots=True)
class TakenNames:
    """The names of live sessions, looked up individually, as there may be thousands."""

    db: Connection

    def __contains__(self, name: object) -> bool:
        query = f"select 1 from sessions where name = ? and {LIVE}"
        return self.db.execute(query, (name,)).fetchone() is not None
