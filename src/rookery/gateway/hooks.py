"""The door for hooks: a plain socket, one call each, answered once it is on disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from sqlite3 import DatabaseError, IntegrityError

from rookery.absence import Absence
from rookery.gateway.peers import peer
from rookery.gateway.spool import MAX_LINE_BYTES, Lane, Spool, lane_of
from rookery.hook_protocol import Head, Hook, events_in, read_call, read_head
from rookery.intake import Context, Intake
from rookery.model.errors import HookUnreadable, RookeryError
from rookery.model.permissions import RequestId, Verdict
from rookery.permissions import Ask, Pass, Ruling, Wait
from rookery.ports import Clock
from rookery.programs.hook import DECIDED, TAKEN, WAIT
from rookery.stops import GoOn
from rookery.store import switches

_log = logging.getLogger(__name__)

#: Bytes of one call; a tool's input may hold a whole file. Most have far less.
LARGEST, USUAL = 8 * 1024 * 1024, 256 * 1024

#: What is wrong with a call itself, and would be at every other try.
POISON = (
    *(HookUnreadable, ValueError, LookupError, TypeError, AttributeError),
    *(ArithmeticError, RecursionError, IntegrityError),
)

#: What is wrong with us, with the disk, or with who calls: it may be tried again.
TROUBLE = (RookeryError, OSError, DatabaseError)

#: Seconds for a caller to say what it has to say.
PATIENCE = 5.0

#: Seconds between two looks for calls that could not reach us.
SPOOL_ROUND = 2.0


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A live call that could not be read, and what its agent is told of it."""

    said: str


@dataclass(slots=True)
class HookDoor:
    intake: Intake
    door: Path
    spool: Path
    clock: Clock
    absence: Absence
    #: So many calls are read at a time; of large ones fewer, as each takes up much memory.
    at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(64))
    large_at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    _spool: Spool = field(init=False)

    def __post_init__(self) -> None:
        self._spool = Spool(self.spool, self._take_in_spooled, self._park_partial)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Listen. Calls in the spool are for ``drain`` to take in."""
        with suppress(OSError):
            self.spool.mkdir(mode=0o700, exist_ok=True)
        self.door.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(
            self._answer, self.door, limit=MAX_LINE_BYTES, backlog=512
        )
        self.door.chmod(0o600)
        try:
            yield
        finally:
            server.close()
            self.door.unlink(missing_ok=True)

    async def keep_draining(self) -> None:
        while True:
            await self.clock.sleep(SPOOL_ROUND)
            try:
                await self.drain()
            except Exception:  # noqa: BLE001 - a supervised boundary
                _log.exception("The spool could not be looked through; it is tried again.")

    async def drain(self) -> None:
        """Take in, in their order, the calls that could not reach us."""
        try:
            await self._spool.drain()
        except TROUBLE:
            _log.exception("What was spooled could not be taken in; it stays.")

    async def _clear(self, lane: Lane) -> None:
        """Take in what is spooled of a lane; if it fails, a live call does not wait for it."""
        try:
            await self._spool.clear(lane)
        except TROUBLE:
            _log.exception("What was spooled could not be taken in; it stays.")

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            caller = peer(writer.get_extra_info("socket"))
            if caller.is_ours:
                first, head = await _announced(reader)
                is_large = (head.size or 0) > USUAL
                async with self.large_at_once if is_large else self.at_once:
                    call = first + await _heard(reader, head.size)
                    # What its agent could not tell us came before this.
                    await self._clear(lane_of(head))
                    hook, ruling = await self._take_in(call, pid=caller.pid)
                if hook and isinstance(ruling, Wait):
                    await self._wait(reader, writer, hook, ruling.request)
                else:
                    await self._tell(writer, hook, ruling)
        except TROUBLE as error:
            # Not answered: the caller spools it, or asks again.
            _log.warning("A hook call was not taken: %s", error)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _tell(
        self,
        writer: asyncio.StreamWriter,
        hook: Hook | None,
        ruling: Ruling | GoOn | Context | _Unreadable,
    ) -> None:
        """Say what was decided, if anything was."""
        said = b""
        if isinstance(ruling, _Unreadable):
            said = ruling.said.encode()
        elif hook and isinstance(ruling, Ask):
            said = self._say(hook, None)
        elif hook and isinstance(ruling, GoOn):
            said = self.intake.agent(hook).go_on(hook.payload, ruling.reason).encode()
        elif hook and isinstance(ruling, Context):
            said = self.intake.agent(hook).explain(hook.payload, ruling.words).encode()
        elif hook and isinstance(ruling, Verdict):
            said = self._say(hook, ruling)
        writer.write(TAKEN + said)
        await writer.drain()

    async def _wait(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        hook: Hook,
        request: RequestId,
    ) -> None:
        """Say what was decided once somebody has answered; or that they need not any more."""
        decides = self.intake.agent(hook).read_call(hook.payload) is not None
        writer.write(WAIT + (self._say(hook, None) if decides else b"") + b"\n")
        await writer.drain()
        if reader.at_eof():
            # A hook program of the first version has closed its side: that it has left
            # cannot be seen.
            writer.write(DECIDED + (await self.intake.answer(hook, request)).encode())
            await writer.drain()
            return
        async with asyncio.TaskGroup() as tasks:
            left = tasks.create_task(_left(reader))
            answer = tasks.create_task(self.intake.answer(hook, request))
            await asyncio.wait({left, answer}, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                writer.write(DECIDED + answer.result().encode())
                await writer.drain()
            else:
                # Its agent has ended the hook: it was answered elsewhere, or has gone itself.
                await self.intake.withdraw(request)
            left.cancel()
            answer.cancel()

    def _say(self, hook: Hook, verdict: Verdict | None) -> bytes:
        return self.intake.agent(hook).answer(hook.payload, verdict).encode()

    async def _take_in(
        self, call: bytes, *, pid: int | None = None, hook: Hook | None = None
    ) -> tuple[Hook | None, Ruling | GoOn | Context | _Unreadable]:
        try:
            hook = hook or read_call(call, pid=pid)
            return hook, await self.intake.receive(hook)
        except POISON as error:
            # Nothing can be made of it, now or later: kept where one can see it, not retried.
            await self.intake.park(_key_of(call), error)
            return None, Pass() if pid is None else await self._refuse(call)

    async def _take_in_spooled(self, calls: Sequence[bytes]) -> None:
        hooks = await asyncio.to_thread(lambda: [self._read_spooled(call) for call in calls])
        # Each is given to the writer before the next, so that they are committed in their
        # order; all of them share a transaction or two.
        read = zip(calls, hooks, strict=True)
        await asyncio.gather(*(self._take_in(call, hook=hook) for call, hook in read))

    def _read_spooled(self, call: bytes) -> Hook | None:
        """Read a spooled call with its agent's process. None if it cannot be read at all."""
        try:
            return self.intake.with_process(read_call(call))
        except POISON:
            return None  # read once more where it is parked with its error

    async def _refuse(self, call: bytes) -> _Unreadable:
        """Answer a live call that cannot be read, without letting it pass by a rule."""
        first, _, payload = call.partition(b"\n")
        mode = await self.intake.database.read(switches.mode)
        rulebook = self.absence.rulebook
        await rulebook.refresh(self.intake.database, self.clock)
        agent = read_head(first).agent
        return _Unreadable(self.absence.say_to_unreadable(agent, events_in(payload), mode))

    async def _park_partial(self, key: str) -> None:
        await self.intake.park(key, HookUnreadable("its file in the spool is not whole"))


