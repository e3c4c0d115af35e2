"""Read calls from JSON values, and write their replies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from rookery.api.rpc.errors import INVALID_PARAMS, INVALID_REQUEST, RpcError, refusal

VERSION = "2.0"

#: The members of a call. A misspelt one is an error: a call without its parameters could do
#: something else.
MEMBERS = frozenset({"jsonrpc", "method", "params", "id"})

CallId: TypeAlias = str | int | float | None


@dataclass(frozen=True, slots=True)
class RpcCall:
    method: str
    params: object = None
    id: CallId = None
    is_notification: bool = False  #: it gets no reply

    @property
    def by_name(self) -> Mapping[str, object]:
        """Return the parameters by their names. Raises ``RpcError``."""
        if self.params is None or self.params == []:
            return {}
        if not isinstance(self.params, dict):
            raise refusal(
                INVALID_PARAMS,
                "give the parameters by their names, as an object; positional ones are not"
                " accepted.",
            )
        return self.params


def id_of(value: object) -> CallId:
    """Return the id to reply to: that of the call if it has a valid one, else null."""
    found = value.get("id") if isinstance(value, dict) else None
    return found if _is_id(found) else None


def read_call(value: object) -> RpcCall:
    """Return the call that a JSON value is. Raises ``RpcError``."""
    if isinstance(value, list):
        raise refusal(INVALID_REQUEST, "a batch must not contain another batch.")
    if not isinstance(value, dict):
        raise refusal(INVALID_REQUEST, "a call is a JSON object.")
    if problem := _problem(value):
        raise refusal(INVALID_REQUEST, problem)
    return RpcCall(value["method"], value.get("params"), value.get("id"), "id" not in value)


def _problem(value: Mapping[str, object]) -> str:
    """Return why an object is not a call; empty if it is one."""
    if value.get("jsonrpc") != VERSION:
        return f'a call has the member "jsonrpc" with the value "{VERSION}".'
    if not isinstance(value.get("method"), str):
        return 'a call has the member "method", the name of a method.'
    if not isinstance(value.get("params"), dict | list | None):
        return "params: an object is expected."
    if not _is_id(value.get("id")):
        return "id: a string, a number or null is expected."
    if unknown := sorted(value.keys() - MEMBERS):
        return f"unknown member {unknown[0][:80]!r}; known: {', '.join(sorted(MEMBERS))}."
    return ""


def _is_id(value: object) -> TypeGuard[CallId]:
    return value is None or (
        isinstance(value, str | int | float) and not isinstance(value, bool)
    )


def write_result(call_id: CallId, result: bytes) -> bytes:
    """Return a reply with a result, which is JSON already."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_encode(call_id), result)


def write_error(call_id: CallId, error: RpcError) -> bytes:
    described = _encode(error.as_json())
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (_encode(call_id), described)


def _encode(value: object) -> bytes:
    # In ASCII: an id may contain half of a character, which UTF-8 cannot encode.
    return json.dumps(value, separators=(",", ":")).encode()
