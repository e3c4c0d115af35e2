"""Send many hook calls at once, while the daemon is killed."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import quantiles
from threading import Event
from time import monotonic
from uuid import uuid4

import psutil
import pytest

from rookery.programs.hook import TAKEN, WAIT
from tests.support.paths import ROOT
from tests.support.real.rookery import SOON, Rookery, eventually

#: What agents tell, over and over.
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")


#: Where a fact has what its event told.
TOLD = ("model", "prompt", "tool", "last_words")


#: Seconds for one call, at most: its own deadline, and what it takes to start a program where
#: a dozen are started at once.
LONGEST_CALL = 10.0


@dataclass(frozen=True, slots=True)
class Returned:
    """A call of the hook program, as its agent sees it."""

    seconds: float
    code: int
    printed: bytes


def payload_of(native_id: str, number: int) -> dict[str, object]:
    """Make what an agent tells, with its number wherever a fact might have it from."""
    fields = ("model", "prompt", "tool_name", "last_assistant_message")
    return {
        "session_id": native_id,
        "cwd": "/made/up",
        "hook_event_name": EVENTS[number % len(EVENTS)],
        **dict.fromkeys(fields, str(number)),
    }


def run_hook(rookery: Rookery, payload: Mapping[str, object]) -> Returned:
    """Run the hook program as an agent does, and wait for it."""
    home, began = rookery.home, monotonic()
    done = subprocess.run(
        [sys.executable, "-I", "-S", home.hook, home.hook_door, home.spool, "demo"],
        input=json.dumps(payload).encode(),
        capture_output=True,
        env={},
        timeout=60,
        check=False,
    )
    return Returned(monotonic() - began, done.returncode, done.stdout + done.stderr)


def tell(rookery: Rookery, native_id: str, calls: int, enough: Event) -> list[Returned]:
    """Be an agent: one hook after the other, each with its number; so many, until enough."""
    told: list[Returned] = []
    while len(told) < calls or not enough.is_set():
        told.append(run_hook(rookery, payload_of(native_id, len(told))))
    return told


def heard(rookery: Rookery, native_id: str) -> list[int]:
    """Return the numbers of what was told, as the journal has them.

    The model, which each of these calls names anew, has an entry of its own beside it; so has
    the name that the first prompt gives.
    """
    with rookery.database() as db:
        rows = db.execute(
            "select body from entries join sessions on sessions.id = entries.session"
            " where native_id = ? and kind not in ('model-chosen', 'session-renamed')"
            " order by seq",
            (native_id,),
        ).fetchall()
    facts = [json.loads(row[0]) for row in rows]
    return [int(next(fact[name] for name in TOLD if name in fact)) for fact in facts]


class Restless(Rookery):
    """A home whose daemon is killed at any moment, also while it is only starting."""

    def begin(self) -> None:
        """Start the daemon, and do not wait for it."""
        self._daemon = subprocess.Popen(
            self.program,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
        )

    def die(self, times: int, chance: random.Random) -> None:
        """Be killed so often: while up, while starting, while up …"""
        moment = Event()
        for number in range(times):
            moment.wait(chance.uniform(0.0, 3.0 if number % 2 else 0.6))
            self.kill()
            if number % 2:
                self.up()
            else:
                self.begin()
        if times % 2:
            self.kill()
            self.up()


def tell_while_it_dies(
    rookery: Restless, *, agents: int, calls: int, kills: int, chance: random.Random
) -> list[Returned]:
    """Have agents tell so much each, or more, and the daemon be killed meanwhile.

    All of it is in the journal then, once and in order, and no agent was told anything.
    """
    enough = Event()
    with ThreadPoolExecutor(agents) as threads:
        telling = {
            native_id: threads.submit(tell, rookery, native_id, calls, enough)
            for native_id in (f"native-{number}" for number in range(agents))
        }
        try:
            rookery.die(kills, chance)
        finally:
            enough.set()
    eventually(lambda: not list(rookery.home.spool.iterdir()), within=60.0)
    for native_id, told in telling.items():
        assert heard(rookery, native_id) == list(range(len(told.result()))), native_id
    returned = [call for told in telling.values() for call in told.result()]
    assert {(each.code, each.printed) for each in returned} == {(0, b"")}
    assert max(each.seconds for each in returned) < LONGEST_CALL
    return returned


@pytest.fixture
def restless(tmp_path: Path) -> Iterator[Restless]:
    rookery = Restless(tmp_path)
    rookery.up()
    yield rookery
    rookery.clear_away()


def call_door(door: Path, call: bytes) -> bytes:
    """Say this at the door for hooks; return what is answered. Nobody is waited for."""
    answer = b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SOON)
        connection.connect(str(door))
        connection.sendall(call)
        while not answer.startswith(WAIT) and (part := connection.recv(65536)):
            answer += part
    return answer


def call_of(payload: object, *, agent: str = "demo", badge: str = "-") -> bytes:
    """Write a call as the hook program does."""
    body = json.dumps(payload).encode()
    return f"{uuid4()} {agent} {len(body)} {badge} - 1 -\n".encode() + body


def pour(door: Path, numbers: range) -> int:
    """Tell so many things of fifty sessions, eight at once; return how many were taken."""

    def tell_one(number: int) -> bool:
        return call_door(door, call_of(payload_of(f"storm-{number % 50}", number))) == TAKEN

    with ThreadPoolExecutor(8) as threads:
        return sum(threads.map(tell_one, numbers))


@dataclass(frozen=True, slots=True)
class Storm:
    """What a storm of hooks did to whoever asked something meanwhile."""

    taken: int
    seconds: float
    waits: list[float]  #: of each who asked for the list, until it was there
    grown: int  #: bytes of the daemon's memory

    @property
    def p99(self) -> float:
        return quantiles(self.waits, n=100)[-1]


def storm(rookery: Rookery, events: int) -> Storm:
    """Let so many hooks come in, sixteen at once, and ask for the list all the while."""
    daemon, door = psutil.Process(rookery.pid), rookery.home.hook_door
    before, began, waits = daemon.memory_info().rss, monotonic(), []
    # In processes of their own: it is the daemon that is measured, not who asks.
    with ProcessPoolExecutor(2, get_context("spawn")) as callers:
        halves = range(0, events, 2), range(1, events, 2)
        pouring = [callers.submit(pour, door, half) for half in halves]
        while wait(pouring, timeout=0.02).not_done:
            asked = monotonic()
            rookery.client.get("sessions")
            waits.append(monotonic() - asked)
    seconds = monotonic() - began
    taken = sum(each.result() for each in pouring)
    return Storm(taken, seconds, waits, daemon.memory_info().rss - before)
