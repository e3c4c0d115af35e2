"""The steps of a delivery, with the times that the daemon and the hook program recorded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from time import time

from bench.homes import pause, tmux, until
from tests.support.real.rookery import Rookery

#: Seconds between the text and Enter in the naive method.
NAIVE_PAUSE_S = 1.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """The steps of one message, in seconds since 1970."""

    written: float  #: accepted: the time of its entry, which is committed before the response
    taken_up: float  #: by the dispatcher, once the session was idle
    acknowledged: float  #: the agent has the text and runs its hook: its prompt event's time

    @property
    def whole(self) -> float:
        return 1_000 * (self.acknowledged - self.written)


def send(rookery: Rookery, name: str, words: str) -> int:
    """Send a message, and wait until it was answered."""
    message = rookery.send(name, words)
    until(lambda: rookery.step(message)[0] == "acknowledged" and is_idle(rookery, name))
    return message


def read(rookery: Rookery, messages: list[int]) -> list[Delivery]:
    with rookery.database() as db:
        rows = [
            db.execute(
                "select written_at, taken_up, at from messages"
                " join entries on seq = acknowledged_by where id = ?",
                (message,),
            ).fetchone()
            for message in messages
        ]
    return [Delivery(*map(seconds, row)) for row in rows]


def type_naively(rookery: Rookery, pane: str, words: str) -> float:
    """Type with ``tmux send-keys``, wait, and press Enter. Returns when it began."""
    began = time()
    tmux(rookery.home.tmux, "send-keys", "-t", pane, words)
    pause(NAIVE_PAUSE_S)
    tmux(rookery.home.tmux, "send-keys", "-t", pane, "Enter")
    return began


def paste_at_once(rookery: Rookery, panes: list[str], words: str) -> float:
    """Paste text and press Enter in each pane, all in one call of tmux, the fastest way.

    Returns when it began. It checks no box, records nothing and waits for no proof.
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
    """Return when each prompt event was recorded, in order."""
    with rookery.database() as db:
        rows = db.execute("select at from entries where kind = 'turn-started' order by seq")
        return [seconds(at) for (at,) in rows]


def is_idle(rookery: Rookery, name: str) -> bool:
    with rookery.database() as db:
        row = db.execute("select activity from sessions where name = ?", (name,)).fetchone()
    return bool(row[0] == "idle")


def seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
