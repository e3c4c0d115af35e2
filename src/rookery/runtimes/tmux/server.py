"""Rookery's own tmux server, and the two control connections to it.

One, without output, carries commands; the other receives what the panes print, through a hub
session into which every agent's window is linked. With only one of them, a daemon that hangs
would freeze the agents.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import select
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rookery import supervise
from rookery.model.errors import RuntimeFailed, RuntimeUnreachable, TmuxUnusable
from rookery.ports.clock import Clock
from rookery.processes import Process, find_newest, send_signal
from rookery.runtimes.tmux import sockets
from rookery.runtimes.tmux.control import ControlClient, TmuxGone
from rookery.runtimes.tmux.protocol import Event, line
from rookery.runtimes.tmux.server_options import CONFIGURATION, SIZE

_log = logging.getLogger(__name__)

HUB = "rookery"

#: Keeps the hub's own window alive, and prints nothing. Its mark tells it from a person's cat.
HUB_MARK = "rookery-hub"
HUB_PROGRAM = ("env", f"{HUB_MARK}=1", "cat")

#: Seconds for each batch of commands.
COMMAND_TIMEOUT_SECONDS = 5.0

#: Seconds before reconnecting: the first delay and the maximum.
RECONNECT_SECONDS = (0.05, 2.0)

#: Seconds between two checks of the socket's file.
SOCKET_CHECK_SECONDS = 2.0

#: What tmux prints if its server closes the connection, as one does that is about to exit.
SERVER_EXITS = "server exited unexpectedly"

#: Seconds for such a server to exit by itself.
SERVER_EXIT_SECONDS = 1.0

OLDEST_VERSION = (3, 2)


@dataclass(frozen=True, slots=True)
class ServerSite:
    """The location of a tmux server and its files."""

    tmux: str  #: the program
    socket: Path
    folder: Path  #: for files with messages and screens; private
    lines: int  #: of scrollback


class AnyServer(Protocol):
    """A tmux server that can be asked: Rookery's own or the user's."""

    @property
    def site(self) -> ServerSite: ...

    @property
    def tells_apart(self) -> bool:
        """Return whether a pane's text can never be mistaken for tmux's own replies."""
        ...

    async def ask(self, *commands: bytes) -> list[tuple[bytes, ...]]:
        """Run commands in one batch and return what each printed. Raises ``RuntimeFailed``."""
        ...


class Server:
    """Keeps the server running and connected while ``keep`` runs."""

    tells_apart = False

    def __init__(
        self,
        site: ServerSite,
        clock: Clock,
        *,
        hear: Callable[[Event], None],
        on_connect: Callable[[], Awaitable[None]],
    ) -> None:
        """``on_connect`` is called each time both connections are up."""
        self.site = site
        self._clock = clock
        self._hear = hear
        self._on_connect = on_connect
        self._commands: ControlClient | None = None
        self._outputs: ControlClient | None = None
        self._connected = asyncio.Event()
        self.pid = 0
        self._is_ended = False
        self.hub = ""  #: the id of the hub's tmux session: a person may rename it
        self.process: Process | None = None  #: the server to which the connections lead

    async def ask(self, *commands: bytes) -> list[tuple[bytes, ...]]:
        """Run commands in one batch and return what each printed. Raises ``RuntimeFailed``."""
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT_SECONDS):
                await self._connected.wait()
        except TimeoutError:
            raise RuntimeUnreachable("there is no connection to tmux.") from None
        if self._commands is None:
            raise TmuxGone("just now")
        return await self._commands.ask(*commands, deadline=COMMAND_TIMEOUT_SECONDS)

    async def mute(self, pane: str) -> None:
        """Pause a pane's output on this connection only; its program is not slowed down."""
        if self._outputs is not None:
            # Not "off": if every client says that, tmux stops reading the pane.
            await self._outputs.ask(line("refresh-client", "-A", f"{pane}:pause"))

    async def resume(self, pane: str) -> None:
        """Resume a pane's output after it was paused."""
        if self._outputs is not None:
            await self._outputs.ask(line("refresh-client", "-A", f"{pane}:continue"))

    async def keep(self) -> None:
        """Stay connected; reconnect if a connection or the server itself is lost."""
        step = supervise.SupervisedStep(
            "The connection to tmux", self._clock, RECONNECT_SECONDS
        )

        async def serve_until_lost() -> None:
            async with self._connection() as (commands, outputs):
                await self._on_connect()
                step.succeed()
                await supervise.first_of(
                    commands.gone.wait(), outputs.gone.wait(), self._keep_socket()
                )
            raise TmuxGone("a line was lost; connecting again.")

        while not self._is_ended:
            await step.attempt(serve_until_lost)

    async def _keep_socket(self) -> None:
        """Have the server recreate its socket whenever that is deleted. Runs for ever."""
        path, before = self.site.socket, sockets.identify(self.site.socket)

        async def look() -> None:
            nonlocal before
            if (before and sockets.identify(path) == before) or self.process is None:
                return
            if await asyncio.to_thread(sockets.recreate, path, self.process):
                before = sockets.identify(path)
                _log.warning("%s was deleted or replaced; tmux listens there again.", path)

        name = f"Having tmux listen at {path} again"
        await supervise.every(SOCKET_CHECK_SECONDS, look, name=name, clock=self._clock)

    async def end(self) -> None:
        """End the server for good, with every pane that it still holds."""
        self._is_ended = True
        with suppress(RuntimeFailed):  # it ends before it answers
            await self.ask(line("kill-server"))

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[tuple[ControlClient, ControlClient]]:
        await asyncio.to_thread(start_server, self.site)
        where = (self.site.tmux, self.site.socket, HUB)
        async with (
            ControlClient(*where, flags="no-output,ignore-size", hear=_ignore) as commands,
            ControlClient(
                *where, flags="ignore-size,pause-after=1", hear=self._hear
            ) as outputs,
        ):
            question = line("display-message", "-p", "#{pid} #{session_id}")
            ((answer,),) = await commands.ask(question)
            pid, self.hub = answer.decode().split(" ")
            self.pid = int(pid)
            self.process = Process.of(self.pid)
            self._commands, self._outputs = commands, outputs
            self._connected.set()
            try:
                yield commands, outputs
            finally:
                self._connected.clear()
                self._commands = self._outputs = None


