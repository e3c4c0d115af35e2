"""What became of words, by the times that the daemon and the hook program wrote down."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from time import time

from bench.homes import pause, tmux, until
from tests.support.real.rookery import Rookery

#: Seconds between words and Enter, the naive way.
NAIVE_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """The steps of one message, in seconds since 1970."""

    written: float  #: accepted: the entry's own time, a commit before the answer
    taken_up: float  #: by the courier, once the session was idle
    told: float  #: the agent has them, and ran our hook program: the key which that made
    acknowledged: float  #: the entry of its prompt event

    @property
    def whole(self) -> float:
        return 1_000 * (self.acknowledged - self.written)


def send(rookery: Rookery, name: str, words: str) -> int:
    """Send words, and wait until they were answered."""
    message = rookery.send(name, words)
    until(lambda: rookery.step(message)[0] == "acknowledged" and is_idle(rookery, name))
    return message


def read(rookery: Rookery, messages: list[int]) -> list[Delivery]:
    with rookery.database() as db:
        called = sorted(
            int(key.split("-")[0]) / 1e9 for (key,) in db.execute("select key from hooks")
        )
        rows = [
            db.execute(
                "select written_at, taken_up, at from messages"
                " join entries on seq = acknowledged_by where id = ?",
                (message,),
            ).fetchone()
            for message in messages
        ]
    found = []
    for row in rows:
        written, taken_up, acknowledged = map(seconds, row)
        told = called[bisect_right(called, acknowledged) - 1]
        found.append(Delivery(written, taken_up, told, acknowledged))
    return found


def type_naively(rookery: Rookery, pane: str, words: str) -> float:
    """Run ``tmux send-keys`` for words, wait, and again for Enter. Returns when it began."""
    began = time()
    tmux(rookery.home.tmux, "send-keys", "-t", pane, words)
    pause(NAIVE_PAUSE)
    tmux(rookery.home.tmux, "send-keys", "-t", pane, "Enter")
    return began


def paste_at_once(rookery: Rookery, panes: list[str], words: str) -> float:
    """Paste words and press Enter in each pane, all in one call of tmux: nothing is faster.

    Returns when it began. No check of the box, no record, no proof.
    """
    typed = rookery.folder / "typed"
    typed.write_text(words)
    steps = [["load-buffer", "-b", "limit", str(typed)]]
    for pane in panes:
        steps.append(["paste-buffer", "-p", "-b", "limit", "-t", pane])
        steps.append(["send-keys", "-t", pane, "Enter"])
    began = time()
    tmux(rookery.home.tmux, *chain.from_iterable([*step, ";"] for step in steps))
    return began


def prompts_told(rookery: Rookery) -> list[float]:
    """Return when each prompt event was written down, in order."""
    with rookery.database() as db:
        rows = db.execute("select at from entries where kind = 'turn-started' order by seq")
        return [seconds(at) for (at,) in rows]


def is_idle(rookery: Rookery, name: str) -> bool:
    with rookery.database() as db:
        row = db.execute("select activity from sessions where name = ?", (name,)).fetchone()
    return bool(row[0] == "idle")


def seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
