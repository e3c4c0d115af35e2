"""Driven sessions that stream blocks, and messages to one, beside a bare loop of the SDK.

All sessions run a scripted program that speaks the protocol of Claude Code and writes all its
blocks at once. Ours is from the first prompt to the last recorded answer; what counts is the
CPU time of the daemon and the driver host. The limit is the same with a bare loop of the SDK in
one process, which only counts the blocks.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
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


def _streams(program: Path, sizes: Sizes) -> list[Figure]:
    count, blocks = sizes.driven, sizes.driven * sizes.blocks
    prompt = ";;".join(f"say: block {number}" for number in range(sizes.blocks))
    limit_s, limit_cpu, limit_bytes = _bare(program, count, prompt)
    with a_home() as rookery:
        _configure(rookery, program, count)
        rookery.up()
        first = _start(rookery, "first")
        until(lambda: _answers(rookery) == 1, within=TIMEOUT_S)
        ours = _processes(rookery)
        before = _memory(ours)
        names = [first, *(_start(rookery, f"s{number}") for number in range(1, count))]
        until(lambda: _answers(rookery) == count, within=TIMEOUT_S)
        began, worked = monotonic(), _cpu(ours)
        for each in names:
            rookery.send(each, prompt)
        until(lambda: _answers(rookery) == 2 * count, within=TIMEOUT_S)
        seconds, spent = monotonic() - began, _cpu(ours) - worked
        grown = (_memory(ours) - before) / (count - 1)
    of = f"of {count} driven sessions"
    return [
        Figure(
            f"blocks {of}, a second",
            "",
            blocks / seconds,
            None,
            blocks / limit_s,
            better="more",
        ),
        Figure(
            f"CPU for a block {of}", "µs", 1e6 * spent / blocks, None, 1e6 * limit_cpu / blocks
        ),
        Figure("the same, times the bare loop", "", spent / limit_cpu, goal=MAX_RATIO),
        Figure(
            "memory for a driven session",
            "MB",
            grown / MEGABYTE,
            None,
            limit_bytes / MEGABYTE,
            goal=MAX_MB,
        ),
    ]


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


def _bare(program: Path, count: int, prompt: str) -> tuple[float, float, float]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.bare_sdk", str(program), str(count), prompt],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=TIMEOUT_S,
    )
    seconds, spent, grown = map(float, done.stdout.split())
    return seconds, spent, grown


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