def start_server(site: ServerSite) -> None:
    """Ensure that a server with a hub runs on the socket; a running one is left as it is."""
    # How Rookery starts a server; its process keeps this command line.
    words = (str(site.socket), "new-session", HUB)
    if _has_hub(site) or (sockets.restore(site.socket, words) and _has_hub(site)):
        end_old_lines(site)
        return
    configuration = site.folder / "tmux.conf"
    try:
        # The folder may be in /tmp, where a cleaner deletes old files.
        site.folder.mkdir(mode=0o700, exist_ok=True)
        configuration.write_text(CONFIGURATION.format(size=SIZE, lines=site.lines))
    except OSError as error:  # a full or read-only disk
        raise RuntimeFailed(f"tmux cannot be configured: {error}") from error
    width, height = SIZE.split("x")
    hub = ("new-session", "-d", "-s", HUB, "-x", width, "-y", height, *HUB_PROGRAM)
    created = _run(site, "-f", str(configuration), *hub)
    if created.returncode and not _has_hub(site):
        if SERVER_EXITS in created.stderr:
            _end_exiting_server(site, words)
        raise RuntimeFailed(f"tmux could not be started: {created.stderr.strip()}")


def _end_exiting_server(site: ServerSite, words: Collection[str]) -> None:
    """Kill a server that has closed its panes, but waits for ever for a client to leave.

    Such a client is suspended, or cannot write to its terminal. Until the server exits, no
    other can be started on the socket.
    """
    select.select([], [], [], SERVER_EXIT_SECONDS)
    if SERVER_EXITS not in _run(site, "has-session").stderr:
        return
    if (pid := find_newest(words)) and (server := Process.of(pid)):
        _log.warning("tmux (pid %d) does not exit; it is killed.", pid)
        send_signal(server, (), signal.SIGKILL)


def _has_hub(site: ServerSite) -> bool:
    return _run(site, "has-session", "-t", f"={HUB}").returncode == 0


def end_old_lines(site: ServerSite) -> None:
    """Kill the control clients of a daemon that was killed: some wait for ever to be read."""
    shown = "#{client_control_mode} #{client_pid}"
    clients = _run(site, "list-clients", "-t", f"={HUB}", "-F", shown).stdout
    for client in clients.splitlines():
        control, pid = client.split(" ")
        if control == "1":
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def version_of(tmux: str) -> tuple[int, int]:
    """Return tmux's version. Raises ``TmuxUnusable`` if it is missing or too old."""
    try:
        output = subprocess.run(
            [tmux, "-V"],
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_SECONDS,
            check=False,
        ).stdout
    except FileNotFoundError as error:
        raise TmuxUnusable(
            "tmux was not found. Install it:  apt install tmux  (or: brew install tmux)"
        ) from error
    except OSError as error:
        raise TmuxUnusable(f"tmux cannot be run: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise TmuxUnusable(
            f"tmux did not answer within {COMMAND_TIMEOUT_SECONDS:g} s; try again."
        ) from error
    numbers = re.search(r"(\d+)\.(\d+)", output)
    version = (int(numbers[1]), int(numbers[2])) if numbers else (9, 9)  # "tmux master"
    if version < OLDEST_VERSION:
        raise TmuxUnusable(f"this is {output.strip()}.")
    return version


def _run(site: ServerSite, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    environment.pop("TMUX", None)
    try:
        return subprocess.run(
            [site.tmux, "-u", "-S", str(site.socket), *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_SECONDS,
            check=False,
            # A signal that stops the daemon must never stop the agents.
            start_new_session=True,
            umask=0o077,
        )
    except OSError as error:
        raise RuntimeFailed(f"tmux cannot be run: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise RuntimeFailed(
            f"tmux did not answer within {COMMAND_TIMEOUT_SECONDS:g} s."
        ) from error


def _ignore(_: Event) -> None:
    """Ignore events of the command connection: the other one receives them, too."""
