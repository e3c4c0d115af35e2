"""The tiny language of prompts: one step a line, or between ``;;``. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_SEPARATOR = re.compile(r"\n|;;")
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_STATUS = re.compile(r"[0-9]{1,3}")


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    text: str
    asks: bool  #: whether it wants permission first


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sleep:
    seconds: float


@dataclass(frozen=True, slots=True)
class Slow:
    pace: float  #: words a second; 0 is all at once


@dataclass(frozen=True, slots=True)
class Fail:
    error: str


@dataclass(frozen=True, slots=True)
class Exit:
    code: int


@dataclass(frozen=True, slots=True)
class Crash:
    pass


Step = Say | Tool | Question | Sleep | Slow | Fail | Exit | Crash


def read(prompt: str) -> Iterator[Step]:
    """Read the steps of ``prompt``; what is not understood is echoed."""
    for part in _SEPARATOR.split(prompt):
        if line := part.strip():
            yield _step(line) or Say(f"Echo: {line}")


def _step(line: str) -> Step | None:
    found = _VERB.fullmatch(line)
    if found is None:
        return None
    verb, text = found.groups()
    return _READERS[verb](text)


def _tool(text: str) -> Tool | None:
    return _call(text, asks=False)


def _permission(text: str) -> Tool | None:
    return _call(text, asks=True)


def _call(text: str, *, asks: bool) -> Tool | None:
    name, _, rest = text.partition(" ")
    return Tool(name, rest.strip(), asks) if name else None


def _question(text: str) -> Question:
    question, *options = (part.strip() for part in text.split("|"))
    return Question(question, tuple(filter(None, options)) or ("Yes", "No"))


def _sleep(text: str) -> Sleep | None:
    return Sleep(float(text)) if _NUMBER.fullmatch(text) else None


def _slow(text: str) -> Slow | None:
    return Slow(float(text)) if _NUMBER.fullmatch(text) else None


def _exit(text: str) -> Exit | None:
    return Exit(int(text)) if _STATUS.fullmatch(text) else None


def _crash(text: str) -> Crash | None:
    return None if text else Crash()


_READERS: dict[str, Callable[[str], Step | None]] = {
    "say": Say,
    "tool": _tool,
    "permission": _permission,
    "question": _question,
    "sleep": _sleep,
    "slow": _slow,
    "fail": Fail,
    "exit": _exit,
    "crash": _crash,
}
_VERB = re.compile(rf"({'|'.join(_READERS)}):\s*(.*)", re.DOTALL)
