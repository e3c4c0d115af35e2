"""Read what a driven session says and does while its turn runs, each block once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol, Self, TypeVar

from rookery.client import Client
from rookery.client.blocks import BlockInfo, show_blocks

T = TypeVar("T")

#: Latest prompts among which the one that began the running turn is searched: more prompts
#: may have arrived during the turn.
MAX_PROMPTS = 50


class Retry(Protocol):
    """Sends a request again if the daemon restarts."""

    def __call__(self, ask: Callable[[], T], /) -> T: ...


@dataclass(slots=True)
class LiveBlocks:
    """The texts and tool calls of a session that were not shown yet.

    A text is shown before the tool call that follows it. Texts after the last call are held
    back until the end of the turn, because they are its answer.
    """

    daemon: Client
    session: str
    retry: Retry
    seen: int = 0  #: number of the last block that was shown or is part of an answer

    @classmethod
    def since(cls, daemon: Client, session: str, began: str, retry: Retry) -> Self:
        """Start after the last block or, with a time, at the turn that began at ``began``."""
        ask = partial(show_blocks, daemon, session, last=MAX_PROMPTS, kinds=("prompt",))
        found = retry(ask)
        turn = [each for each in found.blocks if began and not _is_before(each.at, began)]
        return cls(daemon, session, retry, turn[0].number if turn else found.count)

    def up_to_call(self, at: str) -> list[BlockInfo]:
        """Return the unseen blocks up to the last tool call that was made by a time."""
        found = self._unseen(at)
        while found and found[-1].kind != "tool-call":
            found.pop()
        return self._marked_seen(found)

    def up_to_end(self, at: str, answer: str) -> list[BlockInfo]:
        """Return the unseen blocks until the end of a turn, without those in its answer."""
        return [
            each
            for each in self._marked_seen(self._unseen(at))
            if each.kind == "tool-call" or each.text.strip() not in answer
        ]

    def _unseen(self, at: str) -> list[BlockInfo]:
        """Return the unseen texts and calls until a time; later ones may be of another turn."""
        found: list[BlockInfo] = []
        after, is_all = self.seen, False
        while not is_all:
            kinds = ("text", "tool-call")
            page = self.retry(
                partial(show_blocks, self.daemon, self.session, after=after, kinds=kinds)
            )
            found += [each for each in page.blocks if not _is_before(at, each.at)]
            after, is_all = page.up_to, page.up_to >= page.count
        return found

    def _marked_seen(self, found: Sequence[BlockInfo]) -> list[BlockInfo]:
        self.seen = found[-1].number if found else self.seen
        return [*found]


def _is_before(moment: str, other: str) -> bool:
    return datetime.fromisoformat(moment) < datetime.fromisoformat(other)
