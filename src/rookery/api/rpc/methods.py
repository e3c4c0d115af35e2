"""The table of methods: every operation of the catalogue, and those for other tools."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_type_hints

from pydantic import BaseModel, ValidationError

from rookery.model.scopes import Identity, Need
from rookery.operations.catalog import OPERATIONS
from rookery.operations.context import Context
from rookery.operations.idempotency import ask
from rookery.operations.operation import Operation, Params, misshapen, shape_of

_BY_NAME = {operation.name: operation for operation in OPERATIONS}

A = TypeVar("A", bound=Params)


@dataclass(frozen=True, slots=True)
class RpcCaller:
    """A caller, and the services that answer it."""

    context: Context
    identity: Identity
    key: str = ""  #: the idempotency key of the call

    async def ask(self, name: str, /, **arguments: object) -> Any:  # noqa: ANN401 - what it answers
        """Run an operation as the caller; an operation that changes something, under its key.

        A method runs at most one that changes something: a key is of one command.
        """
        operation = _BY_NAME[name]
        try:
            params = operation.asks(**arguments)
        except ValidationError as error:
            raise misshapen(error.errors(include_url=False)) from None
        return await run_operation(self, operation, params)


@dataclass(frozen=True, slots=True)
class RpcMethod(Generic[A]):
    name: str
    summary: str
    need: Need
    only_reads: bool
    asks: type[A]
    answers: Any  #: the type of its result
    run: Callable[[RpcCaller, A], Awaitable[bytes]]  #: returns the result as JSON


async def run_operation(
    caller: RpcCaller, operation: Operation[Any, Any], params: Params
) -> Any:  # noqa: ANN401 - what it answers
    key = caller.key if operation.method == "POST" else ""
    return await ask(caller.context, operation, params, identity=caller.identity, key=key)


def _of_operation(operation: Operation[Any, Any]) -> RpcMethod[Any]:
    async def run(caller: RpcCaller, params: Params) -> bytes:
        answer = await run_operation(caller, operation, params)
        return shape_of(operation.answers).dump_json(answer)

    return RpcMethod(
        operation.name,
        summary_of(operation.run),
        operation.need,
        operation.method == "GET",
        operation.asks,
        operation.answers,
        run,
    )


def written(
    name: str, need: Need, function: Callable[[RpcCaller, A], Awaitable[BaseModel]]
) -> RpcMethod[A]:
    """Return the method that a function implements; its docstring is the summary."""
    types = get_type_hints(function)

    async def run(caller: RpcCaller, params: A) -> bytes:
        return (await function(caller, params)).model_dump_json(by_alias=True).encode()

    reads = need is Need.READ
    summary = summary_of(function)
    return RpcMethod(name, summary, need, reads, types["params"], types["return"], run)


def summary_of(function: Callable[..., object]) -> str:
    return (inspect.getdoc(function) or "").split("\n")[0]


OPERATION_METHODS: Mapping[str, RpcMethod[Any]] = {
    each.name: _of_operation(each) for each in OPERATIONS
}
