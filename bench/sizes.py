"""The sizes of all measurements: in full, or just enough to see that the benchmarks work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    facts: int  #: that each writer of the journal appends
    rounds: int  #: of the journal's benchmark
    panes: int
    seconds: float  #: during which every pane prints a line per second
    window: float  #: seconds for which the daemon's CPU time is measured
    floor: float  #: the same for tmux without the daemon
    polling: float  #: the same for the naive method
    settling: float  #: seconds to wait before each measurement
    entries: int
    starts: int
    words: int
    naive_words: int
    real_words: int  #: messages to a real agent
    naive_real_words: int
    crowd: int  #: sessions that get a message at once
    commands: int
    listed: int  #: sessions in the list
    calling: float  #: seconds of calls
    hooks: int  #: calls of each kind of hook
    events: int  #: events that many callers send at once
    waiting: int  #: sessions, one of which listens to the others
    listeners: int
    kept: int  #: ended sessions in ``ls --all``
    spooled: int  #: hook calls that wait in the spool
    burst: int  #: sessions that are started at once
    flood: int  #: megabytes that one pane prints
    frames: int  #: lines whose delay in a live view is measured
    interface_sessions: int  #: sessions that the terminal interface lists
    interface_seconds: float  #: during which they change
    answers: int  #: requests that are answered by key
    driven: int  #: driven sessions that stream at once
    blocks: int  #: that each of them streams


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
    interface_sessions=200,
    interface_seconds=60,
    answers=10,
    driven=50,
    blocks=200,
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
    interface_sessions=10,
    interface_seconds=3,
    answers=2,
    driven=5,
    blocks=20,
)
