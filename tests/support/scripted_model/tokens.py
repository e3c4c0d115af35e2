"""What a reply is said to have cost, with a prompt cache such as real services have."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from tests.support.scripted_model.conversation import Conversation
from tests.support.scripted_model.steps import Usage

#: Characters of a token, roughly.
_LENGTH = 4

#: Most tokens of a request that are never cached.
_FRESH = 12

#: Characters of the system prompt that tell one conversation from another.
_HEAD = 4000


@dataclass(frozen=True, slots=True)
class Tokens:
    fresh: int  #: of the input: what no cache had anything to do with
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def input(self) -> int:
        return self.fresh + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        return self.input + self.output


def count(text: str) -> int:
    return max(1, len(text) // _LENGTH)


class Meter:
    """Remembers how far each conversation has been read: that much is cached."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._cached: dict[tuple[str, str, str], int] = {}

    def measure(self, conversation: Conversation, usage: Usage | None) -> Tokens:
        """Count the input of a request; what a script says of it counts instead."""
        total = count(conversation.request.raw)
        read = min(self._remember(conversation, total), total)
        fresh = min(total - read, _FRESH)
        if usage is None:
            return Tokens(fresh, read, total - read - fresh)
        stated = fresh if usage.input is None else usage.input
        return Tokens(stated, usage.cache_read, usage.cache_write)

    def _remember(self, conversation: Conversation, total: int) -> int:
        first = conversation.lines[0].text if conversation.lines else ""
        head = conversation.model, conversation.system[:_HEAD], first
        with self._lock:
            before = self._cached.get(head, 0)
            self._cached[head] = total
        return before
