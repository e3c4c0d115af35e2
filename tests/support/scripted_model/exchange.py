"""One connection: requests come in over HTTP, replies go out."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socket import socket
from socketserver import BaseServer
from urllib.parse import unquote, urlsplit

from tests.support.scripted_model import apis, catalogue
from tests.support.scripted_model.apis import Api
from tests.support.scripted_model.conversation import Request
from tests.support.scripted_model.delivery import BrokenOff, Delivery
from tests.support.scripted_model.log import Ending, Record
from tests.support.scripted_model.performance import Performance
from tests.support.scripted_model.plan import plan
from tests.support.scripted_model.reply import Draft, new_id
from tests.support.scripted_model.stage import Stage

#: Where a gate is opened from outside, by POST.
GATE = "/_gate/"

#: For zlib: find out by yourself whether it is gzip.
_ANY_COMPRESSION = 47


class Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(
        self, stage: Stage, connection: socket, address: object, server: BaseServer
    ) -> None:
        self._stage = stage
        super().__init__(connection, address, server)

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        record = self._record({})
        is_anthropic = "anthropic-version" in record.headers
        self._answer_known(record, catalogue.models(path, is_anthropic=is_anthropic))
        self._conclude(record, Ending.ANSWERED)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        path, raw = urlsplit(self.path).path.rstrip("/"), self._read()
        if path.startswith(GATE):
            self._stage.gate(unquote(path.removeprefix(GATE))).set()
            self._answer(HTTPStatus.OK, {})
            return
        body = json.loads(raw or "{}")
        record = self._record(body)
        ending = Ending.ANSWERED
        try:
            self._serve(record, Request(path, raw, body))
        except BrokenOff as broken:
            ending = broken.ending
        except OSError:
            ending = Ending.STOPPED if self._stage.over.is_set() else Ending.ABORTED
        self._conclude(record, ending)

    def _serve(self, record: Record, request: Request) -> None:
        if found := apis.api(request.path):
            self._converse(record, found, request)
        else:
            self._answer_known(record, apis.count(request))

    def _converse(self, record: Record, api: Api, request: Request) -> None:
        conversation = api.read(request)
        reply = api.reply(conversation)
        planned = plan(conversation)
        with self._stage.log.change():
            record.plan = planned
        if error := self._stage.try_again(planned):
            self._answer_with(record, error.status, reply.error(error.status, error.message))
            return
        cost = self._stage.meter.measure(conversation, planned.usage)
        effects = Performance(planned, conversation, reply).effects(cost)
        delivery = Delivery(self._stage, record, self.connection)
        with self._stage.log.change():
            record.tokens = cost
        if conversation.is_streamed:
            self._open_stream(record)
            delivery.stream(effects, reply.ping())
        else:
            delivery.hold_back(effects)
            self._answer_with(record, HTTPStatus.OK, reply.whole())

    def _record(self, body: Draft) -> Record:
        headers = {name.lower(): value for name, value in self.headers.items()}
        record = Record(self.command, self.path, headers, body)
        self._stage.log.add(record)
        return record

    def _conclude(self, record: Record, ending: Ending) -> None:
        if ending is not Ending.ANSWERED:
            self.close_connection = True
        with self._stage.log.change():
            record.ending = ending

    def _read(self) -> str:
        """Read the body, however it comes."""
        if "chunked" in self.headers.get("transfer-encoding", ""):
            body = self._read_chunks()
        else:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") in {"gzip", "deflate"}:
            body = zlib.decompress(body, _ANY_COMPRESSION)
        return body.decode(errors="replace")

    def _read_chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().split(b";")[0].strip() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer_known(self, record: Record, answer: Draft | None) -> None:
        if answer is not None:
            self._answer_with(record, HTTPStatus.OK, answer)
            return
        error = {"type": "not_found_error", "message": f"not served: {self.path}"}
        self._answer_with(record, HTTPStatus.NOT_FOUND, {"type": "error", "error": error})

    def _answer_with(self, record: Record, status: int, answer: Draft) -> None:
        with self._stage.log.change():
            record.status = status
        self._answer(status, answer)

    def _answer(self, status: int, answer: Draft) -> None:
        sent = json.dumps(answer).encode()
        headers = {"content-type": "application/json", "content-length": str(len(sent))}
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            headers["retry-after"] = "1"
        self._send_head(status, headers)
        if self.command != "HEAD":
            self.wfile.write(sent)

    def _open_stream(self, record: Record) -> None:
        with self._stage.log.change():
            record.status = HTTPStatus.OK
        headers = {
            "content-type": "text/event-stream; charset=utf-8",
            "cache-control": "no-cache",
            "transfer-encoding": "chunked",
        }
        self._send_head(HTTPStatus.OK, headers)

    def _send_head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("request-id", f"req_{new_id()}")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
