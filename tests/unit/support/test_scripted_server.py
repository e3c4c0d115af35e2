"""The scripted model as programs meet it: over HTTP, on a real socket."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.scripted_model.log import Ending
from tests.support.scripted_model.server import ModelServer

GEMINI = "/v1beta/models/gemini-2.5-flash"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


class Client:
    """A program, as far as its vendor sees it."""

    def __init__(self, server: ModelServer) -> None:
        self.connection = HTTPConnection(urlsplit(server.url).netloc, timeout=10)

    def open(self, path: str, body: Mapping[str, object]) -> HTTPResponse:
        self.connection.request("POST", path, json.dumps(body))
        return self.connection.getresponse()

    def ask(self, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401 - JSON
        return json.load(self.open(path, body))

    def stream(self, path: str, body: Mapping[str, object]) -> list[Any]:
        text = self.open(path, body).read().decode()
        lines = [line.removeprefix("data: ") for line in text.splitlines() if "data: " in line]
        return [json.loads(line) for line in lines if line != "[DONE]"]

    def get(self, path: str, **headers: str) -> Any:  # noqa: ANN401 - JSON
        self.connection.request("GET", path, headers=headers)
        return json.load(self.connection.getresponse())


@pytest.fixture
def client(server: ModelServer) -> Iterator[Client]:
    client = Client(server)
    with closing(client.connection):
        yield client


def message(prompt: str, **more: object) -> dict[str, object]:
    """Make a request of Anthropic's."""
    return {"model": "m", "messages": [{"role": "user", "content": prompt}], **more}


def test_anthropic_streams_thought_words_and_calls(client: Client) -> None:
    body = message("think: hm;; say: hello;; bash: ls", stream=True, tools=[{"name": "Bash"}])

    events = client.stream("/v1/messages?beta=true", body)

    blocks = [each["content_block"]["type"] for each in events if "content_block" in each]
    deltas = [each["delta"] for each in events if each["type"] == "content_block_delta"]
    arguments = "".join(delta.get("partial_json", "") for delta in deltas)
    assert blocks == ["thinking", "text", "tool_use"]
    assert [delta["text"] for delta in deltas if "text" in delta] == ["hello"]
    assert json.loads(arguments) == {"command": "ls", "description": "scripted"}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-1]["type"] == "message_stop"


def test_responses_streams_items_in_their_order(client: Client) -> None:
    body = {
        "stream": True,
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "write: a b"}]}],
        "tools": [{"type": "custom", "name": "apply_patch"}],
    }

    events = client.stream("/v1/responses", body)

    (item,) = events[-1]["response"]["output"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert (item["type"], item["name"]) == ("custom_tool_call", "apply_patch")
    assert item["input"] == "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch"
    assert events[-1]["type"] == "response.completed"


def test_chat_streams_parallel_calls_and_tells_usage_to_who_wants_it(client: Client) -> None:
    body = {
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": 'bash: ls;; and: read {"n": 1}'}],
        "tools": [{"function": {"name": "bash"}}],
    }

    chunks = client.stream("/chat/completions", body)

    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
    calls = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
    assert [call["index"] for call in calls] == [0, 0, 1, 1]
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["usage"]["prompt_tokens"] > 0


def test_gemini_streams_parts(client: Client) -> None:
    body = {
        "contents": [{"role": "user", "parts": [{"text": "say: hello;; bash: ls"}]}],
        "tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}],
    }

    chunks = client.stream(f"{GEMINI}:streamGenerateContent?alt=sse", body)

    parts = [chunk["candidates"][0]["content"]["parts"][0] for chunk in chunks]
    assert parts[0] == {"text": "hello"}
    assert parts[1]["functionCall"]["name"] == "run_shell_command"
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/v1/messages", message("say: hi"), ["content", 0, "text"]),
        ("/v1/responses", {"input": "say: hi"}, ["output", 0, "content", 0, "text"]),
        ("/v1/chat/completions", message("say: hi"), ["choices", 0, "message", "content"]),
        (
            f"{GEMINI}:generateContent",
            {"contents": [{"parts": [{"text": "say: hi"}]}]},
            ["candidates", 0, "content", "parts", 0, "text"],
        ),
    ],
)
def test_who_does_not_stream_gets_the_whole(
    client: Client, path: str, body: dict[str, object], words: list[str | int]
) -> None:
    found = client.ask(path, body)

    for word in words:
        found = found[word]
    assert found == "hi"


def test_a_script_goes_on_after_each_result(client: Client) -> None:
    body: dict[str, Any] = message("bash: one;; result:;; bash: two;; say: end")
    said = []

    for result in ("first", "second"):
        answer = client.ask("/v1/messages", body)
        said += [block.get("text") for block in answer["content"]]
        given = {"type": "tool_result", "tool_use_id": "t", "content": result}
        body["messages"] += [
            {"role": "assistant", "content": answer["content"]},
            {"role": "user", "content": [given]},
        ]
    answer = client.ask("/v1/messages", body)

    assert said == [None, "first", None]
    assert [block["text"] for block in answer["content"]] == ["end"]
    assert answer["stop_reason"] == "end_turn"


def test_a_prompt_without_directives_is_echoed(client: Client) -> None:
    answer = client.ask("/v1/messages", message("fix\nthe bug"))

    assert answer["content"][0]["text"] == "ok: fix the bug"


