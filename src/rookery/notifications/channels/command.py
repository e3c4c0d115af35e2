"""The channel ``command``: runs a program of the user, with the notification as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO

import anyio

from rookery.model.errors import NotificationDoubted, NotificationFailed
from rookery.model.notifications import Notification, NotificationItem, safe_text

#: Maximum bytes of a program's standard error that an error message quotes.
MAX_COMPLAINT_BYTES = 4_000


@dataclass(frozen=True, slots=True)
class CommandNotifier:
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    computer: str
    timeout_s: float
    name: str = "command"

    async def why_not(self) -> str:
        return why_not_found(self.argv[0], self.environment)

    async def send(self, notification: Notification) -> None:
        given = as_json(notification, self.computer)
        await run_program(self.argv, self.environment, given, timeout_s=self.timeout_s)


def find_program(program: str, environment: Mapping[str, str]) -> str | None:
    """Return the path of a program; None if it is not found."""
    return shutil.which(program, path=environment.get("PATH", os.defpath))


def why_not_found(program: str, environment: Mapping[str, str]) -> str:
    """Return a text that the program was not found; empty if it is there."""
    found = find_program(program, environment)
    return "" if found else f"the program {program} was not found"


def as_json(notification: Notification, computer: str) -> bytes:
    """Return a notification as the JSON that a program gets."""
    first = notification.items[0]
    content = {
        "version": 1,
        "kind": notification.kind,
        "title": notification.title,
        "body": notification.body(),
        "computer": computer,
        "reminder": first.is_reminder,
        "sessions": [_session(each) for each in notification.items],
    }
    return json.dumps(content, ensure_ascii=True).encode()


def _session(item: NotificationItem) -> dict[str, object]:
    return {
        "id": item.session,
        "name": safe_text(item.name),
        "agent": item.agent,
        "folder": safe_text(item.folder),
        "text": item.text,
        "request": item.request,
        "at": item.at.isoformat(),
        "notification": item.id,
    }


async def run_program(
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    given: bytes = b"",
    *,
    timeout_s: float,
) -> None:
    """Run a program to its end. Raises ``NotificationFailed`` if it fails.

    Raises ``NotificationDoubted`` if it takes too long; it is killed then.
    """
    program = find_program(argv[0], environment)
    if program is None:
        raise NotificationFailed(f"{why_not_found(argv[0], environment)}.")
    # Files, not pipes: a program may end without reading its input, and what it leaves running
    # in the background may keep its output open.
    with TemporaryFile() as stdin, TemporaryFile() as complaint:
        stdin.write(given)
        stdin.seek(0)
        child = await _start((program, *argv[1:]), environment, stdin, complaint)
        try:
            async with asyncio.timeout(timeout_s):
                await child.wait()
        except TimeoutError:
            raise NotificationDoubted(f"{argv[0]} took longer than {timeout_s:g} s.") from None
        finally:
            await _end(child)
        complaint.seek(0)
        said = safe_text(complaint.read(MAX_COMPLAINT_BYTES).decode(errors="replace"))
    if child.returncode:
        why = f"{argv[0]} exited with {child.returncode}"
        raise NotificationFailed(f"{why}: {said}" if said else f"{why}.")


async def _start(
    argv: tuple[str, ...], environment: Mapping[str, str], stdin: IO[bytes], stderr: IO[bytes]
) -> Process:
    try:
        # Shielded: if it is cancelled half-way, asyncio leaves the child behind.
        with anyio.CancelScope(shield=True):
            child = await asyncio.create_subprocess_exec(
                *argv,
                stdin=stdin,
                stdout=DEVNULL,
                stderr=stderr,
                env=dict(environment),
                cwd="/",
                start_new_session=True,
            )
    except OSError as error:
        raise NotificationFailed(f"{argv[0]} cannot be run: {error.strerror}.") from error
    return child


async def _end(child: Process) -> None:
    """Kill a program that still runs, with everything that it started in its group."""
    if child.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await child.wait()
