"""Run git and set-up commands: with a deadline, bounded output and no terminal."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from rookery.model.errors import ProgramFailed
from rookery.ports.clock import Clock
from rookery.processes import Process as KnownProcess
from rookery.processes import is_running

#: Bytes of a program's complaint that are kept: the last ones.
MAX_COMPLAINT_BYTES = 4_000

#: Bytes that are read at once.
CHUNK_BYTES = 65_536

#: Waits for a line before the program replaces it: a daemon that dies before it has recorded
#: the process closes the pipe, and the program never runs.
_GATE = ("/bin/sh", "-c", 'read -r go || exit 125; exec "$@" </dev/null', "rookery")

#: Seconds between two checks whether a killed process is gone.
GONE_CHECK_S = 0.05

#: Is called with a process, as stored, before its program runs.
Record = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """A program to run, and its limits."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str = "/"
    given: bytes = b""  #: its standard input
    timeout_s: float
    max_bytes: int = 16_000_000  #: of its output; it is killed when it prints more
    record: Record | None = None


@dataclass(frozen=True, slots=True)
class ProgramOutput:
    status: int
    stdout: bytes
    complaint: str  #: the end of its standard error
    is_cut: bool = False  #: it printed more than was allowed


async def run_program(run: ProgramRun) -> ProgramOutput:
    """Run a program to its end. Raises ``ProgramFailed`` if it cannot run or takes too long."""
    child = await _start(run)
    try:
        return await asyncio.wait_for(_watch(child, run), run.timeout_s)
    except TimeoutError:
        name = Path(run.argv[0]).name
        raise ProgramFailed(f"{name} took longer than {run.timeout_s:g} s.") from None
    finally:
        await _end(child)


async def _watch(child: Process, run: ProgramRun) -> ProgramOutput:
    if run.record is None:
        return await _communicate(child, run.given, run.max_bytes)
    if known := KnownProcess.of(child.pid):
        await run.record(known.key)
    return await _communicate(child, b"go\n", run.max_bytes)


async def end_left_over(process: str, clock: Clock) -> None:
    """Kill a process, with its group, that an earlier daemon left running."""
    known = KnownProcess.read(process)
    while is_running(known):
        with suppress(ProcessLookupError):
            os.killpg(known.pid, signal.SIGKILL)
        await clock.sleep(GONE_CHECK_S)


async def _start(run: ProgramRun) -> Process:
    argv = (*_GATE, *run.argv) if run.record else run.argv
    try:
        # Shielded: if it is cancelled half-way, asyncio leaves the child behind.
        with anyio.CancelScope(shield=True):
            child = await asyncio.create_subprocess_exec(
                *argv,
                stdin=PIPE if run.given or run.record else DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                env=dict(run.environment),
                cwd=run.folder,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        raise ProgramFailed(f"{run.argv[0]} cannot be run: {error}.") from error
    return child


async def _communicate(child: Process, given: bytes, max_bytes: int) -> ProgramOutput:
    complaint = asyncio.create_task(_read_end(child))
    writing = asyncio.create_task(_write(child, given))
    try:
        output = await _read_beginning(child, max_bytes)
        is_cut = len(output) > max_bytes
        if is_cut:
            _kill(child)
        status = await child.wait()
        await writing
        return ProgramOutput(status, output[:max_bytes], await complaint, is_cut)
    finally:
        complaint.cancel()
        writing.cancel()


async def _write(child: Process, given: bytes) -> None:
    if child.stdin is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):  # it does not read all of it
        child.stdin.write(given)
        await child.stdin.drain()
    child.stdin.close()


async def _read_beginning(child: Process, max_bytes: int) -> bytes:
    """Read the output to its end, or a little more than is allowed."""
    assert child.stdout  # noqa: S101 - a pipe was requested
    output = bytearray()
    while len(output) <= max_bytes and (part := await child.stdout.read(CHUNK_BYTES)):
        output += part
    return bytes(output)


async def _read_end(child: Process) -> str:
    """Read all complaints, and return the last ones."""
    assert child.stderr  # noqa: S101 - a pipe was requested
    complaint = bytearray()
    while part := await child.stderr.read(CHUNK_BYTES):
        complaint += part
        del complaint[:-MAX_COMPLAINT_BYTES]
    return complaint.decode(errors="replace").strip()


def _kill(child: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


async def _end(child: Process) -> None:
    """Kill a program that still runs, with everything that it started in its group."""
    if child.returncode is None:
        _kill(child)
        with anyio.CancelScope(shield=True):
            await child.wait()
