"""OpenAI Chat Completions: what its requests say, and replies in its chunks. Pure."""

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
from tests.support.scripted_model.reply import (
    CREATED,
    PING,
    Draft,
    Frames,
    frame,
    new_id,
    with_nesting,
)
from tests.support.scripted_model.steps import Call
from tests.support.scripted_model.tokens import Tokens

_RULERS = {"system", "developer"}
_REASONS = {"max_tokens": "length"}
_DONE = "data: [DONE]\n\n"


def read(request: Request) -> Conversation:
    body = request.body
    form = (body.get("response_format") or {}).get("json_schema") or {}
    messages = body.get("messages", ())
    rules = [flat(each.get("content")) for each in messages if each.get("role") in _RULERS]
    functions = [tool.get("function") or {} for tool in body.get("tools") or ()]
    return Conversation(
        request,
        lines=tuple(_lines(messages)),
        tools=frozenset(function.get("name", "") for function in functions),
        system="".join(rules),
        model=body.get("model", ""),
        is_streamed=bool(body.get("stream")),
        schema=form.get("schema"),
    )


def _lines(messages: list[Fields]) -> Iterator[Line]:
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            yield Line(results=(flat(content),))
        elif role not in _RULERS:
            calls = len(message.get("tool_calls") or ())
            yield Line(prompts.pick(texts(content)), is_users=role == "user", calls=calls)


class ChatReply:
    def __init__(self, conversation: Conversation) -> None:
        self._text = ""
        self._calls: list[Draft] = []
        self._end: Draft = {}
        options = conversation.request.body.get("stream_options") or {}
        self._tells_usage = bool(options.get("include_usage"))
        self._head: Draft = {
            "id": f"chatcmpl-{new_id()}",
            "created": CREATED,
            "model": conversation.model,
        }

    def begin(self, tokens: Tokens) -> Frames:
        return [self._chunk({"role": "assistant", "content": ""})]

    def open_text(self) -> Frames:
        return []

    def add_text(self, piece: str) -> Frames:
        self._text += piece
        return [self._chunk({"content": piece})]

    def close_text(self) -> Frames:
        return []

    def think(self, text: str) -> Frames:
        return [self._chunk({"reasoning_content": text})]

    def call(self, call: Call) -> Frames:
        index, text = len(self._calls), with_nesting(json.dumps(call.arguments))
        made = {"id": f"call_{new_id()}", "type": "function"}
        self._calls.append({**made, "function": {"name": call.name, "arguments": text}})
        begun = {"index": index, **made, "function": {"name": call.name, "arguments": ""}}
        rest = {"index": index, "function": {"arguments": text}}
        return [self._chunk({"tool_calls": [part]}) for part in (begun, rest)]

    def end(self, tokens: Tokens, reason: str) -> Frames:
        natural = "tool_calls" if self._calls else "stop"
        finish, usage = _REASONS.get(reason, reason) or natural, _usage(tokens)
        message: Draft = {"role": "assistant", "content": self._text or None}
        if self._calls:
            message["tool_calls"] = self._calls
        choice = {"index": 0, "message": message, "finish_reason": finish}
        self._end = {"choices": [choice], "usage": usage}
        frames = [self._chunk({}, finish)]
        if self._tells_usage:
            frames.append(self._frame(choices=[], usage=usage))
        return [*frames, _DONE]

    def whole(self) -> Draft:
        return {**self._head, "object": "chat.completion", **self._end}

    def fail(self, kind: str) -> Frames:
        return []

    def ping(self) -> str:
        return PING

    def error(self, status: int, message: str) -> Draft:
        return {"error": {"message": message, "type": "server_error", "code": str(status)}}

    def _chunk(self, delta: Draft, finish: str | None = None) -> str:
        return self._frame(choices=[{"index": 0, "delta": delta, "finish_reason": finish}])

    def _frame(self, **fields: object) -> str:
        return frame({**self._head, "object": "chat.completion.chunk", **fields})


def _usage(tokens: Tokens) -> Draft:
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.total,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
    }
