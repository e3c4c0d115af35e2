"""JSON-RPC with a client that others wrote, over loopback; the same guard as for ``/v1``."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from jsonrpclib import MultiCall, ServerProxy
from jsonrpclib.config import Config
from jsonrpclib.jsonrpc import ProtocolError, TransportError

from rookery.api.rpc.catalog import METHODS
from tests.support.real.http import badge_of, bearer, port_of, request
from tests.support.real.rookery import SOON, Rookery
from tests.support.real.rpc import RpcConnection

pytestmark = [pytest.mark.real, pytest.mark.spec("I1", "I3")]

CONFIG = Config(content_type="application/json")

STATUS = b'{"jsonrpc": "2.0", "id": 1, "method": "status"}'
STOP = b'{"jsonrpc": "2.0", "id": 1, "method": "stop"}'


class Proxies:
    """Clients of daemons; their connections are closed after the test."""

    def __init__(self, opened: ExitStack) -> None:
        self._opened = opened

    def __call__(self, rookery: Rookery, token: str = "") -> Any:  # noqa: ANN401 - it has no types
        """Return a client with a token: the owner's, unless another is given."""
        shown = f"Bearer {token}" if token else bearer(rookery)
        url = f"http://127.0.0.1:{port_of(rookery)}/rpc"
        client = ServerProxy(url, config=CONFIG, headers={"Authorization": shown})
        self._opened.callback(client("close"))
        return client


@pytest.fixture
def proxy() -> Iterator[Proxies]:
    with ExitStack() as opened:
        yield Proxies(opened)


def refused(call: Callable[..., object], **params: object) -> int:
    """Return the code of the error that a call is answered with."""
    with pytest.raises(ProtocolError) as raised:
        call(**params)
    code: int = raised.value.args[0][0]
    return code


def test_a_session_is_started_asked_and_ended(rookery: Rookery, proxy: Proxies) -> None:
    rpc = proxy(rookery)

    started = rpc.start(agent="demo", project=str(rookery.project), name="worker")
    up = rpc.wait(session="worker", until="up", timeout=SOON)
    message = rpc.send(session="worker", words="say: one;; say: two")
    turn = rpc.answer(message=message["id"], timeout=SOON)
    listed = getattr(rpc, "claude-code").sessions(status="running")
    output = getattr(rpc, "claude-code").output(session="worker", lines=1)
    killed = getattr(rpc, "claude-code").kill(id=started["id"])
    ended = rpc.wait(session=started["id"], until="end", timeout=SOON)
    stats = getattr(rpc, "claude-code").stats()

    assert (up["id"], up["status"]) == (started["id"], "running")
    assert turn["answer"].endswith("two")
    assert [each["name"] for each in listed["sessions"]] == ["worker"]
    assert (output["lines"], output["lineCount"]) == (["two"], 1)
    assert killed["status"] == "closing"
    assert ended["status"] == "killed"
    assert (stats["totalLaunched"], stats["sessionsByStatus"]) == (1, {"killed": 1})


def test_results_are_those_of_v1(rookery: Rookery, proxy: Proxies) -> None:
    rookery.start("shown")
    rpc, client = proxy(rookery), rookery.client

    assert rpc.show(session="shown") == client.get("sessions", "shown")
    assert rpc.turns(session="shown", last=5) == client.get(
        "sessions", "shown", "turns", last=5
    )
    assert rpc.mode() == client.get("mode")
    assert rpc.stats() == client.get("stats")


def test_errors_have_the_codes_of_the_reference(served: Rookery, proxy: Proxies) -> None:
    rpc = proxy(served)

    assert refused(rpc.show, session="nobody") == -32004
    assert refused(rpc.show) == -32602
    assert refused(rpc.nothing) == -32601
    with pytest.raises(ProtocolError, match="by their names"):
        rpc.show("worker")


def test_a_batch_is_answered_in_order_and_notifications_are_not(
    rookery: Rookery, proxy: Proxies
) -> None:
    batch = MultiCall(proxy(rookery), config=CONFIG)
    batch.hold()
    batch._notify.release()  # noqa: SLF001 - its name for it
    batch.show(session="nobody")
    batch.status()

    held, unknown, status = batch().results

    assert held["result"]["holding"] is True
    assert unknown["error"]["code"] == -32004
    assert status["result"]["holding"] is False


