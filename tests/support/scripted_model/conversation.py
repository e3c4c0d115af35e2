"""A request as every API means it: who said what, and where the script stands. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.support.scripted_model import prompts, script

#: JSON as it came.
Fields: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    raw: str  #: the body as text
    body: Fields


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the conversation."""

    text: str = ""
    is_users: bool = False
    calls: int = 0
    results: tuple[str, ...] = ()  #: of tool calls


@dataclass(frozen=True, slots=True)
class Prompt:
    text: str = ""
    at: int = -1  #: its line in the conversation


@dataclass(frozen=True, slots=True)
class Conversation:
    request: Request
    lines: tuple[Line, ...]
    tools: frozenset[str]  #: the declared ones
    system: str
    model: str
    is_streamed: bool
    schema: Fields | None = None  #: of the answer

    @property
    def prompt(self) -> Prompt:
        """The last thing the user said, which is the script."""
        for at in reversed(range(len(self.lines))):
            line = self.lines[at]
            text = prompts.unquoted(line.text)
            if line.is_users and text and (script.is_script(text) or not line.results):
                return Prompt(text, at)
        return Prompt()

    @property
    def last_result(self) -> str:
        results = [result for line in self.lines for result in line.results]
        return results[-1] if results else ""

    def calls_since(self, prompt: Prompt) -> int:
        return sum(line.calls for line in self.lines[prompt.at + 1 :])


def flat(content: str | Iterable[Any] | None) -> str:
    """Join the texts of a content, which is a text or blocks."""
    return "\n".join(texts(content))


def texts(content: str | Iterable[Any] | None) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [_text(block) for block in content or ()]


def _text(block: object) -> str:
    return str(block.get("text") or "") if isinstance(block, dict) else str(block)
