from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rookery.processes import Process, SeenProcess


@dataclass
class Running:
    argv: tuple[str, ...]
    parent: int
    folder: str
    is_in_front: bool = True


@dataclass
class FakeTable:
    """What runs on a computer of our invention."""

    running: dict[int, Running] = field(default_factory=dict)
    began_at: datetime = field(default_factory=lambda: datetime(2026, 10, 31, tzinfo=UTC))

    def run(
        self,
        pid: int,
        *argv: str,
        below: int = 1,
        folder: str = "/code/project",
        is_in_front: bool = True,
    ) -> Process:
        self.running[pid] = Running(argv, below, folder, is_in_front)
        return Process(pid, "7")

    def end(self, pid: int) -> None:
        del self.running[pid]

    def look(self, pid: int) -> SeenProcess | None:
        if (found := self.running.get(pid)) is None:
            return None
        return SeenProcess(Process(pid, "7"), found.argv, found.is_in_front)

    def children(self, pid: int) -> Sequence[int]:
        return [child for child, each in self.running.items() if each.parent == pid]

    def folder(self, pid: int) -> str:
        return self.running[pid].folder if pid in self.running else ""

    def began(self, pid: int) -> datetime | None:
        return self.began_at if pid in self.running else None
