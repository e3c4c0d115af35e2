"""Where programs are in tmux: the content of the handles that tmux's runtimes make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import msgspec

from rookery.model.errors import RuntimeFailed
from rookery.model.sessions import OBSERVED, TMUX
from rookery.ports.runtime import HeldProgram, RuntimeHandle
from rookery.ports.terminal import TerminalAddress

AnyPlace = TypeVar("AnyPlace", "Place", "UserPlace")


@dataclass(frozen=True, slots=True)
class Place:
    """A program on Rookery's own tmux server."""

    name: str  #: of the tmux session in which it was started
    pane: str  #: empty if the pane is gone, and only the process is left
    pid: int = 0  #: 0 in handles that were stored before they had it

    @property
    def program(self) -> HeldProgram:
        handle = RuntimeHandle(TMUX, _written(self))
        return HeldProgram(handle, TerminalAddress(self.name, self.pane))

    @staticmethod
    def read(handle: RuntimeHandle) -> Place:
        """Return what a handle refers to. Raises ``RuntimeFailed`` if it is not tmux's."""
        return _read(handle, TMUX, Place)


@dataclass(frozen=True, slots=True)
class UserPlace:
    """An agent in a pane of one of the user's own tmux servers."""

    server: str  #: its socket
    pane: str
    process: str  #: the agent's process, which is not the pane's

    @property
    def handle(self) -> RuntimeHandle:
        return RuntimeHandle(OBSERVED, _written(self))

    @staticmethod
    def read(handle: RuntimeHandle) -> UserPlace:
        """Return what a handle refers to. Raises ``RuntimeFailed`` if it is of another kind."""
        return _read(handle, OBSERVED, UserPlace)


def _written(place: Place | UserPlace) -> str:
    return msgspec.json.encode(place).decode()


def _read(handle: RuntimeHandle, runtime: str, kind: type[AnyPlace]) -> AnyPlace:
    if handle.runtime != runtime:
        raise RuntimeFailed(f"{handle.text} is not a handle of the runtime {runtime!r}.")
    try:
        return msgspec.json.decode(handle.reference, type=kind)
    except msgspec.MsgspecError as error:
        raise RuntimeFailed(f"the handle {handle.text} cannot be read: {error}.") from error
