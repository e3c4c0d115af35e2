"""The door for hooks: a plain socket, one call each, answered once it is on disk."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from sqlite3 import DatabaseError, IntegrityError

from rookery.gateway.peers import peer
from rookery.intake import Context, Hook, Intake, read_call
from rookery.model.errors import HookUnreadable, RookeryError
from rookery.model.permissions import RequestId, Verdict
from rookery.permissions import Ask, Pass, Ruling, Wait
from rookery.ports import Clock
from rookery.programs.hook import DECIDED, TAKEN, WAIT
from rookery.stops import GoOn

_log = logging.getLogger(__name__)

#: Bytes of one call; a tool's input may hold a whole file. Most have far less.
LARGEST, USUAL = 8 * 1024 * 1024, 256 * 1024

#: Bytes of its first line, and of what may come from anybody before it is read.
LONGEST_LINE = 16 * 1024

#: What is wrong with a call itself, and would be at every other try.
POISON = (
    *(HookUnreadable, ValueError, LookupError, TypeError, AttributeError),
    *(ArithmeticError, RecursionError, IntegrityError),
)

#: What is wrong with us, with the disk, or with who calls: it may be tried again.
TROUBLE = (RookeryError, OSError, DatabaseError)

#: Seconds for a caller to say what it has to say.
PATIENCE = 5.0

#: Nanoseconds in which a folder may change twice and bear the same time.
MOMENT = 100_000_000

#: Seconds between two looks for calls that could not reach us.
SPOOL_ROUND = 2.0


@dataclass(slots=True)
class _Seen:
    """When the spool had last changed, as it was looked through."""

    changed: int | None = None

    def note(self, changed: int) -> None:
        # A change a moment later may bear the same time: then it is looked through again.
        is_past = time.time_ns() - changed > MOMENT
        self.changed = changed if is_past else None

    def is_all_of(self, spool: Path) -> bool:
        try:
            return os.stat(spool).st_mtime_ns == self.changed  # noqa: PTH116 - three times as fast
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class HookDoor:
    intake: Intake
    door: Path
    spool: Path
    clock: Clock
    #: So many calls are read at a time; of large ones fewer, as each takes up much memory.
    at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(64))
    large_at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    _draining: asyncio.Lock = field(default_factory=asyncio.Lock)
    _seen: _Seen = field(default_factory=_Seen)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Take in what was spooled while nobody listened, then listen."""
        await self.drain()
        self.door.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(
            self._answer, self.door, limit=LONGEST_LINE, backlog=512
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
        async with self._draining:
            try:
                self.spool.mkdir(mode=0o700, exist_ok=True)
                changed = self.spool.stat().st_mtime_ns
                for file in sorted(self.spool.iterdir()):
                    if file.suffix != ".part" and file.is_file():
                        await self._take_in(file.read_bytes())
                        file.unlink(missing_ok=True)
                self._seen.note(changed)
            except TROUBLE:
                _log.exception("What was spooled could not be taken in; it stays.")

    async def _drain_what_is_new(self) -> None:
        # Before every call that comes: so it must cost next to nothing if there is none.
        if self._draining.locked() or not self._seen.is_all_of(self.spool):
            await self.drain()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            caller = peer(writer.get_extra_info("socket"))
            if caller.is_ours:
                first, size = await _announced(reader)
                async with self.large_at_once if size > USUAL else self.at_once:
                    call = first + await _heard(reader, size)
                    # What its agent could not tell us came before this.
                    await self._drain_what_is_new()
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
        self, writer: asyncio.StreamWriter, hook: Hook | None, ruling: Ruling | GoOn | Context
    ) -> None:
        """Say what was decided, if anything was."""
        said = b""
        if hook and isinstance(ruling, Ask):
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
        self, call: bytes, *, pid: int | None = None
    ) -> tuple[Hook | None, Ruling | GoOn | Context]:
        try:
            hook = read_call(call, pid=pid)
            return hook, await self.intake.receive(hook)
        except POISON as error:
            # Nothing can be made of it, now or later: kept where one can see it, not retried.
            await self.intake.park(call.split(b" ", 1)[0].decode(errors="replace"), error)
            return None, Pass()


async def _left(reader: asyncio.StreamReader) -> None:
    """Wait until a caller has hung up, gently or not."""
    with suppress(OSError):
        await reader.read(1)


async def _announced(reader: asyncio.StreamReader) -> tuple[bytes, int]:
    """Read a call's first line, and how much follows. Raises ``HookUnreadable``."""
    try:
        async with asyncio.timeout(PATIENCE):
            first = await reader.readline()
        size = int(first.split(b" ")[2])
    except (ValueError, IndexError) as error:
        raise HookUnreadable(f"it is no call: {error}") from error
    if not 0 <= size <= LARGEST:
        raise HookUnreadable(f"{size:,} bytes; {LARGEST:,} is the most")
    return first, size


async def _heard(reader: asyncio.StreamReader, size: int) -> bytes:
    """Read the rest of a call. Raises ``HookUnreadable`` if it has none."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await reader.readexactly(size)
    except asyncio.IncompleteReadError as error:
        raise HookUnreadable(f"it is no call: {error}") from error
