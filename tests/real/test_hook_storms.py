"""Hooks by the hundred: the daemon dies among them, and whoever asks it is still answered."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from time import time_ns
from uuid import uuid4

import psutil
import pytest

from tests.support.real.hook_storms import (
    Restless,
    heard,
    payload_of,
    restless,
    run_hook,
    storm,
    tell_while_it_dies,
)
from tests.support.real.rookery import SOON, Rookery, eventually

__all__ = ["restless"]

pytestmark = pytest.mark.real


@pytest.mark.spec("C3", "C5", "K3")
def test_what_hooks_tell_while_the_daemon_dies_is_taken_once_and_in_order(
    restless: Restless,
) -> None:
    chance = random.Random(0)  # noqa: S311 - a moment, not a secret

    returned = tell_while_it_dies(restless, agents=4, calls=10, kills=2, chance=chance)

    assert len(returned) >= 40


@pytest.mark.spec("C5", "K4")
def test_a_storm_of_hooks_keeps_nobody_waiting_and_fills_no_memory(rookery: Rookery) -> None:
    rookery.start("calm")

    passed = storm(rookery, events=2_000)

    assert passed.taken == 2_000
    assert passed.waits
    assert passed.grown < 60_000_000
    assert rookery.session("calm")["activity"] == "idle"


@contextmanager
def callers(rookery: Rookery, number: int) -> Iterator[list[socket.socket]]:
    """Have so many stand at the door for hooks."""
    with ExitStack() as held:
        found = [held.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(number)]
        for each in found:
            each.settimeout(SOON)
            each.connect(str(rookery.home.hook_door))
        yield found


@pytest.mark.spec("C3", "K4")
def test_callers_who_say_nothing_keep_no_agent_waiting(rookery: Rookery) -> None:
    with callers(rookery, 200):
        told = run_hook(rookery, payload_of("n1", 0))

    assert (told.code, told.printed) == (0, b"")
    assert list(rookery.home.spool.iterdir()) == []
    assert heard(rookery, "n1") == [0]


@pytest.mark.spec("C3", "D1", "K4")
@pytest.mark.parametrize(("number", "size"), [(64, 100), (3, 300_000)])
def test_callers_that_announce_a_payload_and_send_none_do_not_lift_a_deny(
    rookery: Rookery, number: int, size: int
) -> None:
    rookery.home.rules.write_text('[[deny]]\ntool = "Bash"\n')
    rookery.home.rules.chmod(0o600)
    command = {"command": "x" * size}
    asked = {**payload_of("n1", 2), "tool_name": "Bash", "tool_input": command}

    with callers(rookery, number) as silent:
        for each in silent:
            each.sendall(f"v2 {uuid4()} demo {size} - - - -\n".encode())
        told = run_hook(rookery, asked)

    assert b"deny" in told.printed
    assert list(rookery.home.spool.iterdir()) == []


@pytest.mark.spec("K4")
def test_callers_who_say_too_much_at_once_fill_no_memory(rookery: Rookery) -> None:
    daemon = psutil.Process(rookery.pid)
    before, most = daemon.memory_info().rss, 0

    def say_much(number: int, caller: socket.socket) -> None:
        """Say it in a line that never ends, or announce it."""
        first_line = b"k demo 8000000 - - 1 -\n" if number % 2 else b""
        with suppress(ConnectionError, TimeoutError):
            caller.settimeout(1.0)
            caller.sendall(first_line + b"x" * 7_000_000)

    with callers(rookery, 60) as talking, ThreadPoolExecutor(60) as threads:
        saying = [threads.submit(say_much, *each) for each in enumerate(talking)]
        while wait(saying, timeout=0.05).not_done:
            most = max(most, daemon.memory_info().rss)

    assert most - before < 100_000_000
    assert run_hook(rookery, payload_of("n1", 0)).code == 0


@pytest.mark.spec("C3", "C5", "K3")
def test_thousands_of_spooled_calls_are_taken_in_once_and_in_order(cold: Rookery) -> None:
    cold.configure("")
    cold.home.prepare()
    agents, calls, began = 5, 400, time_ns() - 60_000_000_000
    for number in range(agents * calls):
        native_id, key = f"n{number % agents}", f"{began + number:020d}-{number:016x}"
        body = json.dumps(payload_of(native_id, number // agents)).encode()
        line = f"v2 {key} demo {len(body)} - - 1 -\n"
        (cold.home.spool / key).write_bytes(line.encode() + body)

    cold.up()
    # Live: it waits for what it must not overtake, or goes to the spool behind it.
    run_hook(cold, payload_of("n1", calls))
    eventually(lambda: len(heard(cold, "n1")) == calls + 1)
    eventually(lambda: not list(cold.home.spool.iterdir()))

    assert heard(cold, "n1") == list(range(calls + 1))
    assert heard(cold, "n4") == list(range(calls))
