"""What a reply is, whatever the API: frames as they come, or all of it at once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias
from uuid import uuid4

from tests.support.scripted_model.steps import Call
from tests.support.scripted_model.tokens import Tokens

#: JSON in the making.
Draft: TypeAlias = dict[str, Any]

#: Server-sent events as they go over the wire.
Frames: TypeAlias = list[str]

#: When every reply was made, in seconds; no program minds.
CREATED = 1_700_000_000

#: A sign of life that means nothing.
PING = ": ping\n\n"

_NESTED = re.compile(r'\{"nested": (\d+)\}')


class Reply(Protocol):
    """One response. What it is told becomes frames, and is kept for ``whole``."""

    def begin(self, tokens: Tokens) -> Frames: ...
    def open_text(self) -> Frames: ...
    def add_text(self, piece: str) -> Frames: ...
    def close_text(self) -> Frames: ...
    def think(self, text: str) -> Frames: ...
    def call(self, call: Call) -> Frames: ...

    def end(self, tokens: Tokens, reason: str) -> Frames:
        """Finish. Without a ``reason``, it is the natural one."""
        ...

    def whole(self) -> Draft:
        """Return the response as one who does not want it streamed gets it."""
        ...

    def fail(self, kind: str) -> Frames:
        """Break off with an error; no frames where the API has none for that."""
        ...

    def ping(self) -> str:
        """Return a sign of life, if the API has any."""
        ...

    def error(self, status: int, message: str) -> Draft:
        """Return the body of an HTTP error."""
        ...


def frame(fields: Mapping[str, object], event: str = "") -> str:
    line = f"data: {json.dumps(fields)}\n\n"
    return f"event: {event}\n{line}" if event else line


def with_nesting(arguments: str) -> str:
    """Replace ``{"nested": N}`` by N lists in each other, too deep for this Python to write."""
    return _NESTED.sub(lambda found: "[" * int(found[1]) + "]" * int(found[1]), arguments)


def new_id() -> str:
    return uuid4().hex[:24]
