"""The reports of each source about a session. ``beliefs`` decides which of them is believed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from rookery.model.lifecycle import Activity

#: Strongest first: the stream of a driven session, the agent's hooks, its session file, its
#: transcript, whether its process exists, and what its screen shows.
Source: TypeAlias = Literal["stream", "hook", "registry", "transcript", "process", "screen"]
SOURCES: tuple[Source, ...] = ("stream", "hook", "registry", "transcript", "process", "screen")


@dataclass(frozen=True, slots=True)
class Evidence:
    """The last report of one source about a session."""

    source: Source
    claim: str
    at: datetime
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """The activity that an agent's session file reports."""

    activity: Activity
    at: datetime
    detail: str = ""
    runs_commands: bool = False  #: commands still run in the background after the turn
