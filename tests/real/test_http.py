"""HTTP as it is spoken at the loopback door: odd requests, safe answers, its description."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from websockets.sync.client import connect

from rookery.operations.catalog import OPERATIONS
from tests.support.real.http import bearer, port_of
from tests.support.real.rookery import SOON, Rookery

pytestmark = pytest.mark.real


def spoken(
    rookery: Rookery, first: str, *lines: str, connection: str = "close"
) -> tuple[int, dict[str, str], str]:
    """Send a request as it is; return the status, the headers and the body of the answer."""
    head = "\r\n".join([f"{first} HTTP/1.1", *lines, f"Connection: {connection}", "", ""])
    door = ("127.0.0.1", port_of(rookery))
    with socket.create_connection(door, timeout=SOON) as opened:
        opened.sendall(head.encode())
        if connection == "close":
            answer = b"".join(iter(lambda: opened.recv(65536), b"")).decode()
        else:
            answer = opened.recv(65536).decode(errors="replace")
    told, _, rest = answer.partition("\r\n\r\n")
    status, *headers = told.split("\r\n")
    pairs = (line.split(": ", 1) for line in headers)
    return int(status.split()[1]), {name.lower(): value for name, value in pairs}, rest


def usual(rookery: Rookery) -> list[str]:
    return [f"Host: 127.0.0.1:{port_of(rookery)}", f"Authorization: {bearer(rookery)}"]


@pytest.mark.spec("K1")
@pytest.mark.parametrize("name", ["Host", "Origin", "Authorization", "Content-Type"])
def test_a_header_that_decides_is_not_taken_twice(served: Rookery, name: str) -> None:
    lines = usual(served)
    own = {
        "Host": lines[0],
        "Authorization": lines[1],
        "Origin": f"Origin: http://127.0.0.1:{port_of(served)}",
        "Content-Type": "Content-Type: application/json",
    }[name]
    others = [each for each in lines if each != own]

    once = spoken(served, "GET /v1/status", *others, own)
    twice = spoken(served, "GET /v1/status", *others, f"{name}: other", own)

    assert once[0] == 200
    assert (twice[0], name.lower() in twice[2]) == (400, True)


@pytest.mark.spec("K1")
def test_a_target_with_the_address_of_another_server_is_refused(served: Rookery) -> None:
    own = f"http://127.0.0.1:{port_of(served)}"
    lines = usual(served)
    targets = ["http://evil.test", f"{own}.evil.test", "https://localhost", f"{own}@evil"]

    right = spoken(served, f"GET {own}/v1/status", *lines)
    wrong = [spoken(served, f"GET {each}/v1/status", *lines)[0] for each in targets]

    assert right[0] == 200
    assert set(wrong) <= {400, 421}


@pytest.mark.spec("K1")
def test_no_websocket_opens_under_the_address_of_another_server(served: Rookery) -> None:
    key = f"Sec-WebSocket-Key: {'A' * 22}=="
    lines = (*usual(served), "Upgrade: websocket", "Sec-WebSocket-Version: 13", key)

    own = spoken(served, "GET /v1/events", *lines, connection="Upgrade")
    other = spoken(served, "GET http://evil.test/v1/events", *lines, connection="Upgrade")

    assert (own[0], other[0]) == (101, 400)


@pytest.mark.spec("K1")
@pytest.mark.parametrize("scheme", ["", "https://", "file://", "http:"])
def test_an_origin_is_compared_as_a_whole(served: Rookery, scheme: str) -> None:
    origin = f"Origin: {scheme}127.0.0.1:{port_of(served)}"

    status, _, _ = spoken(served, "GET /v1/status", *usual(served), origin)

    assert status == 403


@pytest.mark.spec("K1", "K2")
@pytest.mark.parametrize(
    ("first", "status"),
    [
        ("GET /healthz", 200),
        ("GET /v1/status", 200),
        ("GET /nowhere", 404),
        ("PUT /v1/sessions", 405),
        ("GET http://evil.test/", 421),
        ("GET /v1/events?after=0&until_now=true", 200),
        ("BREW /", 400),
    ],
)
def test_every_answer_says_that_it_is_no_page_and_for_no_other_site(
    served: Rookery, first: str, status: int
) -> None:
    found, headers, _ = spoken(served, first, *usual(served))

    assert found == status
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


@pytest.mark.spec("K1")
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize(
    "path", ["/healthz", "/v1/status", "/v1/events", "/mcp", "/rpc", "/nowhere"]
)
def test_no_answer_allows_another_site_to_read_it(
    served: Rookery, method: str, path: str
) -> None:
    lines = (*usual(served), "Access-Control-Request-Method: POST", "Content-Length: 0")
    own = f"Origin: http://127.0.0.1:{port_of(served)}"
    query = "?after=0&until_now=true" if path == "/v1/events" else ""

    for origin in ("Origin: http://evil.test", "Origin: null", own):
        _, headers, _ = spoken(served, f"{method} {path}{query}", *lines, origin)

        assert not [each for each in headers if each.startswith("access-control")]


@pytest.mark.spec("I1")
def test_a_wrong_method_is_told_the_right_ones(served: Rookery) -> None:
    lines = usual(served)

    both = spoken(served, "DELETE /v1/sessions", *lines)
    one = spoken(served, "GET /v1/prune", *lines)

    assert (both[0], both[1]["allow"]) == (405, "GET, POST")
    assert (one[0], one[1]["allow"]) == (405, "POST")


@pytest.mark.spec("I1", "K4")
@pytest.mark.parametrize("days", [False, True, "1"])
def test_what_is_no_number_is_not_taken_for_one(served: Rookery, days: object) -> None:
    status, answer = served.post("/v1/prune", {"days": days})

    assert (status, answer["error"]["code"]) == (400, "bad-input")
    assert "days" in answer["error"]["message"]
    assert served.post("/v1/prune", {"days": 36_000})[0] == 200


@pytest.mark.spec("I1", "K4")
@pytest.mark.parametrize("first", ["BREW /", "GET /\0"])
def test_what_is_not_http_is_refused_in_the_form_of_errors(served: Rookery, first: str) -> None:
    status, headers, text = spoken(served, first, *usual(served))

    assert (status, headers["content-type"]) == (400, "application/json")
    assert json.loads(text)["error"]["code"] == "bad-input"


@pytest.mark.spec("I1", "K4")
@pytest.mark.parametrize("body", ['{"days": 1, "days": 36000}', '{"days": 1e999}'])
def test_a_body_that_two_readers_could_read_differently_is_refused(
    served: Rookery, body: str
) -> None:
    status, answer = served.post("/v1/prune", None, raw=body.encode())

    assert (status, answer["error"]["code"]) == (400, "bad-input")


@pytest.mark.spec("I1")
def test_the_description_has_every_status_that_is_answered(served: Rookery) -> None:
    _, _, text = spoken(served, "GET /v1/openapi.json", *usual(served))
    described: dict[str, Any] = json.loads(text)
    operations = [each for path in described["paths"].values() for each in path.values()]

    codes = (400, 401, 403, 404, 405, 409, 413, 415, 421, 429, 500, 503, 504)
    refusals = {str(each) for each in codes}
    found = [set(each["responses"]) for each in operations]

    (rpc,) = (each for each in operations if each["operationId"] == "rpc")
    assert len(operations) == len(OPERATIONS) + 3
    assert all(each - {"204"} == {"200", *refusals} for each in found)
    assert described["paths"]["/rpc"] == {"post": rpc}
    assert [each["operationId"] for each in operations if "204" in each["responses"]] == ["rpc"]
    assert described["components"]["schemas"]["ErrorAnswer"]
    assert "HTTPValidationError" not in text


@pytest.mark.spec("I4")
def test_a_websocket_goes_on_after_the_last_event_that_was_seen(served: Rookery) -> None:
    for number in (1, 2):
        served.client.post("hold" if number % 2 else "release")
    url = f"ws://127.0.0.1:{port_of(served)}/v1/events"
    token = {"Authorization": bearer(served)}

    def first(query: str = "", **headers: str) -> dict[str, Any]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with connect(url + query, additional_headers={**token, **named}) as opened:
            told: dict[str, Any] = json.loads(opened.recv(timeout=SOON))
            return told

    snapshot = first()
    before = str(snapshot["seq"] - 1)

    assert "sessions" in snapshot
    assert first(Last_Event_ID=before)["seq"] == snapshot["seq"]
    assert first(f"?after={before}")["seq"] == snapshot["seq"]
    assert first("?after=0", Last_Event_ID=before)["kind"] == "deliveries-released"
    assert "sessions" in first(Last_Event_ID="not-a-number")
