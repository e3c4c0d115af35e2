from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.ports.agent import Agent
from rookery.runtimes.tmux.server import ServerSite

_FORMAT = re.compile(r"'-F' '(.*)'")
_FIELD = re.compile(r"#\{(\w+)\}")


class FakeServer:
    """A tmux server that only lists its panes."""

    tells_apart = True

    def __init__(self, socket: str) -> None:
        self.site = ServerSite("tmux", Path(socket), Path("/nowhere"), lines=0)
        self.panes: list[dict[str, object]] = []
        self.buffers: list[str] = []
        self.fails = ""
        self.asked: list[bytes] = []

    def open(
        self, pane: str, pid: int, *, window: str = "work", session: str = "main"
    ) -> dict[str, object]:
        opened: dict[str, object] = {
            "session_name": session,
            "window_index": len(self.panes),
            "window_name": window,
            "pane_index": 0,
            "pane_id": pane,
            "pane_pid": pid,
            "pane_current_path": "/code",
            "pane_current_command": "sh",
        }
        self.panes.append(opened)
        return opened

    async def ask(self, *commands: bytes) -> list[tuple[bytes, ...]]:
        self.asked.extend(commands)
        if self.fails:
            raise RuntimeFailed(self.fails)
        return [self._answer(each.decode()) for each in commands]

    def _answer(self, command: str) -> tuple[bytes, ...]:
        if command.startswith("list-buffers"):
            return tuple(name.encode() for name in self.buffers)
        if command.startswith("delete-buffer"):
            self.buffers.remove(command.split("'")[3])
        found = _FORMAT.search(command)
        if not command.startswith("list-panes") or found is None:
            return ()
        rows = [_expand(found[1], pane) for pane in self.panes]
        return tuple("\n".join(rows).encode().split(b"\n")) if rows else ()


def _expand(shown: str, pane: Mapping[str, object]) -> str:
    return _FIELD.sub(lambda field: str(pane[field[1]]), shown)


@dataclass
class FakeHolder:
    """Holds what is found, and does nothing with it."""

    servers: dict[str, FakeServer] = field(default_factory=dict)
    attached: dict[SessionId, tuple[str, str, str, str]] = field(default_factory=dict)

    def server(self, socket: str) -> FakeServer:
        return self.servers.setdefault(socket, FakeServer(socket))

    def held(self) -> frozenset[SessionId]:
        return frozenset(self.attached)

    def attach(
        self, session: SessionId, agent: Agent, *, server: str, pane: str, process: str
    ) -> None:
        self.attached[session] = (agent.name, server, pane, process)

    def detach(self, session: SessionId) -> None:
        del self.attached[session]
