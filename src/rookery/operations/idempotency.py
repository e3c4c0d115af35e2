"""Run operations for every interface: check the scope, and replay answers by key."""

from __future__ import annotations

import hashlib
from typing import TypeVar

from rookery.model.scopes import Identity
from rookery.operations.table import (
    Asked,
    Caller,
    House,
    Operation,
    answered_before,
    require,
    require_valid,
)
from rookery.store import commands

A = TypeVar("A", bound=Asked)
T = TypeVar("T")


async def ask(
    house: House, operation: Operation[A, T], asked: A, *, identity: Identity, key: str = ""
) -> T:
    """Run an operation for a caller; under an idempotency key only once."""
    digest = hashlib.sha256(asked.model_dump_json().encode()).hexdigest()
    word = f"{identity.name}: {key}"
    caller = Caller(identity, commands.Key(word, operation.name, digest) if key else None)
    require(caller, operation.need)
    # One at a time under a key: two concurrent calls would both find that it is not done.
    async with house.key_locks.held(word if key else ""):
        answer = await answered_before(house, caller, operation.answers)
        if answer is None:
            answer = await operation.run(house, caller, asked)
    if operation.method == "GET":  # the token may be revoked during a long wait
        await require_valid(house, caller)
    return answer
