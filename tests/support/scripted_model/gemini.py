"""Gemini: what its requests say, and replies in its candidates. Pure."""

from __future__ import annotations

import json

from tests.support.scripted_model import prompts
from tests.support.scripted_model.conversation import Conversation, Fields, Line, Request, flat
from tests.support.scripted_model.reply import Draft, Frames, frame, new_id
from tests.support.scripted_model.steps import Call
from tests.support.scripted_model.tokens import Tokens

_REASONS = {"max_tokens": "MAX_TOKENS"}
_ERRORS = {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


def read(request: Request) -> Conversation:
    body = request.body
    groups = body.get("tools") or ()
    functions = [each for group in groups for each in group.get("functionDeclarations", ())]
    wanted = body.get("generationConfig") or {}
    model, _, verb = request.path.rpartition("/")[2].partition(":")
    return Conversation(
        request,
        lines=tuple(map(_line, body.get("contents", ()))),
        tools=frozenset(function.get("name", "") for function in functions),
        system=flat((body.get("systemInstruction") or {}).get("parts")),
        model=model,
        is_streamed=verb == "streamGenerateContent",
        schema=wanted.get("responseJsonSchema") or wanted.get("responseSchema"),
    )


def _line(content: Fields) -> Line:
    parts = content.get("parts") or ()
    said = [part["text"] for part in parts if "text" in part and not part.get("thought")]
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    return Line(
        prompts.pick(said),
        is_users=content.get("role") != "model",
        calls=sum("functionCall" in part for part in parts),
        results=tuple(json.dumps(result.get("response")) for result in results),
    )


class GeminiReply:
    def __init__(self, conversation: Conversation) -> None:
        self._id = new_id()
        self._model = conversation.model
        self._parts: list[Draft] = []
        self._tokens = Tokens(0)
        self._reason = ""

    def begin(self, tokens: Tokens) -> Frames:
        self._tokens = tokens
        return []

    def open_text(self) -> Frames:
        return []

    def add_text(self, piece: str) -> Frames:
        return [self._add({"text": piece})]

    def close_text(self) -> Frames:
        return []

    def think(self, text: str) -> Frames:
        return [self._add({"text": text, "thought": True})]

    def call(self, call: Call) -> Frames:
        made = {"name": call.name, "args": call.arguments, "id": f"fc-{new_id()}"}
        return [self._add({"functionCall": made})]

    def end(self, tokens: Tokens, reason: str) -> Frames:
        self._tokens = tokens
        self._reason = _REASONS.get(reason, reason) or "STOP"
        return [frame(self._chunk([{"text": ""}], self._reason))]

    def whole(self) -> Draft:
        return self._chunk(self._parts, self._reason)

    def fail(self, kind: str) -> Frames:
        return []

    def ping(self) -> str:
        return ""  # Gemini CLI takes a comment for an answer that it cannot read

    def error(self, status: int, message: str) -> Draft:
        name = _ERRORS.get(status, "INTERNAL")
        return {"error": {"code": status, "message": message, "status": name}}

    def _add(self, part: Draft) -> str:
        self._parts.append(part)
        return frame(self._chunk([part]))

    def _chunk(self, parts: list[Draft], reason: str = "") -> Draft:
        candidate: Draft = {"content": {"role": "model", "parts": parts}, "index": 0}
        if reason:
            candidate["finishReason"] = reason
        return {
            "candidates": [candidate],
            "usageMetadata": _usage(self._tokens),
            "modelVersion": self._model,
            "responseId": self._id,
        }


def _usage(tokens: Tokens) -> Draft:
    return {
        "promptTokenCount": tokens.input,
        "candidatesTokenCount": tokens.output,
        "totalTokenCount": tokens.total,
        "cachedContentTokenCount": tokens.cache_read,
    }
