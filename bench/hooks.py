"""Cost of one hook call for an agent, and hook calls per second that the daemon accepts.

A call is run as agents run it, by ``/bin/sh -c``, with a payload of 2 kB, and returns once it
is on disk. With the daemon down, it returns once it is in the spool. The limit is a shell that
writes the payload into a file. Naive is curl, or Python's http.client, to a server that answers
at once and stores nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from statistics import median, quantiles
from threading import Thread
from time import perf_counter
from uuid import uuid4

import psutil
import uvloop

from bench import bare_intake
from bench.figures import Figure
from bench.homes import a_home, scratch
from bench.sizes import Sizes
from rookery.agents.catalog import AGENTS
from rookery.hook_protocol import with_checksum
from rookery.hook_setup import programs
from rookery.programs.hook import TAKEN
from tests.support.real.rookery import Rookery

CALLERS = 16

#: Factor of curl's time; committed events per second, milliseconds at p99, and the daemon's CPU
#: milliseconds for an event that comes alone.
MAX_FACTOR_OF_CURL, MIN_EVENTS_PER_S, MAX_P99_MS, MAX_LONE_CPU_MS = 1.5, 6_000, 50, 0.4

PADDING = "x" * 1_700

#: The offline answers of hooks; they are for other events than the measured one.
_OFFLINE_ANSWERS = json.dumps({"demo": [{"event": "PreToolUse", "tools": ["*"], "say": "ask"}]})

_CLIENT = """
import http.client, socket, sys
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])
there = Unix("localhost")
there.request("POST", "/", sys.stdin.buffer.read())
there.getresponse().read()
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of one call."""

    wall: float
    cpu: float


def measure(sizes: Sizes) -> list[Figure]:
    with a_home() as rookery, a_home() as cold:
        rookery.up()
        cold.home.prepare()
        programs.write(cold.home, AGENTS)
        cold.home.offline_answers.write_bytes(with_checksum(_OFFLINE_ANSWERS.encode()))
        costs = _costs(rookery, cold, sizes)
        lone = _lone(rookery, sizes)
        with bare_intake.serving() as bare:
            limit_rate = _rate(uvloop.run(_call(bare, CALLERS, sizes.events)))
        rates = _intake(rookery, sizes, limit_rate)
    limit, curl = costs.pop("sh + file"), costs.pop("sh + curl")
    return [
        *_figures("a hook call", costs.pop("ours"), limit, curl),
        *_figures("a hook call, daemon down", costs.pop("spooled"), limit, curl),
        *(Figure(f"  {name}, CPU", "ms", cost.cpu) for name, cost in costs.items()),
        *(Figure(f"  {name}, wall", "ms", cost.wall) for name, cost in costs.items()),
        lone,
        *rates,
    ]


def _figures(what: str, ours: Cost, limit: Cost, curl: Cost) -> list[Figure]:
    return [
        Figure(
            f"{what}, CPU",
            "ms",
            ours.cpu,
            curl.cpu,
            limit=limit.cpu,
            goal=MAX_FACTOR_OF_CURL * curl.cpu,
        ),
        Figure(
            f"{what}, wall",
            "ms",
            ours.wall,
            curl.wall,
            limit=limit.wall,
            goal=MAX_FACTOR_OF_CURL * curl.wall,
        ),
    ]


def _costs(rookery: Rookery, cold: Rookery, sizes: Sizes) -> dict[str, Cost]:
    python = shlex.quote(os.path.realpath(sys.executable))
    with _a_server() as door:
        there = shlex.quote(str(door))
        commands = {
            "ours": programs.hook_command(rookery.home, "demo"),
            "spooled": programs.hook_command(cold.home, "demo"),
            "sh": ":",
            "sh + file": f"cat > {there}.part && mv {there}.part {there}.call",
            "bare python": f"{python} -I -S -c pass",
            "sh + curl": f"curl -s --unix-socket {there} --data-binary @- http://x/",
            "python + http.client": f"{python} -c {shlex.quote(_CLIENT)} {there}",
        }
        found: dict[str, list[Cost]] = {name: [] for name in commands}
        for number in range(sizes.hooks):  # alternately, so that load affects all
            for name, command in commands.items():
                found[name].append(_cost(rookery.environment, command, number))
    return {name: _middle(costs) for name, costs in found.items()}


def _cost(environment: Mapping[str, str], command: str, number: int) -> Cost:
    payload = _payload(number, "bench")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(
        ["/bin/sh", "-c", command],
        input=payload,
        env=dict(environment),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    wall, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(1_000 * wall, 1_000 * cpu)


def _middle(costs: list[Cost]) -> Cost:
    return Cost(median(each.wall for each in costs), median(each.cpu for each in costs))


def _payload(number: int, native_id: str) -> bytes:
    told = {"session_id": native_id, "cwd": "/", "hook_event_name": "Notification"}
    return json.dumps({**told, "message": f"{number} {PADDING}"}).encode()


def _intake(rookery: Rookery, sizes: Sizes, limit: float) -> list[Figure]:
    """Measure events that many callers send at once."""
    calls = uvloop.run(_call(rookery.home.hook_door, CALLERS, sizes.events))
    what = f"{CALLERS} callers at once"
    return [
        Figure(
            f"{what}, on disk",
            "events/s",
            _rate(calls),
            limit=limit,
            goal=MIN_EVENTS_PER_S,
            better="more",
        ),
        Figure(f"{what}, p50", "ms", median(calls.took)),
        Figure(f"{what}, p99", "ms", quantiles(calls.took, n=100)[98], goal=MAX_P99_MS),
    ]


def _lone(rookery: Rookery, sizes: Sizes) -> Figure:
    """Measure the daemon's CPU time for an event that no other accompanies."""
    daemon = psutil.Process(rookery.home.lock_pid())
    uvloop.run(_call(rookery.home.hook_door, 1, sizes.hooks))  # until its caches are warm
    before, count = daemon.cpu_times(), sizes.events // 10
    uvloop.run(_call(rookery.home.hook_door, 1, count))
    after = daemon.cpu_times()
    spent = after.user + after.system - before.user - before.system
    return Figure(
        "one event after another, CPU of the daemon",
        "ms",
        1_000 * spent / count,
        goal=MAX_LONE_CPU_MS,
    )


@dataclass(frozen=True, slots=True)
class Calls:
    took: Sequence[float]  #: milliseconds of each call
    seconds: float  #: of all together


def _rate(calls: Calls) -> float:
    return len(calls.took) / calls.seconds


async def _call(door: Path, callers: int, events: int) -> Calls:
    """Have callers send events, each on a connection of its own."""
    took: list[float] = []
    numbers = iter(range(events))
    began = perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for caller in range(callers):
            tasks.create_task(_call_on(door, f"n{caller}", numbers, took))
    return Calls(took, perf_counter() - began)


async def _call_on(
    door: Path, native_id: str, numbers: Iterator[int], took: list[float]
) -> None:
    for number in numbers:
        payload = _payload(number, native_id)
        first = f"{uuid4()} demo {len(payload)} - - 1 -\n".encode()
        began = perf_counter()
        reader, writer = await asyncio.open_unix_connection(door)
        writer.write(first + payload)
        if await reader.read() != TAKEN:
            raise RuntimeError("a call was not accepted")
        took.append(1_000 * (perf_counter() - began))
        writer.close()


class _Answer(BaseHTTPRequestHandler):
    """Answers each request at once with an empty object."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        """Log nothing."""


class _Server(ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def _a_server() -> Iterator[Path]:
    with scratch() as folder:
        door = folder / "http.sock"
        with _Server(str(door), _Answer) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            yield door
            server.shutdown()
