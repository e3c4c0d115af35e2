"""JSON-RPC under malformed requests: each is answered in the right form, at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.api.rpc.catalog import METHODS
from tests.support.real.rookery import Rookery
from tests.support.real.rpc import RpcConnection

pytestmark = [pytest.mark.real, pytest.mark.spec("I3", "K4")]

#: Methods that would end the daemon or its session, or write a file anywhere.
_EXCLUDED = {"stop", "end", "end_all", "claude-code.kill", "keys", "backup"}

NAMES = sorted(METHODS.keys() - _EXCLUDED)

#: Any text, halves of characters included, which JSON can write and UTF-8 cannot.
TEXTS = st.text(st.characters(exclude_categories=()))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def calls(draw: st.DrawFn) -> dict[str, Any]:
    """Make something like a call: some members wrong, missing or of another type."""
    method = draw(st.sampled_from(NAMES) | st.text())
    fields = [*METHODS[method].asks.model_fields] if method in METHODS else []
    names = st.sampled_from([*fields, "idempotencyKey", "more"])
    # A wait for a session that exists would last as long as it says.
    values = VALUES if "timeout" in fields else VALUES | st.just("anna-1")
    params = draw(st.dictionaries(names, values, max_size=5) | VALUES)
    call = {
        "jsonrpc": draw(st.just("2.0") | SCALARS),
        "id": draw(SCALARS | VALUES),
        "method": draw(st.just(method) | VALUES),
        "params": params,
    }
    dropped = draw(st.sets(st.sampled_from(sorted(call)), max_size=2))
    return {name: value for name, value in call.items() if name not in dropped}


@pytest.fixture(scope="module")
def rpc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RpcConnection]:
    """Give a connection to a daemon of its own, which has a session."""
    rookery = Rookery(tmp_path_factory.mktemp("rpc"))
    rookery.up()
    rookery.start("anna-1")
    with RpcConnection(rookery) as connection:
        yield connection
    rookery.clear_away()


def require_reply(reply: dict[str, Any]) -> None:
    """Check that a reply has the form that the specification of JSON-RPC gives it."""
    assert reply["jsonrpc"] == "2.0"
    assert ("result" in reply) != ("error" in reply)
    assert set(reply) <= {"jsonrpc", "id", "result", "error"}
    if "error" in reply:
        code = reply["error"]["code"]
        assert code in {-32700, -32600, -32601, -32602, -32603} or -32099 <= code <= -32000
        assert code != -32603, reply
        assert reply["error"]["data"]["code"]


def require_answer(status: int, answer: Any) -> None:  # noqa: ANN401 - JSON
    assert status in {200, 204}
    if status == 204:
        assert answer is None
        return
    for reply in answer if isinstance(answer, list) else [answer]:
        require_reply(reply)


EXAMPLES = settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@EXAMPLES
@given(body=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_bytes_that_are_not_json_are_answered_with_an_error(
    rpc: RpcConnection, body: bytes
) -> None:
    require_answer(*rpc.post(body))


@EXAMPLES
@given(value=VALUES)
def test_json_that_is_not_a_call_is_answered_with_an_error(
    rpc: RpcConnection, value: object
) -> None:
    require_answer(*rpc.post(json.dumps(value).encode()))


@EXAMPLES
@given(call=calls())
def test_a_malformed_call_is_answered_and_never_fails_within(
    rpc: RpcConnection, call: dict[str, Any]
) -> None:
    require_answer(*rpc.post(json.dumps(call).encode()))


@EXAMPLES
@given(batch=st.lists(calls() | VALUES, max_size=5))
def test_a_malformed_batch_has_a_reply_for_each_call_that_wants_one(
    rpc: RpcConnection, batch: list[Any]
) -> None:
    body = json.dumps(batch).encode()

    status, answer = rpc.post(body)

    require_answer(status, answer)
    if isinstance(answer, list):
        assert len(answer) <= len(batch)
