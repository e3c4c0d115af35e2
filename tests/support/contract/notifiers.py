"""Each channel of notifications, with what it reaches replaced by a recorder."""

from __future__ import annotations

import json
import os
import pty
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rookery.model.facts import SessionId
from rookery.model.notifications import (
    Notification,
    NotificationId,
    NotificationItem,
    NotificationKind,
)
from rookery.notifications.channels.bell import BellNotifier
from rookery.notifications.channels.command import CommandNotifier
from rookery.notifications.channels.desktop import DesktopNotifier
from rookery.ports.notifier import Notifier
from tests.support.fakes.notifier import FakeNotifier

#: Seconds for a program that runs at once, on a busy machine.
PATIENT = 40.0

#: Records its arguments and what it reads, as one line of JSON.
RECORDER = f"""\
#!{sys.executable}
import json, sys
line = json.dumps([*sys.argv[1:], sys.stdin.read()])
with open("FILE", "a") as file:
    file.write(line + "\\n")
"""


@dataclass(frozen=True)
class NotifierCase:
    notifier: Notifier
    received: Callable[[], list[str]]  #: each text that has arrived
    unavailable: Notifier  #: the same channel where it cannot send


def item(name: str = "api", text: str = "rm -rf build", **more: object) -> NotificationItem:
    known: dict[str, object] = {
        "id": NotificationId(1),
        "session": SessionId(name),
        "name": name,
        "agent": "demo",
        "folder": "/code/api",
        "kind": NotificationKind.NEEDS_YOU,
        "subject": "r1",
        "channel": "any",
        "text": text,
        "at": datetime(2026, 11, 1, tzinfo=UTC),
        **more,
    }
    return NotificationItem(**known)  # type: ignore[arg-type]


def notification(*items: NotificationItem) -> Notification:
    found = items or (item(),)
    return Notification(found[0].kind, found)


def recorder(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a program that records; return it and the file in which it does."""
    program, file = folder / name, folder / f"{name}.received"
    program.write_text(RECORDER.replace("FILE", str(file)))
    program.chmod(0o755)
    return program, file


def recorded(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


@contextmanager
def command_case(folder: Path) -> Iterator[NotifierCase]:
    program, file = recorder(folder, "tell")
    yield NotifierCase(
        CommandNotifier((str(program),), {}, "here", PATIENT),
        lambda: [json.loads(each)[-1] for each in recorded(file)],
        CommandNotifier((str(folder / "missing"),), {}, "here", PATIENT),
    )


@contextmanager
def desktop_case(folder: Path) -> Iterator[NotifierCase]:
    program, file = recorder(folder, "notify-send")
    yield NotifierCase(
        DesktopNotifier({"PATH": str(program.parent)}, {}, details=True),
        lambda: [" ".join(json.loads(each)) for each in recorded(file)],
        DesktopNotifier({"PATH": str(folder / "empty")}, {}, details=True),
    )


@contextmanager
def bell_case(folder: Path) -> Iterator[NotifierCase]:
    master, slave = pty.openpty()
    path = Path(os.ttyname(slave))

    async def terminals() -> list[Path]:
        return [path]

    async def planted() -> list[Path]:
        return [folder / "not-a-terminal", Path("/dev/null")]

    def received() -> list[str]:
        readable, _, _ = select.select([master], [], [], 0)
        return [os.read(master, 100_000).decode()] if readable else []

    (folder / "not-a-terminal").touch()
    yield NotifierCase(
        BellNotifier(terminals, text=True), received, BellNotifier(planted, text=True)
    )
    os.close(master)
    os.close(slave)


@contextmanager
def fake_case(folder: Path) -> Iterator[NotifierCase]:
    channel, broken = FakeNotifier(), FakeNotifier()
    broken.broken = "no display"
    broken.fails = 99
    yield NotifierCase(
        channel, lambda: [f"{each.title}: {each.body()}" for each in channel.given], broken
    )


CASES = {
    "command": command_case,
    "desktop": desktop_case,
    "bell": bell_case,
    "fake": fake_case,
}
