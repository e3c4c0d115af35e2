"""The files in which an agent records its conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from re import Pattern
from typing import Any, Literal, NamedTuple, TypeAlias

from rookery.model.evidence import Claim
from rookery.model.sessions import NativeId

#: ``error``: the program's own explanation of why it stopped.
Kind: TypeAlias = Literal["prompt", "words", "call", "result", "error", "interruption"]

Line: TypeAlias = Any  #: the JSON of one line
#: ``failure``: the result of a call that failed.
PassageTexts: TypeAlias = Iterator[tuple[Kind | Literal["failure"], str]]


@dataclass(frozen=True, slots=True)
class Passage:
    """One part of a conversation: a prompt, an answer, a tool call or its result."""

    at: datetime
    kind: Kind
    text: str
    denied_by: str = ""  #: of a call: who or what denied it, as Rookery recorded it
    rule: str = ""  #: the rule that denied it
    failed: bool = False  #: of a result: the call is known to have failed


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """The content of one line. A later line with the same id repeats it and adds to it."""

    id: str
    passages: tuple[Passage, ...]


class Tokens(NamedTuple):
    """Token counts. Part of the input may have been read from or written to a cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that one model response used, as the agent recorded them."""

    id: str  #: of the response; the agent may record a response again as it grows
    at: datetime
    model: str  #: empty where the line does not name it
    tokens: Tokens
    context: int = 0  #: tokens in the conversation's context after it; 0 for a subagent


@dataclass(frozen=True, slots=True)
class UsageParser:
    """The lines of a transcript that report tokens."""

    marker: bytes  #: occurs in every such line
    read: Callable[[Line], Usage | None]


@dataclass(frozen=True, slots=True)
class FolderSources:
    """Where to look for an agent's files: three environments, and configured folders."""

    login: Mapping[str, str]  #: the environment of the user's login shell
    shared: Mapping[str, str]  #: set by the configuration for every agent
    own: Mapping[str, str]  #: set by the configuration for this agent
    listed: Iterable[str] = ()


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One live process of an agent, as it describes itself in a file."""

    pid: int
    started: str  #: in kernel ticks on Linux: the pid may be reused later
    native_id: NativeId
    cwd: str
    claim: Claim | None  #: ``None`` while it is still starting


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The files in which an agent describes its live sessions, one file each."""

    folder: str  #: in each of the agent's folders
    name: Pattern[str]  #: other files beside them may hold secrets and are never opened
    menu: str  #: the detail of a claim that one of the agent's menus is open
    #: Parse a file; ``None`` if it is incomplete.
    read: Callable[[str], SessionEntry | None]


@dataclass(frozen=True, slots=True)
class TranscriptDialect:
    """Reads one agent's transcripts, line by line."""

    #: The name of a transcript: a regular expression with ``{id}``, the native id, or
    #: ``{head}``, its beginning.
    name: str
    read: Callable[[Line], PassageTexts]
    place: str = ""  #: where it is in the agent's folder, as a glob pattern; empty if unknown
    #: Return the agent's own folders, with ``~`` unexpanded.
    folders: Callable[[FolderSources], Iterable[str]] | None = None
    usage: UsageParser | None = None
    #: The names of the transcripts of subagents, in a folder beside the session's.
    subagents: Pattern[str] | None = None
    session_files: SessionFiles | None = None
    #: It repeats earlier prompts at the moment of an interruption.
    repeats_prompts: bool = False
