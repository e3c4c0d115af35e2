"""The shapes of calls and replies, for the description of the interface."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

PATH = "/rpc"

#: The most calls of one batch.
MAX_BATCH_CALLS = 100

Id: TypeAlias = str | float | None


class RpcCallShape(BaseModel):
    model_config = ConfigDict(extra="forbid", title="RpcCall")

    jsonrpc: Literal["2.0"]
    method: str = Field(description="the name of a method")
    params: dict[str, Any] | None = Field(
        None, description="by name, in snake_case or camelCase; also `idempotency_key`"
    )
    id: Id = Field(None, description="of the reply; a call without an id gets none")


class RpcErrorDetail(BaseModel):
    code: str
    message: str
    details: dict[str, str] = Field(default_factory=dict)


class RpcErrorShape(BaseModel):
    model_config = ConfigDict(title="RpcError")

    code: int
    message: str
    data: RpcErrorDetail = Field(description="the error as /v1 answers it")


class RpcResult(BaseModel):
    jsonrpc: Literal["2.0"]
    id: Id
    result: Any = Field(description="what the operation answers on /v1")


class RpcFailure(BaseModel):
    jsonrpc: Literal["2.0"]
    id: Id
    error: RpcErrorShape


RpcReply: TypeAlias = RpcResult | RpcFailure
Batch: TypeAlias = Annotated[
    list[RpcCallShape], Field(min_length=1, max_length=MAX_BATCH_CALLS)
]
RpcBody: TypeAlias = RpcCallShape | Batch
RpcAnswer: TypeAlias = RpcReply | list[RpcReply]
