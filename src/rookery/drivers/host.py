"""The server in the driver host: carries out the daemon's commands on its sessions."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from signal import SIGKILL
from typing import Literal, assert_never

import msgspec

from rookery.drivers import commands
from rookery.drivers.commands import Command, HostCall, HostReply, read_call, write
from rookery.drivers.driven_session import DrivenSession
from rookery.drivers.driver import DriverError, MakeDriver, PromptRefused
from rookery.drivers.event_file import EventWriter, path_of
from rookery.drivers.host_files import HostFiles
from rookery.drivers.task_set import TaskSet
from rookery.model.errors import HomeUnusable
from rookery.processes import Process, ancestors
from rookery.processes.peers import Peer, peer_of
from rookery.supervise import outcome_of

_log = logging.getLogger(__name__)

#: Seconds between two checks; the host exits if two in a row find no session and no daemon.
IDLE_SECONDS = 60.0

#: Seconds between two checks of the files by which the daemon finds the host.
FILES_CHECK_SECONDS = 2.0

#: Seconds between two notices that event files have grown. The daemon reads and records what
#: all sessions wrote in between together, which costs much less than a few events at a time.
GROWTH_PAUSE_SECONDS = 0.005

#: Maximum line: room for a message of 1 MB with every character escaped.
MAX_LINE_BYTES = 16 * 2**20


class Host:
    """All driven sessions of one home. Sessions go on while no daemon is connected."""

    def __init__(
        self, folder: Path, key: str, find_driver: Callable[[str], MakeDriver]
    ) -> None:
        """``folder`` holds the event files; ``find_driver`` returns the driver of a name."""
        self._folder = folder
        self._key = key
        self._find_driver = find_driver
        self._sessions: dict[str, DrivenSession] = {}
        self._tasks = TaskSet()
        self._connections: set[asyncio.StreamWriter] = set()
        self._retired = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._grown: dict[str, None] = {}  #: the sessions with new events, in order
        self._told_at = 0.0  #: when the daemon was last told of them, by the loop's clock

    async def serve(self, files: HostFiles) -> None:
        """Serve until the host is retired or has been idle for ``IDLE_SECONDS``."""
        # First: a host that listens is always recorded, and its secret is known.
        files.write(self._key)
        await self._listen(files)
        keeping = asyncio.ensure_future(self._keep(files))
        try:
            await self._until_idle()
        finally:
            keeping.cancel()
            files.remove_record()
            if self._server:
                self._server.close()
            for each in self._connections:
                each.close()

    async def _listen(self, files: HostFiles) -> None:
        """Listen at the socket; connections that are open stay open."""
        if self._server:
            self._server.close()
        files.prepare_socket()
        self._server = await asyncio.start_unix_server(
            self._talk, files.socket, limit=MAX_LINE_BYTES
        )
        files.note_socket()

    async def _keep(self, files: HostFiles) -> None:
        """Restore deleted files that the daemon needs, until the host is retired."""
        error = ""
        while not await self._is_retired_within(FILES_CHECK_SECONDS):
            outcome = await outcome_of(self._restore(files))
            if isinstance(outcome, Exception) and str(outcome) != error:
                _log.warning("The files of the host cannot be restored: %s", outcome)
            error = str(outcome) if isinstance(outcome, Exception) else ""

    async def _restore(self, files: HostFiles) -> None:
        if not files.is_taken_over:
            files.write(self._key)
            if not files.is_socket_in_place:
                await self._listen(files)
                _log.warning("%s was deleted or replaced; it is restored.", files.socket)
        for session in self._sessions.values():
            session.restore_events()

    async def _until_idle(self) -> None:
        was_needed = self._is_needed
        while not await self._is_retired_within(IDLE_SECONDS):
            if not (was_needed or self._is_needed):
                return
            was_needed = self._is_needed

    async def _is_retired_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._retired.wait()
        return self._retired.is_set()

    @property
    def _is_needed(self) -> bool:
        held = self._sessions.values()
        is_live = any(not (each.is_over and each.is_stored) for each in held)
        return is_live or bool(self._connections)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection: execute its commands concurrently."""
        if not _may_command(peer_of(writer.get_extra_info("socket"))):
            _log.warning("A connection was refused: its process is not the daemon's.")
            writer.close()
            return
        self._connections.add(writer)
        try:
            while line := await reader.readline():
                self._tasks.begin(self._answer(line, writer))
        except (OSError, ValueError) as error:  # it broke, or sent a line that is too long
            _log.warning("A connection was lost: %s", error)
        except asyncio.CancelledError:
            pass  # the host ends; asyncio would log it as an error
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _answer(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        try:
            call = read_call(line)
        except msgspec.MsgspecError as error:
            _log.warning("A command cannot be read: %s", error)
            writer.close()
            return
        if not hmac.compare_digest(call.key.encode(), self._key.encode()):
            refused = "the key of this command is not the one of the driver host."
            writer.write(write(HostReply(call.id, error=refused)))
            writer.close()
            return
        reply = await self._carry_out_safely(call)
        if not writer.is_closing():
            writer.write(write(reply))

    async def _carry_out_safely(self, call: HostCall) -> HostReply:
        """Carry out a command; one that fails must not end the host."""
        match await outcome_of(self._carry_out(call.command)):
            case PromptRefused() as refused:
                refusal: Literal["now", "final"] = "final" if refused.is_final else "now"
                return HostReply(call.id, error=str(refused), refusal=refusal)
            case DriverError() | OSError() as error:
                return HostReply(call.id, error=str(error) or type(error).__name__)
            case Exception() as error:
                _log.error("A command failed.", exc_info=error)
                return HostReply(call.id, error=f"{type(error).__name__}: {error}")
            case sessions:
                return HostReply(call.id, sessions=sessions)

    async def _carry_out(self, command: Command) -> tuple[str, ...]:
        match command:
            case commands.List():
                return tuple(self._sessions)
            case commands.Retire():
                if not self._sessions:
                    self._retired.set()
            case commands.Start():
                self._start(command)
            case commands.Release(session):
                await self._release(session)
            case _:
                await _pass_on(command, self._of(command.session))
        return ()

    def _of(self, session: str) -> DrivenSession:
        if (found := self._sessions.get(session)) is None:
            raise DriverError("the driver host does not have this session.")
        return found

    def _start(self, start: commands.Start) -> None:
        if start.session in self._sessions:
            return
        try:
            events = EventWriter(path_of(self._folder, start.session))
        except (OSError, HomeUnusable) as error:
            raise DriverError(f"its event file cannot be created: {error}") from error
        session = DrivenSession(start, events, partial(self._announce, start.session))
        self._sessions[start.session] = session
        self._tasks.begin(session.run(partial(self._find_driver, start.driver)))

    async def _release(self, session: str) -> None:
        if found := self._sessions.pop(session, None):
            await found.end_processes(SIGKILL)
            found.release()

    def _announce(self, session: str) -> None:
        """Tell the daemon that a session's event file has grown, once for many events."""
        if not self._grown:
            loop = asyncio.get_running_loop()
            loop.call_at(self._told_at + GROWTH_PAUSE_SECONDS, self._tell_growth)
        self._grown[session] = None

    def _tell_growth(self) -> None:
        self._told_at = asyncio.get_running_loop().time()
        line = write(HostReply(sessions=tuple(self._grown)))
        self._grown.clear()
        for each in self._connections:
            if not each.is_closing():
                each.write(line)


def _may_command(peer: Peer) -> bool:
    """Return whether a process may send commands: one that an agent started must not.

    An agent's commands run as the same user, could read the secret, and answer for a person.
    """
    caller = Process.of(peer.pid)
    if caller is None or not peer.is_ours:
        return False
    return os.getpid() not in {each.pid for each in ancestors(peer.pid)} - {peer.pid}


async def _pass_on(
    command: commands.AgentPrompt
    | commands.AgentAnswer
    | commands.Interrupt
    | commands.Close
    | commands.Kill,
    session: DrivenSession,
) -> None:
    match command:
        case commands.AgentPrompt():
            await session.prompt(command)
        case commands.AgentAnswer():
            session.answer(command)
        case commands.Interrupt():
            await session.interrupt()
        case commands.Close():
            await session.close()
        case commands.Kill(_, signal):
            await session.end_processes(signal)
        case _:
            assert_never(command)
