"""How much of everything is measured: in full, or just enough to see that it works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    facts: int  #: of each writer of the journal
    rounds: int  #: of the journal
    panes: int
    seconds: float  #: in which every pane prints a line a second
    window: float  #: seconds in which the daemon's processor time is counted
    floor: float  #: the same for tmux alone
    polling: float  #: and for the naive way
    settling: float  #: seconds before each, for what a change brings about to pass by
    entries: int
    starts: int
    words: int
    naive_words: int
    real_words: int  #: to a real agent
    naive_real_words: int
    crowd: int  #: sessions that are spoken to at once
    commands: int
    listed: int  #: sessions in the list
    calling: float  #: seconds of calls
    hooks: int  #: calls of each kind of hook
    events: int  #: that many callers tell at once
    waiting: int  #: sessions, one of which waits for the others
    listeners: int
    kept: int  #: ended sessions in the list of all
    spooled: int  #: hook calls that were written while no daemon ran
    burst: int  #: sessions that are started at once
    flood: int  #: megabytes that one pane prints
    frames: int  #: lines whose way to a live view is timed


FULL = Sizes(
    facts=100,
    rounds=7,
    panes=100,
    seconds=20,
    window=30,
    floor=15,
    polling=10,
    settling=3,
    entries=1_000_000,
    starts=5,
    words=100,
    naive_words=10,
    real_words=20,
    naive_real_words=5,
    crowd=30,
    commands=30,
    listed=30,
    calling=3,
    hooks=40,
    events=10_000,
    waiting=50,
    listeners=10_000,
    kept=10_000,
    spooled=5_000,
    burst=500,
    flood=40,
    frames=40,
)

QUICK = Sizes(
    facts=20,
    rounds=1,
    panes=10,
    seconds=2,
    window=2,
    floor=1,
    polling=1,
    settling=0.5,
    entries=50_000,
    starts=1,
    words=8,
    naive_words=1,
    real_words=3,
    naive_real_words=1,
    crowd=5,
    commands=3,
    listed=5,
    calling=1,
    hooks=5,
    events=500,
    waiting=5,
    listeners=400,
    kept=200,
    spooled=100,
    burst=10,
    flood=2,
    frames=4,
)
