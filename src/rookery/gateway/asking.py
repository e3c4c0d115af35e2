"""The one way to an operation, whatever the door: whether one may, and what was answered."""

from __future__ import annotations

import hashlib
from typing import TypeVar

from rookery.gateway.table import (
    Asked,
    Caller,
    House,
    Operation,
    answered_before,
    require,
)
from rookery.model.scopes import Identity
from rookery.store import commands

A = TypeVar("A", bound=Asked)
T = TypeVar("T")


async def ask(
    house: House, operation: Operation[A, T], asked: A, *, identity: Identity, key: str = ""
) -> T:
    """Carry an operation out for whoever asks; under a key only once."""
    digest = hashlib.sha256(asked.model_dump_json().encode()).hexdigest()
    word = f"{identity.name}: {key}"
    caller = Caller(identity, commands.Key(word, operation.name, digest) if key else None)
    require(caller, operation.need)
    answer = await answered_before(house, caller, operation.answers)
    return await operation.run(house, caller, asked) if answer is None else answer
