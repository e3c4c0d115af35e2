"""Run operations for every interface: check the scope, and replay answers by key."""

from __future__ import annotations

import hashlib
from typing import TypeVar

from rookery.model.scopes import Identity
from rookery.operations.table import (
    Caller,
    Context,
    Operation,
    Params,
    answered_before,
    require,
    require_valid,
)
from rookery.store import commands

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
    word = f"{identity.name}: {key}"
    caller = Caller(identity, commands.Key(word, operation.name, digest) if key else None)
    require(caller, operation.need)
    # One at a time under a key: two concurrent calls would both find that it is not done.
    async with context.key_locks.held(word if key else ""):
        answer = await answered_before(context, caller, operation.answers)
        if answer is None:
            answer = await operation.run(context, caller, params)
    if operation.method == "GET":  # the token may be revoked during a long wait
        await require_valid(context, caller)
    return answer
