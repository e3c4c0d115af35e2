"""What a script asks for, one value each. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Think:
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: Mapping[str, object]
    is_parallel: bool = False  #: made together with the call before it


@dataclass(frozen=True, slots=True)
class Shell:
    command: str


@dataclass(frozen=True, slots=True)
class Write:
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    pass


@dataclass(frozen=True, slots=True)
class Saw:
    pattern: str


@dataclass(frozen=True, slots=True)
class Sleep:
    seconds: float


@dataclass(frozen=True, slots=True)
class Slow:
    pace: float  #: words a second; 0 is all at once


@dataclass(frozen=True, slots=True)
class Gate:
    name: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens; None is what was counted."""

    input: int | None = None  #: without the cache
    output: int | None = None
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class Stop:
    reason: str


@dataclass(frozen=True, slots=True)
class Error:
    status: int
    tries: int | None  #: how many of the first fail; None: all
    message: str


@dataclass(frozen=True, slots=True)
class StreamError:
    kind: str


@dataclass(frozen=True, slots=True)
class Cut:
    pass


AnyCall = Call | Shell | Write
Step = (
    Say
    | Think
    | AnyCall
    | Result
    | Saw
    | Sleep
    | Slow
    | Gate
    | Usage
    | Stop
    | Error
    | StreamError
    | Cut
)