def test_saw_finds_what_the_request_contains_and_not_itself(client: Client) -> None:
    asked = message("saw: apple;; saw: plum", system="I like a plum.")

    answer = client.ask("/v1/messages", asked)

    assert [block["text"] for block in answer["content"]] == ["saw apple: no", "saw plum: yes"]


def test_usage_is_counted_with_a_cache_unless_the_script_states_it(client: Client) -> None:
    first = client.ask("/v1/messages", message("words: 80"))["usage"]
    again = client.ask("/v1/messages", message("words: 80"))["usage"]
    stated = client.ask("/v1/messages", message("usage: in=7 out=9;; say: x"))["usage"]

    read = first["input_tokens"] + first["cache_creation_input_tokens"]
    assert first["output_tokens"] > 80
    assert (first["cache_read_input_tokens"], again["cache_read_input_tokens"]) == (0, read)
    assert (stated["input_tokens"], stated["output_tokens"]) == (7, 9)


def test_a_body_may_come_compressed_and_in_chunks(client: Client) -> None:
    packed = gzip.compress(json.dumps(message("say: hi")).encode())
    headers = {"content-encoding": "gzip"}

    client.connection.request("POST", "/v1/messages", iter([packed[:9], packed[9:]]), headers)

    answer = json.load(client.connection.getresponse())
    assert answer["content"][0]["text"] == "hi"


def test_models_are_listed_and_tokens_are_counted(client: Client) -> None:
    ours = {"anthropic-version": "2023-06-01"}

    assert client.get("/v1/models", **ours)["data"][0]["id"].startswith("claude")
    assert client.get("/v1/models/gpt-5")["id"] == "gpt-5"
    assert client.get("/v1beta/models")["models"][0]["name"] == "models/gemini-2.5-pro"
    assert client.ask("/v1/messages/count_tokens", message("x"))["input_tokens"] > 0
    assert client.ask(f"{GEMINI}:countTokens", {})["totalTokens"] > 0


def test_an_error_comes_for_the_first_tries_only(server: ModelServer, client: Client) -> None:
    body = message("error: 529 x2 too much;; say: now")

    answers = [client.ask("/v1/messages", body) for _ in range(3)]

    assert [record.status for record in server.log] == [529, 529, 200]
    assert [answer.get("error", {}).get("type") for answer in answers] == [
        "overloaded_error",
        "overloaded_error",
        None,
    ]
    assert answers[-1]["content"][0]["text"] == "now"


def test_what_a_program_asks_besides_is_no_try(client: Client) -> None:
    body = message("Create a session title.\nerror: 503 x1;; say: now")

    title = client.ask("/v1/messages", body)
    response = client.open("/v1/messages", {**body, "tools": [{"name": "Bash"}]})

    assert title["content"][0]["text"] == "Scripted session"
    assert response.status == 503


def test_an_error_in_the_stream_ends_it(client: Client) -> None:
    body = message("say: a;; sse_error: api_error;; say: b", stream=True)

    events = client.stream("/v1/messages", body)

    assert events[-1]["error"]["type"] == "api_error"


def test_who_does_not_stream_gets_no_half_of_an_answer(client: Client) -> None:
    with pytest.raises(HTTPException):
        client.ask("/v1/messages", message("say: a;; sse_error:"))


def test_a_stream_that_is_cut_does_not_come_to_its_end(
    server: ModelServer, client: Client
) -> None:
    response = client.open("/v1/messages", message("say: a;; cut:", stream=True))

    with pytest.raises(HTTPException):
        response.read()

    assert server.log[0].ending is Ending.CUT


def test_a_gate_holds_a_stream_until_it_is_opened(server: ModelServer, client: Client) -> None:
    body = message("say: before;; gate: door;; say: after", stream=True)
    response = client.open("/v1/messages", body)
    said = b""
    while b"content_block_stop" not in said:
        said += response.readline()

    waiting = server.log.wait_for(lambda record: record.gate == "door")
    server.open_gate("door")
    said += response.read()

    assert b"before" in said
    assert b"after" in said
    assert server.log.wait_for(lambda record: record.ending is Ending.ANSWERED) is waiting
    assert waiting.gate == ""


def test_a_gate_is_opened_from_outside_too(server: ModelServer, client: Client) -> None:
    response = client.open("/v1/messages", message("gate: a b;; say: x", stream=True))

    with closing(Client(server).connection) as other:
        other.request("POST", "/_gate/a%20b")
        assert other.getresponse().status == 200

    assert b"message_stop" in response.read()


@pytest.mark.parametrize(
    "script", ["hang:", "gate: never", "sleep: 100", "slow: 0.01;; say: a b"]
)
@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_client_that_goes_away_is_seen(
    server: ModelServer, client: Client, script: str, is_streamed: bool
) -> None:
    body = json.dumps(message(script, stream=is_streamed))
    client.connection.request("POST", "/v1/messages", body)
    server.log.wait_for(lambda record: record.plan is not None)

    client.connection.close()

    record = server.log.wait_for(lambda record: record.ending is not None, within=5)
    assert record.is_aborted
    assert record.body["messages"][0]["content"] == script


def test_a_server_that_stops_ends_what_waits(server: ModelServer, client: Client) -> None:
    idle = Client(server)
    idle.get("/v1/models")
    response = client.open("/v1/messages", message("hang:", stream=True))
    server.log.wait_for(lambda record: record.plan is not None)

    server.stop()

    with pytest.raises(HTTPException):
        response.read()
    assert server.log[-1].ending is Ending.STOPPED
    idle.connection.close()
