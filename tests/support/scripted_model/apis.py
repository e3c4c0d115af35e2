"""Which API a path belongs to. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.scripted_model import anthropic, chat, gemini, responses, tokens
from tests.support.scripted_model.anthropic import AnthropicReply
from tests.support.scripted_model.chat import ChatReply
from tests.support.scripted_model.conversation import Conversation, Request
from tests.support.scripted_model.gemini import GeminiReply
from tests.support.scripted_model.reply import Draft, Reply
from tests.support.scripted_model.responses import ResponsesReply


@dataclass(frozen=True, slots=True)
class Api:
    read: Callable[[Request], Conversation]
    reply: Callable[[Conversation], Reply]


_GEMINI = Api(gemini.read, GeminiReply)

#: By the end of the path: programs put what they like before it.
_APIS = {
    "/messages": Api(anthropic.read, AnthropicReply),
    "/responses": Api(responses.read, ResponsesReply),
    "/chat/completions": Api(chat.read, ChatReply),
    ":generateContent": _GEMINI,
    ":streamGenerateContent": _GEMINI,
}
#: What only asks how long it is, and what the number is called.
_COUNTS = {"/messages/count_tokens": "input_tokens", ":countTokens": "totalTokens"}


def api(path: str) -> Api | None:
    return next((found for end, found in _APIS.items() if path.endswith(end)), None)


def count(request: Request) -> Draft | None:
    """Return how long a request is, if that is the question."""
    for end, name in _COUNTS.items():
        if request.path.endswith(end):
            return {name: tokens.count(request.raw)}
    return None
