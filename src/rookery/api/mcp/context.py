"""Define tools, and run operations with the rights of a tool's caller."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar, get_type_hints

from pydantic import Field

from rookery.model.errors import BadInput
from rookery.model.facts import SessionId
from rookery.model.scopes import Identity, Need
from rookery.operations.catalog import OPERATIONS
from rookery.operations.context import Context
from rookery.operations.idempotency import ask
from rookery.operations.operation import Params

#: The name of a computer for all callers on it.
LOCAL = "local"

_BY_NAME = {operation.name: operation for operation in OPERATIONS}


class OnComputer(Params):
    computer: str = Field(LOCAL, description="its name, or 'local'")


class OnSession(OnComputer):
    session_id: str = Field(description="id or name of the session")


@dataclass(frozen=True, slots=True)
class ToolContext:
    context: Context
    identity: Identity
    key: str = ""  #: the idempotency key of the tool call; a repeat under it does nothing

    @property
    def own(self) -> SessionId | None:
        """Return the session that calls the tool, if the caller is one."""
        return self.identity.session

    def under_part(self, part: str) -> ToolContext:
        """Return the context for one of several calls of the same operation: a key for each."""
        return replace(self, key=f"{self.key} {part}") if self.key else self

    async def ask(self, name: str, /, **arguments: object) -> Any:  # noqa: ANN401 - what it answers
        """Run an operation as the caller."""
        operation = _BY_NAME[name]
        key = f"{self.key} {name}" if self.key and operation.method == "POST" else ""
        params = operation.asks(**arguments)
        return await ask(self.context, operation, params, identity=self.identity, key=key)

    def require_here(self, computer: str) -> None:
        """Refuse a call for another computer. Raises ``BadInput``."""
        this_computer = self.context.journal.computer
        if computer not in {LOCAL, this_computer}:
            raise BadInput(
                f"unknown computer {computer[:80]!r}; this one is {this_computer!r}."
            )


A = TypeVar("A", bound=OnComputer)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tool(Generic[A, T]):
    """A tool. Agents read its description."""

    name: str
    description: str
    need: Need
    run: Callable[[ToolContext, A], Awaitable[T]]
    asks: type[A]
    answers: type[T]


def written(need: Need, run: Callable[[ToolContext, A], Awaitable[T]]) -> Tool[A, T]:
    """Return the tool that a function implements; its docstring is the description."""
    types = get_type_hints(run)
    description = inspect.getdoc(run) or ""
    return Tool(run.__name__, description, need, run, types["params"], types["return"])


def declared(
    name: str,
    description: str,
    asks: type[A],
    operation: str,
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> Tool[A, Any]:
    """Return a tool that passes its arguments, some of them ``renamed``, to an operation."""

    async def run(context: ToolContext, params: A) -> Any:  # noqa: ANN401 - what it answers
        values = params.model_dump(exclude={"computer"})
        arguments = {renamed.get(name, name): value for name, value in values.items()}
        return await context.ask(operation, **arguments)

    operation_ = _BY_NAME[operation]
    return Tool(name, description, operation_.need, run, asks, operation_.answers)
