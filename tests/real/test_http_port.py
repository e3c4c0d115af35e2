"""The HTTP port: where it is if its number is taken, and how users and programs learn it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.support.real.rookery import Rookery, eventually

pytestmark = [pytest.mark.real, pytest.mark.spec("K1", "I5")]

DEFAULT = 4870


@pytest.fixture
def taken() -> Iterator[int]:
    """Give a port that another program listens on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


@contextmanager
def default_port_taken() -> Iterator[None]:
    """Listen on the default port, once the daemons of other tests have left it."""
    held: list[socket.socket] = []

    def listens() -> bool:
        with suppress(OSError):
            held.append(socket.create_server(("127.0.0.1", DEFAULT)))
        return bool(held)

    # A program that keeps the port for longer than a test takes it just as well.
    with suppress(AssertionError):
        eventually(listens)
    try:
        yield
    finally:
        for each in held:
            each.close()


def detail_of_http(rookery: Rookery) -> tuple[bool | None, str]:
    (check,) = [
        each for each in rookery.client.get("doctor")["checks"] if each["name"] == "http"
    ]
    return check["ok"], check["detail"]


def test_a_port_that_was_set_and_is_taken_is_not_replaced(cold: Rookery, taken: int) -> None:
    cold.configure(f"[http]\nport = {taken}\n")

    cold.up()
    status, doctor = cold.run("status"), cold.run("doctor")

    said = f"HTTP is off: Port {taken} is used by another program."
    assert cold.client.get("status")["url"] is None
    assert said in status.stdout
    assert said in doctor.stdout
    assert doctor.returncode == 1
    assert said in cold.home.log.read_text()
    assert not cold.home.url.exists()
    assert cold.start("goes-on")["status"] == "running"


def test_it_is_said_at_the_start_that_a_set_port_is_taken(cold: Rookery, taken: int) -> None:
    cold.configure(f"[http]\nport = {taken}\n")

    started = cold.run("up", "--detach")
    cold.run("down")

    assert started.returncode == 0, started.stderr
    assert f"HTTP is off: Port {taken} is used by another program." in started.stdout


def test_where_the_default_port_is_taken_another_is_used_and_said(cold: Rookery) -> None:
    with default_port_taken():
        cold.up()

    url = cold.client.get("status")["url"]
    number = int(url.rpartition(":")[2])
    said = f"Port {DEFAULT} is used by another program. HTTP uses port {number} instead."

    assert number != DEFAULT
    assert said in cold.run("status").stdout
    assert detail_of_http(cold) == (None, f"{url}. {said}")


def test_the_url_is_in_a_private_file_for_as_long_as_it_answers(cold: Rookery) -> None:
    cold.configure("[http]\nport = 0\n")
    cold.up()
    url = cold.client.get("status")["url"]

    written, mode = cold.home.url.read_text(), cold.home.url.stat().st_mode & 0o777
    note = cold.client.get("status")["http_note"]
    cold.stop()

    assert (written, mode, note) == (f"{url}\n", 0o600, "")
    assert not cold.home.url.exists()
