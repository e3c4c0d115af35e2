"""Answer calls of JSON-RPC over HTTP: a single one, or a batch, one after the other."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from rookery.api.disconnects import while_connected
from rookery.api.error_reports import report_on
from rookery.api.parameters import KEY_HEADER, one_method, read_key
from rookery.api.rpc.calls import RpcCall, id_of, read_call, write_error, write_result
from rookery.api.rpc.catalog import METHODS
from rookery.api.rpc.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RpcError,
    error_of,
    refusal,
)
from rookery.api.rpc.methods import RpcCaller, RpcMethod
from rookery.api.rpc.parameters import KEY, read_params, split_key
from rookery.api.rpc.shapes import MAX_BATCH_CALLS, PATH
from rookery.api.strict_json import load
from rookery.model.errors import BadInput, CommandRefused, Forbidden, RookeryError
from rookery.model.scopes import Scope
from rookery.model.spelling_suggestions import did_you_mean
from rookery.operations.access import require_valid
from rookery.operations.context import Caller, Context
from rookery.store import sessions
from rookery.supervise import outcome_of

_log = logging.getLogger(__name__)

#: Bytes of the replies to a batch after which no further call of it is run.
MAX_BATCH_REPLY_BYTES = 16 * 1024 * 1024


def rpc_route(context: Context) -> Route:
    """Return the route of JSON-RPC."""

    async def endpoint(request: Request) -> Response:
        caller = RpcCaller(context, request.scope["identity"])
        answer = await RpcRequest(request, caller).answer(await request.body())
        if answer is None:  # there were only notifications
            return Response(status_code=204)
        return Response(answer, media_type="application/json")

    return one_method(PATH, endpoint, "POST")


@dataclass(frozen=True, slots=True)
class RpcRequest:
    """An HTTP request that carries one call or a batch of them."""

    http: Request
    caller: RpcCaller

    async def answer(self, body: bytes) -> bytes | None:
        """Run the calls of a body. Return their replies; none if all are notifications."""
        try:
            value = await load(body)
            key = read_key(self.http)
        except BadInput as error:
            return write_error(None, RpcError(PARSE_ERROR, report_on(error)))
        if isinstance(value, list):
            return await self._answer_batch(value, key)
        return await self._reply(value, key)

    async def _answer_batch(self, values: Sequence[object], key: str) -> bytes | None:
        if problem := _batch_problem(values, key):
            return write_error(None, refusal(INVALID_REQUEST, problem))
        replies: list[bytes] = []
        for value in values:
            size = sum(map(len, replies))
            reply = await self._reply(value, is_full=size > MAX_BATCH_REPLY_BYTES)
            if reply is not None:
                replies.append(reply)
        return b"[%b]" % b",".join(replies) if replies else None

    async def _reply(
        self, value: object, key: str = "", *, is_full: bool = False
    ) -> bytes | None:
        """Run one call, and return its reply; none if it is a notification."""
        try:
            call = read_call(value)
        except RpcError as error:
            return write_error(id_of(value), error)
        # A call that fails must not end the others of its batch.
        match await outcome_of(self._run(call, key, is_full=is_full)):
            case ClientDisconnect() as gone:
                raise gone
            case Exception() as failure:
                reply = write_error(call.id, _described(call, failure))
            case result:
                reply = write_result(call.id, result)
        return None if call.is_notification else reply

    async def _run(self, call: RpcCall, key: str, *, is_full: bool) -> bytes:
        """Return the result of a call. Raises ``RpcError`` and what its method raises."""
        if is_full and not call.is_notification:
            raise CommandRefused("the replies of the batch are too large; send this again.")
        method = _find(call.method)
        key, given = split_key(call.by_name, key)
        params = read_params(method.asks, given)
        if call.is_notification and method.only_reads:
            return b""
        await self._require_valid()
        running = method.run(replace(self.caller, key=key), params)
        if method.only_reads and getattr(params, "timeout", None):
            return await while_connected(self.http, running)
        return await running

    async def _require_valid(self) -> None:
        """Refuse a caller whose rights have ended during an earlier call of the batch."""
        context, identity = self.caller.context, self.caller.identity
        await require_valid(context, Caller(identity))
        if identity.scope is Scope.SESSION and identity.session:
            is_live = partial(sessions.is_live, session=identity.session)
            if not await context.database.read(is_live):
                raise Forbidden("the session of the caller has ended.")


def _batch_problem(values: Sequence[object], key: str) -> str:
    """Return why a batch is refused as a whole; empty if it is not."""
    if not values:
        return "a batch must contain a call."
    if len(values) > MAX_BATCH_CALLS:
        return f"a batch has at most {MAX_BATCH_CALLS} calls; this one has {len(values)}."
    if key:
        return f"the header {KEY_HEADER} is for a single call; give each call its own {KEY}."
    return ""


def _find(name: str) -> RpcMethod[Any]:
    if (method := METHODS.get(name)) is None:
        near = did_you_mean(name, METHODS)
        raise refusal(METHOD_NOT_FOUND, f"unknown method {name[:80]!r}. {near}".rstrip())
    return method


def _described(call: RpcCall, error: Exception) -> RpcError:
    described = error_of(error)
    if described.code == INTERNAL_ERROR and not isinstance(error, RookeryError):
        _log.error("The method %s failed.", call.method[:100], exc_info=error)
    return described
