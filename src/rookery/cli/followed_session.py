"""A session that ``rookery follow`` shows, and how much of it was shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from rookery.cli.live_blocks import LiveBlocks
from rookery.client.turns import TurnInfo


@dataclass(slots=True)
class FollowedSession:
    """A session that is followed, and how much of it was shown."""

    id: str
    name: str
    as_of: int  #: the last entry that the shown turns cover; only later events are handled
    is_ours: bool  #: whether this command put it into the foreground
    seen: int  #: the number of the last turn that was shown
    last: TurnInfo | None = None  #: the last turn that this command has shown
    prompts: list[str] = field(default_factory=list)  #: shown prompts of unfinished turns
    asked: tuple[str, str] = ("", "")  #: activity and text of the open request; empty if none
    blocks: LiveBlocks | None = None  #: only of a driven session
    calls: dict[str, str] = field(default_factory=dict)  #: the last argument of each tool
    runtime: str = ""
