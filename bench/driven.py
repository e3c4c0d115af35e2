"""Driven sessions that stream blocks, and messages to one, beside a bare loop of the SDK.

All sessions run a scripted program that speaks the protocol of Claude Code and writes all its
blocks at once. Ours is from the first prompt to the last recorded answer; what counts is the
CPU time of the daemon and the driver host. The limit is the same with a bare loop of the SDK in
one process, which only counts the blocks.

A turn costs us CPU that the bare loop does not have: its message, its facts and its commits
are durable. So short and long turns are measured, and what a further block costs is told apart
from what a whole turn costs.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic

import psutil

from bench.deliveries import read, send
from bench.figures import Figure
from bench.homes import a_home, scratch, until
from bench.sizes import Sizes
from rookery.processes.peers import server_pid
from tests.support.paths import ROOT
from tests.support.real.rookery import Rookery

SCRIPTED = ROOT / "tests" / "support" / "scripted_claude.py"

#: The goals: times the CPU of the bare loop, and megabytes of ours for each session.
MAX_RATIO, MAX_MB = 1.3, 3.0

MEGABYTE = 2**20

#: A long turn has so many times the blocks of a short one.
LONGER = 5

#: How often all is measured; the medians count.
ROUNDS = 3

#: Seconds for all sessions to answer.
TIMEOUT_S = 120.0


def measure(sizes: Sizes) -> list[Figure]:
    with scratch() as folder:
        program = _program(folder)
        return [*_streams(program, sizes), *_words(program, sizes)]


def _program(folder: Path) -> Path:
    """Write an executable that runs the scripted program."""
    program = folder / "claude"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{SCRIPTED}" "$@"\n')
    program.chmod(0o755)
    return program


@dataclass(frozen=True, slots=True)
class Streamed:
    """What it took for all sessions to have a turn with so many blocks each."""

    seconds: float
    cpu: float  #: seconds
    memory: float = 0.0  #: bytes that a session has added


def _streams(program: Path, sizes: Sizes) -> list[Figure]:
    count, short, long = sizes.driven, sizes.blocks, LONGER * sizes.blocks
    with a_home() as rookery:
        _configure(rookery, program, count)
        rookery.up()
        names, memory = _start_all(rookery, count)
        rounds = [
            [
                _stream(rookery, names, short),
                _stream(rookery, names, long),
                _bare(program, count, short),
                _bare(program, count, long),
            ]
            for _ in range(ROUNDS)
        ]
    us_short, us_long, bare_short, bare_long = map(_median, zip(*rounds, strict=True))
    further = (long - short) * count
    ours, bare = us_long.cpu - us_short.cpu, bare_long.cpu - bare_short.cpu
    of = f"of {count} driven sessions"
    return [
        Figure(
            f"blocks {of}, a second",
            "",
            count * long / us_long.seconds,
            None,
            count * long / bare_long.seconds,
            better="more",
        ),
        Figure(
            f"CPU for a further block {of}",
            "µs",
            1e6 * ours / further,
            None,
            1e6 * bare / further,
        ),
        Figure("the same, times the bare loop", "", ours / bare, goal=MAX_RATIO),
        Figure(
            f"CPU for a turn of {short} blocks {of}",
            "ms",
            1e3 * us_short.cpu / count,
            None,
            1e3 * bare_short.cpu / count,
        ),
        Figure(
            "the same, times the bare loop", "", us_short.cpu / bare_short.cpu, goal=MAX_RATIO
        ),
        Figure(
            "memory for a driven session",
            "MB",
            memory / MEGABYTE,
            None,
            bare_short.memory / MEGABYTE,
            goal=MAX_MB,
        ),
    ]


def _start_all(rookery: Rookery, count: int) -> tuple[list[str], float]:
    """Start the sessions; return their names, and the bytes that each has added."""
    first = _start(rookery, "s0")
    until(lambda: _answers(rookery) == 1, within=TIMEOUT_S)
    before = _memory(_processes(rookery))
    names = [first, *(_start(rookery, f"s{number}") for number in range(1, count))]
    until(lambda: _answers(rookery) == count, within=TIMEOUT_S)
    return names, (_memory(_processes(rookery)) - before) / (count - 1)


def _stream(rookery: Rookery, names: Sequence[str], blocks: int) -> Streamed:
    """Give every session a turn, and wait for all of them."""
    ours, answered = _processes(rookery), _answers(rookery)
    began, worked = monotonic(), _cpu(ours)
    for each in names:
        rookery.send(each, _prompt(blocks))
    until(lambda: _answers(rookery) == answered + len(names), within=TIMEOUT_S)
    return Streamed(monotonic() - began, _cpu(ours) - worked)


def _prompt(blocks: int) -> str:
    return ";;".join(f"say: block {number}" for number in range(blocks))


def _median(measured: Sequence[Streamed]) -> Streamed:
    return Streamed(
        median(each.seconds for each in measured),
        median(each.cpu for each in measured),
        median(each.memory for each in measured),
    )


def _words(program: Path, sizes: Sizes) -> list[Figure]:
    """Measure messages until the agent's receipt, without keys."""
    with a_home() as rookery:
        _configure(rookery, program, 1)
        rookery.up()
        name = _start(rookery, "it")
        until(lambda: _answers(rookery) == 1)
        sent = [send(rookery, name, f"say: {number}") for number in range(sizes.words)]
        took = [each.whole for each in read(rookery, sent)]
    return [Figure("message to a driven session until its receipt, p50", "ms", median(took))]


def _bare(program: Path, count: int, blocks: int) -> Streamed:
    done = subprocess.run(
        [sys.executable, "-m", "bench.bare_sdk", str(program), str(count), _prompt(blocks)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=TIMEOUT_S,
    )
    return Streamed(*map(float, done.stdout.split()))


def _configure(rookery: Rookery, program: Path, count: int) -> None:
    rookery.configure(
        f'[agents.claude]\ncommand = ["{program}"]\n[limits]\ndriven_sessions = {count}\n'
    )


def _start(rookery: Rookery, name: str) -> str:
    started = rookery.client.post(
        "sessions",
        agent="claude",
        runtime="sdk",
        name=name,
        project=str(rookery.project),
        prompt="say: up",
        tools=False,
    )
    return str(started["name"])


def _answers(rookery: Rookery) -> int:
    with rookery.database() as db:
        (count,) = db.execute(
            "select count(*) from turns where ended_at is not null"
        ).fetchone()
    return int(count)


def _processes(rookery: Rookery) -> Sequence[psutil.Process]:
    """Return the daemon and the driver host."""
    pids = [server_pid(each) for each in (rookery.home.door, rookery.home.driver_socket)]
    return [psutil.Process(pid) for pid in pids if pid]


def _cpu(processes: Sequence[psutil.Process]) -> float:
    times = [each.cpu_times() for each in processes]
    return float(sum(each.user + each.system for each in times))


def _memory(processes: Sequence[psutil.Process]) -> int:
    return sum(each.memory_full_info().uss for each in processes)
