"""What Rookery knows of the files in which an agent writes down its conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from re import Pattern
from typing import Any, Literal, NamedTuple, TypeAlias

from rookery.model.evidence import Claim
from rookery.model.sessions import NativeId

#: An ``error`` is what the program itself says of why it stopped.
Kind: TypeAlias = Literal["prompt", "words", "call", "result", "error", "interruption"]

Line: TypeAlias = Any  #: the JSON of one line
Said: TypeAlias = Iterator[tuple[Kind, str]]


@dataclass(frozen=True, slots=True)
class Passage:
    """One thing that was said or done in a conversation."""

    at: datetime
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """What one line says. A later line of the same id says it again, and more."""

    id: str
    passages: tuple[Passage, ...]


class Tokens(NamedTuple):
    """What was used. Of what went in, some may have come from a cache or gone to one."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """What one response of a model used, as its agent wrote it down."""

    id: str  #: of the response; its agent may write it down more than once, as it grows
    at: datetime
    model: str  #: empty where the line does not name it
    tokens: Tokens


@dataclass(frozen=True, slots=True)
class UsageLines:
    """The lines of a transcript that report tokens."""

    word: bytes  #: stands in every such line
    read: Callable[[Line], Usage | None]


@dataclass(frozen=True, slots=True)
class FolderSources:
    """What tells where an agent keeps its files: three environments, and listed folders."""

    login: Mapping[str, str]  #: of the user's login shell
    shared: Mapping[str, str]  #: that the configuration gives to every agent
    own: Mapping[str, str]  #: that it gives to this one
    listed: Iterable[str] = ()


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One live process of an agent, as it describes itself in a file."""

    pid: int
    started: str  #: in the kernel's ticks: another process may get the same pid later
    native_id: NativeId
    cwd: str
    claim: Claim | None  #: none while it is only starting


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The files in which an agent describes its live sessions, one each."""

    folder: str  #: in each of the agent's folders
    name: Pattern[str]  #: beside them may lie files that hold secrets: those are never opened
    menu: str  #: the detail of a claim that only a menu of its own is open
    #: Read a file; ``None`` if it is half written.
    read: Callable[[str], SessionEntry | None]


@dataclass(frozen=True, slots=True)
class TranscriptDialect:
    """Reads one agent's transcripts, line by line."""

    #: The name of a transcript: a regular expression with ``{id}``, which is the native id, or
    #: ``{head}``, which is how that begins.
    name: str
    read: Callable[[Line], Said]
    place: str = ""  #: where it is in the agent's folder: a glob pattern; empty if unknown
    #: Return the agent's own folders; ``~`` in them is not resolved yet.
    folders: Callable[[FolderSources], Iterable[str]] | None = None
    usage: UsageLines | None = None
    #: The names of the transcripts of subagents, in a folder beside the session's.
    subagents: Pattern[str] | None = None
    session_files: SessionFiles | None = None
