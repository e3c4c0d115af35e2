"""A performance: the steps of one response, as frames and what has to be waited for. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias, assert_never

from tests.support.scripted_model import tokens, tools
from tests.support.scripted_model.conversation import Conversation
from tests.support.scripted_model.plan import Plan
from tests.support.scripted_model.reply import Reply
from tests.support.scripted_model.steps import (
    AnyCall,
    Call,
    Cut,
    Error,
    Gate,
    Result,
    Saw,
    Say,
    Shell,
    Sleep,
    Slow,
    Step,
    Stop,
    StreamError,
    Think,
    Usage,
    Write,
)
from tests.support.scripted_model.tokens import Tokens

#: A frame to send, or what the server itself must do.
Effect: TypeAlias = str | Sleep | Gate | Cut

#: Characters that come at once, where no pace is set.
_PIECE = 40
_WORD = re.compile(r"\S+\s*|\s+")

#: Characters of a result that are said.
_RESULT = 2000

#: Tokens of a call beside its arguments.
_CALL = 8

#: What asks for itself must not find itself: the directive and its answer.
_QUESTION = re.compile(r"saw:? [^;\\\"]*")


class Performance:
    def __init__(self, plan: Plan, conversation: Conversation, reply: Reply) -> None:
        self._plan = plan
        self._conversation = conversation
        self._reply = reply
        self._pace = 0.0
        self._reason = ""
        self._said = 0  #: tokens

    def effects(self, cost: Tokens) -> Iterator[Effect]:
        """Take the steps one after the other, after an input of such a ``cost``."""
        yield from self._reply.begin(cost)
        for step in self._plan.steps:
            if isinstance(step, StreamError):
                yield from self._fail(step)
                return
            yield from self._take(step)
        usage = self._plan.usage
        stated = usage.output if usage else None
        output = max(1, self._said) if stated is None else stated
        yield from self._reply.end(replace(cost, output=output), self._reason)

    def _fail(self, step: StreamError) -> Iterator[Effect]:
        frames = self._reply.fail(step.kind)
        yield from frames
        if not frames or not self._conversation.is_streamed:
            yield Cut()

    def _take(self, step: Step) -> Iterable[Effect]:
        match step:
            case Say() | Result() | Saw():
                return self._say(self._words(step))
            case Think(text):
                self._said += tokens.count(text)
                return self._reply.think(text)
            case Call() | Shell() | Write():
                return self._call(step)
            case Sleep() | Gate() | Cut():
                return [step]
            case Slow() | Stop():
                self._change(step)
            case Usage() | Error() | StreamError():
                pass  # seen to already
            case _:
                assert_never(step)
        return []

    def _words(self, step: Say | Result | Saw) -> str:
        match step:
            case Say(text):
                return text
            case Result():
                return self._conversation.last_result[:_RESULT]
            case Saw(pattern):
                rest = _QUESTION.sub("", self._conversation.request.raw)
                return f"saw {pattern}: {'yes' if re.search(pattern, rest) else 'no'}"
            case _:
                assert_never(step)

    def _say(self, text: str) -> Iterator[Effect]:
        self._said += tokens.count(text)
        yield from self._reply.open_text()
        for piece in _pieces(text, self._pace):
            yield from self._reply.add_text(piece)
            if self._pace:
                yield Sleep(1 / self._pace)
        yield from self._reply.close_text()

    def _call(self, step: AnyCall) -> Iterable[Effect]:
        call = tools.named(step, self._conversation.tools)
        self._said += tokens.count(json.dumps(call.arguments)) + _CALL
        return self._reply.call(call)

    def _change(self, step: Slow | Stop) -> None:
        match step:
            case Slow(pace):
                self._pace = pace
            case Stop(reason):
                self._reason = reason
            case _:
                assert_never(step)


def _pieces(text: str, pace: float) -> list[str]:
    if pace:
        return _WORD.findall(text)
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