def _key_of(call: bytes) -> str:
    try:
        return read_head(call.partition(b"\n")[0]).key.encode(errors="replace").decode()
    except HookUnreadable:
        # Made of the whole call: no word of an unknown line is kept, it may be a badge.
        return f"unreadable-{sha256(call).hexdigest()[:32]}"


async def _left(reader: asyncio.StreamReader) -> None:
    """Wait until a caller has hung up, gently or not."""
    with suppress(OSError):
        await reader.read(1)


async def _announced(reader: asyncio.StreamReader) -> tuple[bytes, Head]:
    """Read a call's first line. Raises ``HookUnreadable``."""
    try:
        async with asyncio.timeout(PATIENCE):
            first = await reader.readline()
    except ValueError:
        raise HookUnreadable("its first line is too long") from None
    head = read_head(first)
    if (head.size or 0) > LARGEST:
        raise HookUnreadable(f"{head.size:,} bytes; {LARGEST:,} is the most")
    return first, head


async def _heard(reader: asyncio.StreamReader, size: int | None) -> bytes:
    """Read the rest of a call. Raises ``HookUnreadable`` if it has none, or too much."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await (_until_closed(reader) if size is None else reader.readexactly(size))
    except asyncio.IncompleteReadError as error:
        raise HookUnreadable(f"it is no call: {error}") from error


async def _until_closed(reader: asyncio.StreamReader) -> bytes:
    """Read what a hook program of the first version sends: it closes its side after it."""
    body = b""
    while part := await reader.read(USUAL):
        body += part
        if len(body) > LARGEST:
            raise HookUnreadable(f"more than {LARGEST:,} bytes")
    return body
