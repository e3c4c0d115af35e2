"""OpenAI Responses: what its requests say, and replies in its events. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.support.scripted_model import prompts
from tests.support.scripted_model.conversation import (
    Conversation,
    Fields,
    Line,
    Request,
    flat,
    texts,
)
from tests.support.scripted_model.reply import CREATED, PING, Draft, Frames, frame, new_id
from tests.support.scripted_model.steps import Call
from tests.support.scripted_model.tokens import Tokens

_CALLS = {"function_call", "custom_tool_call", "local_shell_call"}
_PREFIXES = {"function_call": "fc", "custom_tool_call": "ctc"}
_REASONS = {"max_tokens": "max_output_tokens"}


def read(request: Request) -> Conversation:
    body = request.body
    form = (body.get("text") or {}).get("format") or {}
    tools = body.get("tools") or ()
    return Conversation(
        request,
        lines=tuple(_lines(body)),
        tools=frozenset(tool.get("name") or tool.get("type", "") for tool in tools),
        system=body.get("instructions") or "",
        model=body.get("model", ""),
        is_streamed=bool(body.get("stream")),
        schema=form.get("schema"),
    )


def _lines(body: Fields) -> Iterator[Line]:
    given = body.get("input", ())
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        kind = item.get("type", "message")
        if kind == "message":
            text = prompts.pick(texts(item.get("content")))
            yield Line(text, is_users=item.get("role") == "user")
        elif kind in _CALLS:
            yield Line(calls=1)
        elif kind.endswith("_call_output"):
            output = item.get("output")
            text = flat(output) if isinstance(output, (str, list)) else json.dumps(output)
            yield Line(results=(text,))


class ResponsesReply:
    def __init__(self, conversation: Conversation) -> None:
        self._sequence = 0
        self._output: list[Draft] = []
        self._open: Draft = {}  #: the item that is being made
        self._text = ""
        tools = conversation.request.body.get("tools") or ()
        #: Tools that take a text of any form instead of JSON.
        self._free = {tool.get("name") for tool in tools if tool.get("type") == "custom"}
        self._response: Draft = {
            "id": f"resp_{new_id()}",
            "object": "response",
            "created_at": CREATED,
            "status": "in_progress",
            "model": conversation.model,
            "output": self._output,
            "error": None,
            "incomplete_details": None,
            "parallel_tool_calls": True,
            "tools": [],
            "tool_choice": "auto",
            "usage": None,
        }

    def begin(self, tokens: Tokens) -> Frames:
        return [
            self._event("response.created", response=self._response),
            self._event("response.in_progress", response=self._response),
        ]

    def open_text(self) -> Frames:
        self._text = ""
        begun = {"status": "in_progress", "role": "assistant", "content": []}
        return [
            self._start({"type": "message", "id": f"msg_{new_id()}", **begun}),
            self._of_part("response.content_part.added", part=_part("")),
        ]

    def add_text(self, piece: str) -> Frames:
        self._text += piece
        return [self._of_part("response.output_text.delta", delta=piece)]

    def close_text(self) -> Frames:
        part = _part(self._text)
        return [
            self._of_part("response.output_text.done", text=self._text),
            self._of_part("response.content_part.done", part=part),
            self._stop(status="completed", content=[part]),
        ]

    def think(self, text: str) -> Frames:
        part = {"type": "summary_text", "text": ""}
        event = "response.reasoning_summary"
        summary = [{**part, "text": text}]
        return [
            self._start({"type": "reasoning", "id": f"rs_{new_id()}", "summary": []}),
            self._of_item(f"{event}_part.added", summary_index=0, part=part),
            self._of_item(f"{event}_text.delta", summary_index=0, delta=text),
            self._of_item(f"{event}_text.done", summary_index=0, text=text),
            self._stop(summary=summary, encrypted_content="c2NyaXB0ZWQ="),
        ]

    def call(self, call: Call) -> Frames:
        if call.name in self._free:
            text = str(call.arguments.get("input", json.dumps(call.arguments)))
            return self._call("custom_tool_call", call.name, "input", text)
        text = json.dumps(call.arguments)
        return self._call("function_call", call.name, "arguments", text)

    def end(self, tokens: Tokens, reason: str) -> Frames:
        status = "incomplete" if reason else "completed"
        self._response.update(status=status, usage=_usage(tokens))
        if reason:
            why = _REASONS.get(reason, reason)
            self._response["incomplete_details"] = {"reason": why}
        return [self._event(f"response.{status}", response=self._response)]

    def whole(self) -> Draft:
        return self._response

    def fail(self, kind: str) -> Frames:
        error = {"code": kind, "message": f"scripted {kind}"}
        self._response.update(status="failed", error=error)
        return [self._event("response.failed", response=self._response)]

    def ping(self) -> str:
        return PING

    def error(self, status: int, message: str) -> Draft:
        return {"error": {"message": message, "type": "server_error", "code": str(status)}}

    def _call(self, kind: str, name: str, field: str, text: str) -> Frames:
        event = f"response.{kind}_{field}"
        begun = {"call_id": f"call_{new_id()}", **_called(name), "status": "in_progress"}
        return [
            self._start(
                {"type": kind, "id": f"{_PREFIXES[kind]}_{new_id()}", **begun, field: ""}
            ),
            self._of_item(f"{event}.delta", delta=text),
            self._of_item(f"{event}.done", **{field: text}),
            self._stop(status="completed", **{field: text}),
        ]

    def _start(self, item: Draft) -> str:
        self._open = item
        index = len(self._output)
        return self._event("response.output_item.added", output_index=index, item=item)

    def _stop(self, **fields: object) -> str:
        item = {**self._open, **fields}
        self._output.append(item)
        index = len(self._output) - 1
        return self._event("response.output_item.done", output_index=index, item=item)

    def _of_item(self, kind: str, **fields: object) -> str:
        index = len(self._output)
        return self._event(kind, item_id=self._open["id"], output_index=index, **fields)

    def _of_part(self, kind: str, **fields: object) -> str:
        return self._of_item(kind, content_index=0, **fields)

    def _event(self, kind: str, **fields: object) -> str:
        number = self._sequence
        self._sequence += 1
        return frame({"type": kind, "sequence_number": number, **fields}, kind)


def _part(text: str) -> Draft:
    return {"type": "output_text", "text": text, "annotations": []}


def _usage(tokens: Tokens) -> Draft:
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cache_read},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens.total,
    }


def _called(name: str) -> Draft:
    """Name a tool; those of servers are not declared, but found under the server's name."""
    server, _, plain = name.rpartition("__")
    is_found = server.startswith("mcp__")
    return {"namespace": server, "name": plain} if is_found else {"name": name}
