"""The user's own tmux servers: queried by short-lived clients, and left unchanged."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import secrets
import socket
import stat
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import anyio

from rookery.runtimes.tmux.control import (
    EXIT_TIMEOUT_SECONDS,
    TmuxFailed,
    TmuxGone,
    TmuxRefused,
    TmuxSilent,
)
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import COMMAND_TIMEOUT_SECONDS, HUB, AnyServer, ServerSite

_log = logging.getLogger(__name__)

#: Permissions of others on a folder: tmux itself refuses a folder with any of them.
_OTHERS_MODE = 0o007

#: The buffers through which messages are pasted.
_BUFFER = re.compile(r"words-[0-9a-f]{16}")

_FIELDS = (
    *("session_name", "window_index", "window_name", "pane_index", "pane_id", "pane_pid"),
    *("pane_current_path", "pane_current_command"),
)


class ForeignServer:
    """A server that Rookery did not start. No client stays connected between two calls."""

    tells_apart = True

    def __init__(self, site: ServerSite) -> None:
        self.site = site

    async def ask(self, *commands: bytes) -> list[tuple[bytes, ...]]:
        """Run commands in one batch and return what each printed. Raises ``RuntimeFailed``.

        Commands after a refused one are not run.
        """
        mark = secrets.token_hex(16)  # new each time, so that no pane can show it
        return _split_answers(await self._run(_script(commands, mark)), mark, len(commands))

    async def _run(self, script: bytes) -> bytes:
        # -N: do not start a server where the user has none.
        argv = (self.site.tmux, "-N", "-u", "-S", str(self.site.socket), "source-file", "-")
        try:
            # Shielded: if it is cancelled half-way, asyncio leaves the child behind.
            with _readable(script) as descriptor, anyio.CancelScope(shield=True):
                child = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=descriptor,
                    stdout=PIPE,
                    stderr=PIPE,
                    env=_environment(),
                    start_new_session=True,
                )
        except OSError as error:
            raise TmuxGone(f"{self.site.tmux} cannot be run, {error.strerror}") from error
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT_SECONDS):
                said, complaint = await child.communicate()
        except TimeoutError:
            raise TmuxSilent(COMMAND_TIMEOUT_SECONDS) from None
        finally:
            await _kill_child(child)
        if child.returncode:
            raise TmuxRefused(complaint.decode(errors="replace").strip())
        return said


@contextmanager
def _readable(script: bytes) -> Iterator[int]:
    """Yield a pipe that already holds the script: writing cannot fail if the child exits."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb"):
        with os.fdopen(writing, "wb", buffering=0) as file:
            os.set_blocking(writing, False)
            if file.write(script) != len(script):
                raise TmuxFailed("that is too much at once")
        yield reading


def _environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
    return {**ours, "LC_ALL": "C.UTF-8"}


async def _kill_child(child: Process) -> None:
    if child.returncode is not None:
        return
    with suppress(ProcessLookupError):
        child.kill()
    # Shielded, so that cancellation leaves no child process behind.
    with anyio.move_on_after(EXIT_TIMEOUT_SECONDS, shield=True):
        await child.wait()


def _script(commands: Sequence[bytes], mark: str) -> bytes:
    """Join the commands in one line, which stops at a refused one; a mark follows each."""
    full_stop = line("display-message", "-p", mark)
    parts = (each for command in commands for each in (command, full_stop))
    return b" ; ".join(part.rstrip(b"\n") for part in parts) + b"\n"


def _split_answers(said: bytes, mark: str, count: int) -> list[tuple[bytes, ...]]:
    answers: list[tuple[bytes, ...]] = []
    lines: list[bytes] = []
    for each in said.split(b"\n"):
        if each == mark.encode():
            answers.append(tuple(lines))
            lines.clear()
        else:
            lines.append(each)
    if len(answers) != count:
        raise TmuxFailed(f"{len(answers)} answers to {count} questions")
    return answers


@dataclass(frozen=True, slots=True)
class ListedPane:
    """A pane, as tmux lists it."""

    server: str  #: its socket
    session: str
    window: int
    window_name: str
    index: int
    pane: str
    pid: int
    cwd: str
    command: str


async def list_panes(server: AnyServer) -> list[ListedPane]:
    """List the panes of a server, each once; any session or window name is safe."""
    comma, full_stop = secrets.token_hex(8), secrets.token_hex(8)
    shown = comma.join(f"#{{{field}}}" for field in _FIELDS) + full_stop
    (lines,) = await server.ask(line("list-panes", "-a", "-F", shown))
    rows = b"\n".join(lines).decode(errors="replace").split(full_stop)
    panes: dict[str, ListedPane] = {}
    for row in rows[:-1]:
        listed = _listed(str(server.site.socket), row.removeprefix("\n").split(comma))
        # A window may be linked into several sessions; Rookery's own are all linked into the
        # hub.
        if listed.session == HUB:
            panes.setdefault(listed.pane, listed)
        elif listed.pane not in panes or panes[listed.pane].session == HUB:
            panes[listed.pane] = listed
    return list(panes.values())


def _listed(server: str, fields: Sequence[str]) -> ListedPane:
    session, window, name, index, pane, pid, cwd, command = fields
    return ListedPane(
        server, session, int(window), name, int(index), pane, int(pid), cwd, command
    )


async def tidy(server: AnyServer) -> None:
    """Delete the buffers that a daemon left when it died during a paste."""
    (names,) = await server.ask(line("list-buffers", "-F", "#{buffer_name}"))
    left = [name for name in (each.decode() for each in names) if _BUFFER.fullmatch(name)]
    if left:
        await server.ask(*(line("delete-buffer", "-b", name) for name in left))


def find_sockets(folder: Path, *, listed: Sequence[str], own: Path) -> list[Path]:
    """Return the sockets of the user's running servers, except Rookery's own.

    These are the ``listed`` ones, or else all in ``folder``. Sockets that another user could
    have planted are skipped: a tmux server can make its client run anything.
    """
    named = expanded(listed) if listed else list(_in_private(folder))
    real = {Path(os.path.realpath(each)) for each in named}
    return sorted(each for each in real if _is_usable_socket(each) and not _is_same(each, own))


def expanded(listed: Iterable[str]) -> list[Path]:
    """Return configured paths with ``~`` expanded; paths of an unknown user are left out."""
    return [path for each in listed if (path := _expand(each)) is not None]


@cache  # so that a wrong setting is logged once
def _expand(listed: str) -> Path | None:
    try:
        return Path(listed).expanduser()
    except RuntimeError as error:
        _log.warning("The configured path %s is ignored: %s", listed, error)
        return None


def _in_private(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        found = folder.lstat()
        is_private = found.st_uid == os.getuid() and not found.st_mode & _OTHERS_MODE
        if stat.S_ISDIR(found.st_mode) and is_private:
            yield from folder.iterdir()


def _is_usable_socket(path: Path) -> bool:
    try:
        found = path.stat()
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
            return False
        # Most sockets are left over from servers that have ended.
        with socket.socket(socket.AF_UNIX) as connection:
            connection.setblocking(False)
            connection.connect(str(path))
    except BlockingIOError:  # too busy to accept, but it is running
        return True
    except OSError:
        return False
    return True


def _is_same(path: Path, own: Path) -> bool:
    try:
        return path.samefile(own)
    except OSError:
        return False
