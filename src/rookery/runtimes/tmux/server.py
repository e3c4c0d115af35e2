"""Our own tmux server, and the two lines that we keep to it.

One line, deaf to output, carries commands; the other hears what the panes print, through a
hub session into which every agent's window is linked. With only one of them, a daemon that
stands still would freeze the agents.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rookery import supervise
from rookery.model.errors import RuntimeFailed, RuntimeUnreachable, TmuxUnusable
from rookery.ports.clock import Clock
from rookery.processes import Process
from rookery.runtimes.tmux import sockets
from rookery.runtimes.tmux.control import ControlClient, TmuxGone
from rookery.runtimes.tmux.protocol import Event, line

HUB = "rookery"

#: Rows and columns of a pane to which nobody is attached.
SIZE = "200x50"

#: Seconds for every question to tmux.
DEADLINE = 5.0

#: Seconds before a lost line is laid anew: first, and at most.
BACK_OFF = (0.05, 2.0)

OLDEST = (3, 2)

CONFIGURATION = """\
set -s exit-empty off
set -s set-clipboard off
set -s escape-time 10
set -s focus-events on
set -g default-terminal tmux-256color
set -g default-size {size}
set -g history-limit {lines}
set -g remain-on-exit on
set -g allow-rename off
set -g update-environment ''
set -g status-left '#S '
set -g status-interval 1
set -g status-right 'leave it running: C-b d#(:)'
set -gq allow-passthrough off
set -gq remain-on-exit-format ''
set-hook -g pane-died 'send-keys -R'
"""

# The last line: of a program that asked to be told of the focus, and has ended, tmux 3.3 would
# try to tell it when whoever is attached leaves; and die of it, with all that it holds. It may
# not have noticed the end, if a SIGCHLD was lost and no daemon is there to remind it: hence
# what the status line runs once a second, while somebody looks. Its end brings another one.


@dataclass(frozen=True, slots=True)
class Site:
    """Where this server and its files are."""

    tmux: str  #: the program
    socket: Path
    folder: Path  #: for files that carry words and screens; private
    lines: int  #: of scrollback


class AnyServer(Protocol):
    """A tmux server that can be asked, ours or somebody else's."""

    @property
    def site(self) -> Site: ...

    @property
    def tells_apart(self) -> bool:
        """Whether what a pane shows can never be taken for tmux speaking."""
        ...

    async def ask(self, *commands: bytes) -> list[tuple[bytes, ...]]:
        """Put questions in one go; what each printed comes back. Raises ``RuntimeFailed``."""
        ...


class Server:
    """Kept up, and kept connected to, for as long as ``keep`` runs."""

    tells_apart = False

    def __init__(
        self,
        site: Site,
        clock: Clock,
        *,
        hear: Callable[[Event], None],
        welcome: Callable[[], Awaitable[None]],
    ) -> None:
        """``welcome`` is called whenever both lines stand, the first time and every other."""
        self.site = site
        self._clock = clock
        self._hear = hear
        self._welcome = welcome
        self._commands: ControlClient | None = None
        self._outputs: ControlClient | None = None
        self._connected = asyncio.Event()
        self.pid = 0
        self._is_ended = False
        self.hub = ""  #: the id of the hub's tmux session: a person may rename it
        self.process: Process | None = None  #: the server that the lines lead to

    async def ask(self, *commands: bytes) -> list[tuple[bytes, ...]]:
        """Put questions in one go; what each printed comes back. Raises ``RuntimeFailed``."""
        try:
            async with asyncio.timeout(DEADLINE):
                await self._connected.wait()
        except TimeoutError:
            raise RuntimeUnreachable("there is no line to tmux.") from None
        if self._commands is None:
            raise TmuxGone("just now")
        return await self._commands.ask(*commands, deadline=DEADLINE)

    async def mute(self, pane: str) -> None:
        """Hold a pane's output back, on our line only; its program is not held up."""
        if self._outputs is not None:
            # Not "off": if that is said on every line, tmux stops reading the pane.
            await self._outputs.ask(line("refresh-client", "-A", f"{pane}:pause"))

    async def resume(self, pane: str) -> None:
        """Let a pane's output flow again, after tmux held it back."""
        if self._outputs is not None:
            await self._outputs.ask(line("refresh-client", "-A", f"{pane}:continue"))

    async def keep(self) -> None:
        """Be connected; if a line is lost, or the server itself, begin anew."""
        step = supervise.SupervisedStep("The connection to tmux", self._clock, BACK_OFF)

        async def serve_until_lost() -> None:
            async with self._connection() as (commands, outputs):
                await self._welcome()
                step.succeed()
                await supervise.first_of(commands.gone.wait(), outputs.gone.wait())
            raise TmuxGone("a line was lost; connecting again.")

        while not self._is_ended:
            await step.attempt(serve_until_lost)

    async def end(self) -> None:
        """End the server for good; with it ends whatever it still holds."""
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
            asked = line("display-message", "-p", "#{pid} #{session_id}")
            ((answer,),) = await commands.ask(asked)
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


