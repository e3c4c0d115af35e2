"""Define what an operation is: its parameters, its answer, its path and its function."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from rookery.model.errors import BadInput
from rookery.model.scopes import Need
from rookery.operations.context import Caller, Context

_NUMBER = re.compile(r"\s*[-+]?[\d._]+\s*")


def _read_moment(value: object) -> object:
    """Read a time in ISO 8601; a number, which pydantic would accept, is refused."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        raise ValueError("a time in ISO 8601 is expected")  # noqa: TRY004 - pydantic's way
    return value


#: A time that a caller gives.
Moment: TypeAlias = Annotated[datetime, BeforeValidator(_read_moment)]


class Params(BaseModel):
    # Built on first use: building all models takes a fifth of the daemon's startup time.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Nothing(Params):
    pass


class OfSession(Params):
    session: str = Field(description="id, name, native id, or the beginning of one")


A = TypeVar("A", bound=Params)
T = TypeVar("T")

Run = Callable[[Context, Caller, A], Awaitable[T]]


@dataclass(frozen=True, slots=True)
class Operation(Generic[A, T]):
    name: str
    method: Literal["GET", "POST"]
    path: str
    need: Need
    run: Run[A, T]
    asks: type[A]
    answers: type[T]


def get(name: str, path: str, need: Need, run: Run[A, T]) -> Operation[A, T]:
    """Return an operation that only reads."""
    return _operation(name, "GET", path, need, run)


def post(name: str, path: str, need: Need, run: Run[A, T]) -> Operation[A, T]:
    """Return an operation that changes something."""
    return _operation(name, "POST", path, need, run)


def _operation(
    name: str, method: Literal["GET", "POST"], path: str, need: Need, run: Run[A, T]
) -> Operation[A, T]:
    """Read the types of the parameters and of the answer from the function's annotations."""
    types = get_type_hints(run)
    return Operation(name, method, path, need, run, types["params"], types["return"])


def misshapen(faults: Sequence[Any]) -> BadInput:
    """Return an error that names the first fault of invalid input and its location."""
    first = faults[0]
    where = ".".join(str(word) for word in first["loc"])
    return BadInput(f"{where}: {first['msg']}" if where else first["msg"])


def shape_of(answers: type[T]) -> TypeAdapter[T]:
    """Return the adapter that reads and writes an answer."""
    return _shape_of(answers)  # type: ignore[arg-type]  # mypy: a type has no hash


@cache  # making one takes 1 ms
def _shape_of(answers: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - a type
    return TypeAdapter(answers)
