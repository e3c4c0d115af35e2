"""Anthropic Messages: what its requests say, and replies in its events. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.support.scripted_model import prompts
from tests.support.scripted_model.conversation import Conversation, Fields, Line, Request, flat
from tests.support.scripted_model.reply import Draft, Frames, frame, new_id
from tests.support.scripted_model.steps import Call
from tests.support.scripted_model.tokens import Tokens

_SIGNATURE = "c2lnbmF0dXJl"
#: Characters of a call's arguments in one event.
_CHUNK = 60
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read(request: Request) -> Conversation:
    body = request.body
    form = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return Conversation(
        request,
        lines=tuple(_lines(body)),
        tools=frozenset(tool.get("name", "") for tool in body.get("tools") or ()),
        system=flat(body.get("system")),
        model=body.get("model", ""),
        is_streamed=bool(body.get("stream")),
        schema=form.get("schema"),
    )


def _lines(body: Fields) -> Iterator[Line]:
    for message in body.get("messages", ()):
        content, role = message.get("content"), message.get("role")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts = [block["text"] for block in _typed(blocks, "text")]
        if role == "system":
            # Claude Code's notes. What else they tell of leaves the script where it is.
            texts = list(filter(prompts.said_meanwhile, texts))
        yield Line(
            prompts.pick(texts),
            is_users=role != "assistant",
            calls=len(_typed(blocks, "tool_use")),
            results=tuple(
                flat(block.get("content")) for block in _typed(blocks, "tool_result")
            ),
        )


def _typed(blocks: list[Draft] | None, kind: str) -> list[Draft]:
    return [block for block in blocks or () if block.get("type") == kind]


class AnthropicReply:
    def __init__(self, conversation: Conversation) -> None:
        self._text = ""
        self._content: list[Draft] = []
        self._message: Draft = {
            "id": f"msg_{new_id()}",
            "type": "message",
            "role": "assistant",
            "model": conversation.model,
            "content": self._content,
            "stop_reason": None,
            "stop_sequence": None,
        }

    def begin(self, tokens: Tokens) -> Frames:
        self._message["usage"] = {**_usage(tokens), "output_tokens": 1}
        return [_event("message_start", message=self._message), self.ping()]

    def open_text(self) -> Frames:
        self._text = ""
        return [self._start({"type": "text", "text": ""})]

    def add_text(self, piece: str) -> Frames:
        self._text += piece
        return [self._delta({"type": "text_delta", "text": piece})]

    def close_text(self) -> Frames:
        return [self._stop({"type": "text", "text": self._text})]

    def think(self, text: str) -> Frames:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        return [
            self._start(block),
            self._delta({"type": "thinking_delta", "thinking": text}),
            self._delta({"type": "signature_delta", "signature": _SIGNATURE}),
            self._stop({**block, "thinking": text, "signature": _SIGNATURE}),
        ]

    def call(self, call: Call) -> Frames:
        block = {"type": "tool_use", "id": f"toolu_{new_id()}", "name": call.name, "input": {}}
        text = json.dumps(call.arguments)
        chunks = [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)]
        return [
            self._start(block),
            *(
                self._delta({"type": "input_json_delta", "partial_json": chunk})
                for chunk in chunks
            ),
            self._stop({**block, "input": call.arguments}),
        ]

    def end(self, tokens: Tokens, reason: str) -> Frames:
        natural = "tool_use" if _typed(self._content, "tool_use") else "end_turn"
        stop = {"stop_reason": reason or natural, "stop_sequence": None}
        usage = _usage(tokens)
        self._message.update(stop, usage=usage)
        return [_event("message_delta", delta=stop, usage=usage), _event("message_stop")]

    def whole(self) -> Draft:
        return self._message

    def fail(self, kind: str) -> Frames:
        return [_event("error", error={"type": kind, "message": f"scripted {kind}"})]

    def ping(self) -> str:
        return _event("ping")

    def error(self, status: int, message: str) -> Draft:
        error = {"type": _ERRORS.get(status, "api_error"), "message": message}
        return {"type": "error", "error": error, "request_id": f"req_{new_id()}"}

    def _start(self, block: Draft) -> str:
        return _event("content_block_start", index=len(self._content), content_block=block)

    def _delta(self, delta: Draft) -> str:
        return _event("content_block_delta", index=len(self._content), delta=delta)

    def _stop(self, block: Draft) -> str:
        self._content.append(block)
        return _event("content_block_stop", index=len(self._content) - 1)


def _event(kind: str, **fields: object) -> str:
    return frame({"type": kind, **fields}, kind)


def _usage(tokens: Tokens) -> Draft:
    return {
        "input_tokens": tokens.fresh,
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cache_read,
        "output_tokens": tokens.output,
        "cache_creation": {
            "ephemeral_5m_input_tokens": tokens.cache_write,
            "ephemeral_1h_input_tokens": 0,
        },
        "service_tier": "standard",
    }