def test_a_notification_is_carried_out(rookery: Rookery) -> None:
    with RpcConnection(rookery) as connection:
        answer = connection.post(b'{"jsonrpc": "2.0", "method": "hold"}')

    assert answer == (204, None)
    assert rookery.client.get("status")["holding"] is True


def test_a_wait_keeps_no_other_call_waiting(rookery: Rookery, proxy: Proxies) -> None:
    rookery.start("worker")
    found: list[Any] = []

    def wait() -> None:
        found.append(proxy(rookery).wait(session="worker", until="end", timeout=SOON))

    waiting = threading.Thread(target=wait)
    waiting.start()
    proxy(rookery).end(session="worker")
    waiting.join(SOON)

    assert [each["status"] for each in found] == ["killed"]


@pytest.mark.spec("A3", "K3")
def test_a_key_holds_after_the_daemon_was_killed(rookery: Rookery, proxy: Proxies) -> None:
    start = {"agent": "demo", "project": str(rookery.project), "idempotencyKey": "once"}

    first = proxy(rookery).start(**start)
    rookery.kill()
    rookery.up()
    again = proxy(rookery).start(**start)

    assert first["id"] == again["id"]
    assert len(rookery.client.get("sessions")["sessions"]) == 1


@pytest.mark.spec("K1")
def test_without_a_valid_token_no_method_is_called(rookery: Rookery, proxy: Proxies) -> None:
    rpc = proxy(rookery, "x")

    for name in METHODS:
        with pytest.raises(TransportError, match="401"):
            getattr(rpc, name)()


@pytest.mark.spec("K1")
def test_no_page_of_another_site_calls_a_method(rookery: Rookery) -> None:
    headers: dict[str, Any] = {
        "Content_Type": "application/json",
        "Authorization": bearer(rookery),
    }
    own = f"http://127.0.0.1:{port_of(rookery)}"

    def status_of(body: bytes = STOP, **more: str) -> int:
        return request(rookery, "POST", "/rpc", body=body, **{**headers, **more})[0]

    assert status_of(Host="evil.test") == 421
    assert status_of(Origin="http://evil.test") == 403
    assert status_of(Origin="null") == 403
    assert status_of(Content_Type="text/plain") == 415
    assert status_of(Content_Type="application/x-www-form-urlencoded") == 415
    assert status_of(b" " * (8 * 1024 * 1024 + 1)) == 413
    assert request(rookery, "GET", "/rpc", Authorization=bearer(rookery))[0] == 405
    assert status_of(STATUS, Origin=own) == 200


@pytest.mark.spec("K5")
def test_a_reader_reads_and_nothing_else(rookery: Rookery, proxy: Proxies) -> None:
    rookery.start("shown")
    reader = proxy(rookery, rookery.json("token", "mint", "--scope", "reader")["secret"])

    codes = {
        refused(getattr(reader, name), session="shown")
        for name, method in METHODS.items()
        if method.need != "read"
    }

    assert reader.show(session="shown")["name"] == "shown"
    assert codes == {-32003, -32602}
    assert refused(getattr(reader, "claude-code").kill, session="shown") == -32003
    assert refused(reader.stop) == -32003
    assert rookery.session("shown")["status"] == "running"


@pytest.mark.spec("K5")
def test_a_badge_reaches_its_family_only(rookery: Rookery, proxy: Proxies) -> None:
    rookery.start("own")
    rookery.start("stranger")
    rpc = proxy(rookery, badge_of(rookery, "own"))
    code = getattr(rpc, "claude-code")

    listed = code.sessions()["sessions"]

    assert [each["name"] for each in listed] == ["own"]
    assert refused(code.kill, session="stranger") == -32003
    assert refused(code.kill, session="own") == -32003
    assert refused(code.output, session="stranger") == -32003
    assert refused(rpc.mint, scope="owner") == -32003
    assert refused(rpc.start, agent="shell", project="/", command=["id"]) == -32003


@pytest.mark.spec("K1")
def test_a_command_line_is_for_the_owner_on_the_socket_only(
    rookery: Rookery, proxy: Proxies
) -> None:
    start = {"agent": "shell", "project": str(rookery.project), "command": ["true"]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "start", "params": start}

    code = refused(proxy(rookery).start, **start)
    with RpcConnection(rookery) as connection:
        _, answer = connection.post(json.dumps(call).encode())

    assert code == -32003
    assert answer["result"]["agent"] == "shell"
