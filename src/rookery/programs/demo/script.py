"""The language of prompts: steps that are separated by line breaks or ``;;``. Pure."""

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
class UseTool:
    name: str
    text: str
    asks: bool  #: whether it asks for permission first


@dataclass(frozen=True, slots=True)
class AskQuestion:
    text: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sleep:
    seconds: float


@dataclass(frozen=True, slots=True)
class Slow:
    words_per_second: float  #: 0: print each text at once


@dataclass(frozen=True, slots=True)
class Fail:
    error: str


@dataclass(frozen=True, slots=True)
class Exit:
    code: int


@dataclass(frozen=True, slots=True)
class Crash:
    pass


ScriptStep = Say | UseTool | AskQuestion | Sleep | Slow | Fail | Exit | Crash


def read(prompt: str) -> Iterator[ScriptStep]:
    """Read the steps of ``prompt``; a line that is no step is echoed."""
    for part in _SEPARATOR.split(prompt):
        if line := part.strip():
            match = _VERB.fullmatch(line)
            step = _READERS[match[1]](match[2]) if match else None
            yield step or Say(f"Echo: {line}")


def _tool(text: str, *, asks: bool) -> UseTool | None:
    name, _, rest = text.partition(" ")
    return UseTool(name, rest.strip(), asks) if name else None


def _question(text: str) -> AskQuestion:
    question, *options = (part.strip() for part in text.split("|"))
    return AskQuestion(question, tuple(filter(None, options)) or ("Yes", "No"))


_READERS: dict[str, Callable[[str], ScriptStep | None]] = {
    "say": Say,
    "tool": lambda text: _tool(text, asks=False),
    "permission": lambda text: _tool(text, asks=True),
    "question": _question,
    "sleep": lambda text: Sleep(float(text)) if _NUMBER.fullmatch(text) else None,
    "slow": lambda text: Slow(float(text)) if _NUMBER.fullmatch(text) else None,
    "fail": Fail,
    "exit": lambda text: Exit(int(text)) if _STATUS.fullmatch(text) else None,
    "crash": lambda text: None if text else Crash(),
}
_VERB = re.compile(rf"({'|'.join(_READERS)}):\s*(.*)", re.DOTALL)
