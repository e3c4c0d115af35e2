"""JSON-RPC: calls, batches and notifications, their errors, their keys and their rights."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import pytest

from rookery.api.rpc import endpoint
from rookery.api.rpc.catalog import METHODS
from rookery.api.rpc.parameters import KEY
from rookery.api.rpc.shapes import MAX_BATCH_CALLS
from rookery.model.facts import SessionId
from rookery.model.scopes import Identity, Scope
from rookery.operations.catalog import OPERATIONS
from rookery.operations.operation import shape_of
from rookery.sessions import record_end
from rookery.store import flags, tokens
from rookery.store.journal import Journal
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk, session_caller
from tests.support.rpc import RpcClient, a_call, a_notification

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I1", "I3")]


@pytest.fixture
async def desk(database: ObservedDatabase, journal: Journal) -> Desk:
    desk = Desk(database, journal)
    await desk.settle("anna-1")
    return desk


@pytest.fixture
def client(desk: Desk) -> RpcClient:
    return RpcClient(desk)


def codes(replies: list[Any]) -> list[int | None]:
    return [each.get("error", {}).get("code") for each in replies]


async def is_holding(desk: Desk) -> bool:
    return await desk.database.read(flags.is_holding)


async def test_every_operation_is_a_method(client: RpcClient) -> None:
    assert {each.name for each in OPERATIONS} < METHODS.keys()


async def test_no_parameter_of_a_method_is_named_like_the_key() -> None:
    assert [name for name, each in METHODS.items() if KEY in each.asks.model_fields] == []


async def test_a_result_is_what_v1_answers(desk: Desk, client: RpcClient) -> None:
    (operation,) = (each for each in OPERATIONS if each.name == "show")
    answer = shape_of(operation.answers).dump_json(await desk.ask("show", session="anna-1"))

    reply = await client.call("show", session="anna-1")

    assert reply == {"jsonrpc": "2.0", "id": 1, "result": json.loads(answer)}


@pytest.mark.parametrize("name", ["tail_chars", "tailChars"])
async def test_parameters_are_in_snake_case_or_camel_case(client: RpcClient, name: str) -> None:
    wrong = await client.error("data", session="anna-1", **{name: 0})

    assert wrong["code"] == -32602
    assert "tail_chars" in wrong["message"]


async def test_a_parameter_is_not_given_in_both_cases(client: RpcClient) -> None:
    error = await client.error("data", session="anna-1", tail_chars=1, tailChars=2)

    assert error["code"] == -32602
    assert "tail_chars and tailChars" in error["message"]


async def test_names_within_a_value_are_left_as_they_are(client: RpcClient) -> None:
    error = await client.error("data", session="anna-1", tail_chars={"tailChars": 1})

    assert "tail_chars: Input should be a valid integer" in error["message"]


@pytest.mark.parametrize("params", [["anna-1"], [1, 2]])
async def test_positional_parameters_are_refused_with_a_sentence(
    client: RpcClient, params: list[object]
) -> None:
    reply = await client.send({**a_call("show"), "params": params})

    assert reply["error"]["code"] == -32602
    assert "by their names" in reply["error"]["message"]


@pytest.mark.parametrize("params", [{}, [], None])
async def test_a_method_without_parameters_takes_none_in_any_form(
    client: RpcClient, params: object
) -> None:
    reply = await client.send({**a_call("mode"), "params": params})

    assert "result" in reply


@pytest.mark.parametrize("call_id", ["", "a", "\ud800", 0, -1, 2**70, 1.5, None])
async def test_an_id_of_any_allowed_type_comes_back(client: RpcClient, call_id: object) -> None:
    reply = await client.send(a_call("mode", call_id))

    assert reply["id"] == call_id
    assert "result" in reply


@pytest.mark.parametrize("call_id", [True, [], {}, [1]])
async def test_an_id_of_another_type_is_refused(client: RpcClient, call_id: object) -> None:
    reply = await client.send(a_call("mode", call_id))

    assert (reply["id"], reply["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1, "a call is a JSON object"),
        ("x", "a call is a JSON object"),
        (None, "a call is a JSON object"),
        ({}, "jsonrpc"),
        ({"jsonrpc": "1.0", "method": "mode", "id": 1}, "2.0"),
        ({"jsonrpc": 2.0, "method": "mode", "id": 1}, "2.0"),
        ({"jsonrpc": "2.0", "id": 1}, "method"),
        ({"jsonrpc": "2.0", "id": 1, "method": 1}, "method"),
        ({"jsonrpc": "2.0", "id": 1, "method": "mode", "params": 1}, "params"),
        ({"jsonrpc": "2.0", "id": 1, "method": "mode", "params": "x"}, "params"),
        ({"jsonrpc": "2.0", "id": 1, "method": "mode", "parms": {}}, "'parms'"),
        ([], "must contain a call"),
    ],
)
async def test_what_is_not_a_call_is_an_invalid_request(
    client: RpcClient, value: object, said: str
) -> None:
    reply = await client.send(value)

    assert reply["error"]["code"] == -32600
    assert said in reply["error"]["message"]
    assert reply["id"] == (value.get("id") if isinstance(value, dict) else None)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not valid JSON"),
        (b'{"jsonrpc"', "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        ("{}".encode("utf-16"), "not valid JSON"),
        (b'{"id": 1, "id": 2}', "'id' must not be given twice"),
        (b'[{"params": {"a": 1, "a": 1}}]', "'a' must not be given twice"),
        (b'{"id": NaN}', "NaN"),
        (b'{"id": -Infinity}', "-Infinity"),
        (b'{"id": 1e999}', "out of range"),
        (b'{"id": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
async def test_what_is_not_strict_json_is_a_parse_error(
    client: RpcClient, body: bytes, said: str
) -> None:
    status, reply = await client.post(body)

    assert (status, reply["id"], reply["error"]["code"]) == (200, None, -32700)
    assert said in reply["error"]["message"]


async def test_an_unknown_method_is_not_found_and_near_ones_are_named(
    client: RpcClient,
) -> None:
    error = await client.error("staus")

    assert error["code"] == -32601
    assert "status" in error["message"]


@pytest.mark.parametrize(
    ("method", "params", "code", "kind"),
    [
        ("show", {}, -32602, "bad-input"),
        ("show", {"session": 1}, -32602, "bad-input"),
        ("show", {"session": "anna-1", "more": 1}, -32602, "bad-input"),
        ("show", {"session": "nobody"}, -32004, "session-unknown"),
        ("start", {"agent": "x", "project": "/"}, -32602, "agent-unknown"),
        ("turns", {"session": "anna-1", "timeout": True}, -32602, "bad-input"),
        ("resume", {"session": "anna-1"}, -32000, "command-refused"),
        ("send", {"session": "anna-1", "words": "\ud800"}, -32602, "bad-input"),
    ],
)
async def test_an_error_has_its_code_and_what_v1_would_say(
    client: RpcClient, method: str, params: dict[str, object], code: int, kind: str
) -> None:
    error = await client.error(method, **params)

    assert (error["code"], error["data"]["code"]) == (code, kind)
    assert error["message"] == error["data"]["message"] != ""


async def test_a_failure_within_is_an_internal_error_and_is_logged(
    desk: Desk, client: RpcClient, caplog: pytest.LogCaptureFixture
) -> None:
    error = await client.error("discover")  # there is no discovery here

    assert (error["code"], error["data"]["code"]) == (-32603, "failed")
    assert "The method discover failed." in caplog.text


async def test_a_batch_keeps_its_order_and_no_member_hurts_another(
    desk: Desk, client: RpcClient
) -> None:
    values = [
        a_call("mode", "first"),
        7,
        [a_call("mode")],
        a_call("discover", "broken"),
        a_notification("hold"),
        a_notification("nothing-like-this"),
        a_call("show", None, session="nobody"),
        a_call("mode", "last"),
    ]

    replies = await client.send(values)

    assert codes(replies) == [None, -32600, -32600, -32603, -32004, None]
    assert [each["id"] for each in replies] == ["first", None, None, "broken", None, "last"]
    assert await is_holding(desk)


async def test_calls_of_a_batch_run_one_after_the_other(desk: Desk, client: RpcClient) -> None:
    replies = await client.send(
        [
            a_call("rename", session="anna-1", name="bert"),
            a_call("show", session="bert"),
            a_call("rename", session="bert", name="carl"),
            a_call("show", session="carl"),
        ]
    )

    assert [each["result"]["name"] for each in replies] == ["bert", "bert", "carl", "carl"]


async def test_notifications_get_no_reply_and_are_carried_out(
    desk: Desk, client: RpcClient
) -> None:
    one = await client.post(json.dumps(a_notification("hold")).encode())
    held = await is_holding(desk)
    several = await client.post(
        json.dumps([a_notification("release"), a_notification("show")]).encode()
    )

    assert one == several == (204, None)
    assert (held, await is_holding(desk)) == (True, False)


async def test_a_notification_of_a_method_that_only_reads_does_not_wait(
    client: RpcClient,
) -> None:
    waiting = a_notification("wait", session="anna-1", until="end", timeout=86_400)

    assert await client.send(waiting) is None


async def test_a_batch_has_a_limit(client: RpcClient) -> None:
    largest = [a_call("mode", number) for number in range(MAX_BATCH_CALLS)]

    replies = await client.send(largest)
    refused = await client.send([*largest, a_call("mode")])

    assert [each["id"] for each in replies] == [*range(MAX_BATCH_CALLS)]
    assert refused["error"]["code"] == -32600
    assert "100 calls" in refused["error"]["message"]


async def test_after_too_many_bytes_no_further_call_of_a_batch_is_run(
    desk: Desk, client: RpcClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "MAX_BATCH_REPLY_BYTES", 10)

    replies = await client.send(
        [a_call("mode", 1), a_call("hold", 2), a_notification("nothing"), a_call("mode", 3)]
    )

    assert codes(replies) == [None, -32000, -32000]
    assert "too large" in replies[1]["error"]["message"]
    assert not await is_holding(desk)


@pytest.mark.spec("A3")
async def test_a_call_is_carried_out_once_under_its_key(desk: Desk, client: RpcClient) -> None:
    start: dict[str, Any] = {"agent": "demo", "project": "/"}

    first = await client.result("start", **start, idempotencyKey="k")
    again = await client.result("start", **start, idempotency_key="k")
    by_header = await client.send(a_call("start", **start), Idempotency_Key="k")
    on_v1 = await desk.ask("start", **start, idempotency_key="k")
    other = await client.error("start", **start, name="other", idempotency_key="k")

    assert first["id"] == again["id"] == by_header["result"]["id"] == on_v1.id
    assert (other["code"], other["data"]["code"]) == (-32009, "key-reused")


async def test_calls_of_a_batch_have_their_own_keys(client: RpcClient) -> None:
    start = {"agent": "demo", "project": "/"}
    batch = [a_call("start", **start, idempotencyKey=key) for key in "aab"]

    first, repeated, other = [each["result"]["id"] for each in await client.send(batch)]

    assert first == repeated != other


async def test_a_key_in_the_header_is_for_a_single_call(client: RpcClient) -> None:
    batch = await client.send([a_call("mode")], Idempotency_Key="k")
    both = await client.send(a_call("mode", idempotency_key="k"), Idempotency_Key="k")
    long = await client.send(a_call("mode", idempotency_key="k" * 201))
    odd = await client.send(a_call("mode", idempotency_key=1))

    assert batch["error"]["code"] == -32600
    assert codes([both, long, odd]) == [-32602, -32602, -32602]


@pytest.mark.spec("K5")
async def test_a_reader_reads_and_nothing_else(desk: Desk) -> None:
    client = RpcClient(desk, Identity(Scope.READER, "tcp"))

    for name, method in METHODS.items():
        if method.need != "read":
            reply = await client.call(name)
            assert reply["error"]["code"] in {-32003, -32602}, name
    assert (await client.error("stop"))["code"] == -32003
    assert (await client.error("hold"))["data"]["code"] == "forbidden"
    assert (await client.result("show", session="anna-1"))["name"] == "anna-1"


@pytest.mark.spec("K5")
async def test_a_session_learns_nothing_of_strangers(desk: Desk) -> None:
    await desk.settle("stranger")
    client = RpcClient(desk, session_caller(SessionId("anna-1")))

    for method in ("show", "claude-code.output", "claude-code.kill", "turns"):
        error = await client.error(method, session="stranger")
        absent = await client.error(method, session="absentee")
        assert error["code"] == absent["code"] == -32003
        assert error["message"].replace("stranger", "absentee") == absent["message"]
    listed = await client.result("claude-code.sessions")

    assert [each["name"] for each in listed["sessions"]] == ["anna-1"]


@pytest.mark.spec("K5")
async def test_a_token_that_is_revoked_during_a_batch_does_nothing_more(desk: Desk) -> None:
    now = desk.journal.clock.now()
    digest = tokens.digest("secret")
    await desk.database.write(lambda db: tokens.keep_owner(db, "secret", at=now))
    client = RpcClient(desk, Identity(Scope.OWNER, "tcp", token=digest))
    (listed,) = (await client.result("tokens"))["tokens"]

    replies = await client.send([a_call("revoke", token=listed["id"]), a_call("hold")])

    assert codes(replies) == [None, -32001]
    assert not await is_holding(desk)


@pytest.mark.spec("K5")
async def test_a_session_that_ended_during_a_batch_does_nothing_more(
    desk: Desk, database: ObservedDatabase
) -> None:
    await desk.settle("bert-1", parent="anna-1")
    client = RpcClient(desk, session_caller(SessionId("bert-1")))
    batch = [
        a_call("wait", session="bert-1", until="end", timeout=60),
        a_call("send", session="anna-1", words="hello"),
    ]
    waiting = asyncio.create_task(client.send(batch))
    await database.rest()

    end = partial(record_end.end, journal=desk.journal, outcome="completed", reason="over")
    await desk.database.write(partial(end, session=SessionId("bert-1")))

    assert codes(await waiting) == [None, -32003]


async def test_a_wait_ends_when_its_client_disconnects(desk: Desk, client: RpcClient) -> None:
    wait = a_call("wait", session="anna-1", until="end", timeout=86_400)
    body = json.dumps([wait, a_call("hold")]).encode()
    waiting = asyncio.create_task(client.post(body))
    await asyncio.wait([waiting], timeout=0)

    client.has_left.set()
    status, _ = await waiting

    assert status == 499
    assert not await is_holding(desk)
