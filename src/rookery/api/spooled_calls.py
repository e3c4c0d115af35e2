"""Take in a batch of spooled hook calls in one transaction, in order; park poisoned ones.

One transaction, because a batch that fails must fail as a whole: if a later call were committed
while an earlier one is still to be retried, a turn would end before it began.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from sqlite3 import Connection, DataError, IntegrityError, ProgrammingError

from rookery.hook_protocol import Hook, read_call, read_head
from rookery.model.errors import HookUnreadable, RookeryError
from rookery.store.connections import savepoint
from rookery.tracking.hook_callers import write_informed
from rookery.tracking.intake import Intake, Taking

#: Errors that are caused by the call itself, so that every retry would raise them again.
POISON = (
    *(HookUnreadable, ValueError, LookupError, TypeError, AttributeError),
    *(ArithmeticError, RecursionError, IntegrityError, DataError, ProgrammingError),
)


@dataclass(frozen=True, slots=True)
class SpooledCall:
    """A call as it was read from its file: a hook, or the error that reading it raised."""

    key: str
    hook: Hook | Exception


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A call that is ready for the transaction, or the error to park it with."""

    key: str
    taking: Taking | Exception


def read_spooled(intake: Intake, call: bytes) -> SpooledCall:
    """Parse a call and find its agent's process. Reads the process table."""
    try:
        return SpooledCall(key_of(call), intake.with_process(read_call(call)))
    except POISON as error:
        return SpooledCall(key_of(call), error)


async def take_in(intake: Intake, calls: Sequence[SpooledCall]) -> None:
    """Commit all of the calls, or none. Raises what the store raises."""
    prepared = [await _prepare(intake, call) for call in calls]

    def take_in_all(db: Connection) -> None:
        for each in prepared:
            _take_in_one(intake, db, each)

    if prepared:
        await write_informed(intake.database, take_in_all)


async def _prepare(intake: Intake, call: SpooledCall) -> _Prepared:
    if isinstance(call.hook, Exception):
        return _Prepared(call.key, call.hook)
    try:
        return _Prepared(call.key, await intake.prepare(call.hook))
    except POISON as error:
        return _Prepared(call.key, error)


def _take_in_one(intake: Intake, db: Connection, call: _Prepared) -> None:
    if isinstance(call.taking, Exception):
        intake.note_parked(db, call.key, call.taking)
        return
    try:
        with savepoint(db):
            call.taking(db)
    except (*POISON, RookeryError) as error:
        if not db.in_transaction:  # SQLite has rolled back everything, also earlier calls
            raise
        intake.note_parked(db, call.key, error)


def key_of(call: bytes) -> str:
    """Return the key under which a call is parked."""
    try:
        return visible(read_head(call.partition(b"\n")[0]).key)
    except HookUnreadable:
        # A digest of the whole call: an unknown first line may contain a badge.
        return f"unreadable-{sha256(call).hexdigest()[:32]}"


def visible(key: str) -> str:
    """Return a key that SQLite can store: bytes that are not UTF-8 are replaced."""
    return key.encode(errors="replace").decode()
