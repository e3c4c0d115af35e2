"""The services that operations use, and the caller that they serve."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from rookery.config import Settings
from rookery.home import Home
from rookery.http_port import HttpPort
from rookery.model.facts import SessionId
from rookery.model.scopes import Identity
from rookery.operations.idempotency_locks import KeyLocks
from rookery.permissions.decisions import Permissions
from rookery.ports.agent import Agent
from rookery.ports.notifier import Notifier
from rookery.ports.runtime import Runtime
from rookery.store import answered_commands
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.discovery import Discovery
from rookery.tracking.transcript_reader import TranscriptReader
from rookery.workspaces.worktrees import Worktrees


class Streams:
    """The open event streams and waits by their callers' tokens, so that they can be ended."""

    def __init__(self) -> None:
        self._open: dict[str | None, set[asyncio.Event]] = {}
        self._are_over = False

    @contextmanager
    def opened(self, token: str | None) -> Iterator[asyncio.Event]:
        """Yield an event that is set when the stream must end."""
        over = asyncio.Event()
        if self._are_over:
            over.set()
        self._open.setdefault(token, set()).add(over)
        try:
            yield over
        finally:
            self._open[token].discard(over)

    def close(self, token: str) -> None:
        for over in self._open.get(token, ()):
            over.set()

    def close_all(self) -> None:
        """End all streams, and every stream that is opened later: the daemon is stopping."""
        self._are_over = True
        for streams in self._open.values():
            for over in streams:
                over.set()


@dataclass(frozen=True, slots=True)
class Context:
    """The services and settings that operations use."""

    database: Database
    journal: Journal
    runtime: Runtime
    #: Returns the session whose program is one of these processes (``Process.key``).
    holder_of: Callable[[Sequence[str]], SessionId | None]
    agents: Mapping[str, Agent]
    discovery: Discovery
    conversations: TranscriptReader
    permissions: Permissions
    worktrees: Worktrees
    commands: Mapping[str, tuple[str, ...]]  #: by agent: what to run instead of its program
    settings: Settings
    home: Home
    login: Mapping[str, str]  #: the environment of the user's login shell
    started_at: datetime
    stop: Callable[[], None]
    notifiers: tuple[Notifier, ...] = ()  #: the enabled channels of notifications
    streams: Streams = field(default_factory=Streams)
    loopback: HttpPort = field(default_factory=HttpPort)
    key_locks: KeyLocks = field(default_factory=KeyLocks)
    #: Returns why the driver host cannot be asked although it runs; empty if it can.
    driver_trouble: Callable[[], str] = field(default_factory=lambda: _no_trouble)


def _no_trouble() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Caller:
    """The identity behind a request, and its idempotency key."""

    identity: Identity
    key: answered_commands.Key | None = None

    @property
    def name(self) -> str:
        return self.identity.name
