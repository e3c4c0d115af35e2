"""Run operations: check the scope, write once under a key, and replay answers by key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime
from functools import partial
from sqlite3 import Connection
from typing import TypeVar

from rookery.model.scopes import Identity
from rookery.operations.access import require, require_valid
from rookery.operations.context import Caller, Context
from rookery.operations.operation import Operation, Params, shape_of
from rookery.store import answered_commands

A = TypeVar("A", bound=Params)
T = TypeVar("T")


async def ask(
    context: Context,
    operation: Operation[A, T],
    params: A,
    *,
    identity: Identity,
    key: str = "",
) -> T:
    """Run an operation for a caller; under an idempotency key only once."""
    digest = hashlib.sha256(params.model_dump_json().encode()).hexdigest()
    scoped_key = f"{identity.name}: {key}"
    caller = Caller(
        identity, answered_commands.Key(scoped_key, operation.name, digest) if key else None
    )
    require(caller, operation.need)
    # One at a time under a key: two concurrent calls would both find that it is not done.
    async with context.key_locks.held(scoped_key if key else ""):
        answer = await answered_before(context, caller, operation.answers)
        if answer is None:
            answer = await operation.run(context, caller, params)
    if operation.method == "GET":  # the token may be revoked during a long wait
        await require_valid(context, caller)
    return answer


async def once(
    context: Context, caller: Caller, answers: type[T], do: Callable[[Connection], T]
) -> T:
    """Write in one transaction. A repeat under the same key returns the first answer."""
    shape = shape_of(answers)

    def write(db: Connection) -> str:
        at = context.journal.clock.now()
        return answered_commands.once(
            db, caller.key, lambda db: shape.dump_json(do(db)).decode(), at
        )

    return shape.validate_json(await context.database.write(write))


async def begin_acting(
    context: Context, caller: Caller, do: Callable[[Connection], None]
) -> datetime | None:
    """Write what precedes an action outside the database, and that its key has begun.

    Return when the same command was begun before, if it is not known to be done; in that
    case nothing is written.
    """

    def write(db: Connection) -> datetime | None:
        at = context.journal.clock.now()
        begun_at = answered_commands.begin(db, caller.key, at) if caller.key else None
        if begun_at is None:
            do(db)
        return begun_at

    return await context.database.write(write)


async def finish_acting(
    context: Context, caller: Caller, answers: type[T], do: Callable[[Connection], T]
) -> T:
    """Write what follows an action that was begun, and store its answer under the key."""
    shape = shape_of(answers)

    def write(db: Connection) -> T:
        done = do(db)
        if caller.key:
            answered_commands.finish(db, caller.key, shape.dump_json(done).decode())
        return done

    return await context.database.write(write)


async def answered_before(context: Context, caller: Caller, answers: type[T]) -> T | None:
    """Return the stored answer to the same command, if it was given before."""
    if caller.key is None:
        return None
    before = await context.database.peek(partial(answered_commands.answered, key=caller.key))
    if before is None:
        return None
    return shape_of(answers).validate_json(before)