def start_server(site: Site) -> None:
    """Have a server with a hub on our socket; one that is there is left as it is."""
    # How a server of ours was started; its process keeps the command line that it began with.
    words = (str(site.socket), "new-session", HUB)
    if _has_hub(site) or (sockets.restore(site.socket, words) and _has_hub(site)):
        end_old_lines(site)
        return
    configuration = site.folder / "tmux.conf"
    try:
        # The folder may lie in /tmp, where a cleaner deletes what is old.
        site.folder.mkdir(mode=0o700, exist_ok=True)
        configuration.write_text(CONFIGURATION.format(size=SIZE, lines=site.lines))
    except OSError as error:  # a full or read-only disk
        raise RuntimeFailed(f"tmux cannot be configured: {error}") from error
    width, height = SIZE.split("x")
    # The hub's own window keeps it, and prints nothing.
    hub = ("new-session", "-d", "-s", HUB, "-x", width, "-y", height, "cat")
    made = _run(site, "-f", str(configuration), *hub)
    if made.returncode and not _has_hub(site):
        raise RuntimeFailed(f"tmux does not start: {made.stderr.strip()}")


def _has_hub(site: Site) -> bool:
    return _run(site, "has-session", "-t", f"={HUB}").returncode == 0


def end_old_lines(site: Site) -> None:
    """End the lines of a daemon that was killed: some of them wait for ever to be read."""
    shown = "#{client_control_mode} #{client_pid}"
    clients = _run(site, "list-clients", "-t", f"={HUB}", "-F", shown).stdout
    for client in clients.splitlines():
        control, pid = client.split(" ")
        if control == "1":
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def version_of(tmux: str) -> tuple[int, int]:
    """Return tmux's version. Raises ``RuntimeFailed`` for one that is missing or too old."""
    try:
        said = subprocess.run(
            [tmux, "-V"], capture_output=True, text=True, timeout=DEADLINE, check=False
        ).stdout
    except FileNotFoundError as error:
        raise TmuxUnusable(
            "tmux was not found. Install it:  apt install tmux  (or: brew install tmux)"
        ) from error
    except OSError as error:
        raise TmuxUnusable(f"tmux cannot be run: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise TmuxUnusable(f"tmux did not answer within {DEADLINE:g} s; try again.") from error
    found = re.search(r"(\d+)\.(\d+)", said)
    version = (int(found[1]), int(found[2])) if found else (9, 9)  # "tmux master"
    if version < OLDEST:
        raise TmuxUnusable(f"this is {said.strip()}.")
    return version


def _run(site: Site, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    environment.pop("TMUX", None)
    try:
        return subprocess.run(
            [site.tmux, "-u", "-S", str(site.socket), *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
            # What stops the daemon must never stop the agents.
            start_new_session=True,
            umask=0o077,
        )
    except OSError as error:
        raise RuntimeFailed(f"tmux cannot be run: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise RuntimeFailed(f"tmux did not answer within {DEADLINE:g} s.") from error


def _ignore(_: Event) -> None:
    """Events of the line for commands are heard on the other."""
