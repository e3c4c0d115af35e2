from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from rookery.cli import daemon_waits
from rookery.cli.daemon_waits import await_return, patiently
from rookery.cli.failures import explain
from rookery.client import Client, ConnectionLost
from rookery.home import find_home
from rookery.model.errors import Answered, BadInput, NotRunning, TimedOut, Unreadable

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n"
STOPPING = b'{"error": {"code": "not-running", "message": "It stops."}}'
BUSY = b'{"error": {"code": "still-working", "message": "Not yet."}}'


@contextmanager
def answering(folder: Path, *answers: bytes) -> Iterator[Client]:
    """Be a daemon that gives these answers, whatever is asked, and is gone after them."""
    door = folder / "door"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(door))
        listening.listen()
        speaker = Thread(target=_answer, args=(listening, door, answers), daemon=True)
        speaker.start()
        yield Client(door, timeout_s=5.0)
        speaker.join(timeout=5.0)


def _answer(listening: socket.socket, door: Path, answers: tuple[bytes, ...]) -> None:
    for number, answer in enumerate(answers, 1):
        connection, _ = listening.accept()
        if number == len(answers):
            door.unlink()
        with connection:
            connection.recv(65536)
            connection.sendall(answer)


def refusal(body: bytes) -> bytes:
    return b"HTTP/1.1 503 No\r\ncontent-length: %d\r\n\r\n" % len(body) + body


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\n", HEAD + b'{"pid"', refusal(STOPPING)]
)
def test_an_answer_that_was_cut_off_is_said_to_be(tmp_path: Path, answer: bytes) -> None:
    with answering(tmp_path, answer) as client, pytest.raises(ConnectionLost) as cut:
        client.get("status")

    assert str(cut.value) == "The daemon stopped before it had answered."


@pytest.mark.spec("I5")
def test_of_a_command_that_was_cut_off_it_is_not_known_whether_it_was_taken(
    tmp_path: Path,
) -> None:
    with (
        answering(tmp_path, b"") as client,
        pytest.raises(ConnectionLost, match="may have been executed"),
    ):
        client.post("sessions")


def test_an_answer_of_another_program_makes_no_sense(tmp_path: Path) -> None:
    with answering(tmp_path, b"220 mail\r\n\r\nhello") as client, pytest.raises(Unreadable):
        client.get("status")


@pytest.mark.spec("I5")
@pytest.mark.parametrize("details", [{}, {"missing": "caller"}])
def test_a_refusal_keeps_what_it_tells_programs(
    tmp_path: Path, details: dict[str, str]
) -> None:
    error = {"code": "bad-input", "message": "No.", **({"details": details} if details else {})}
    body = json.dumps({"error": error}).encode()

    with answering(tmp_path, refusal(body)) as client, pytest.raises(Answered) as refused:
        client.get("status")

    assert (refused.value.code, str(refused.value)) == ("bad-input", "No.")
    assert refused.value.details == details


@pytest.mark.spec("I4")
def test_a_stream_that_is_cut_off_is_not_taken_for_its_end(tmp_path: Path) -> None:
    chunked = b"HTTP/1.1 200 OK\r\n\r\n6\r\nid: 1\n\r\n"
    with answering(tmp_path, chunked, chunked + b"0\r\n\r\n") as client:
        cut_off = client.lines("events")
        first = next(cut_off)
        with pytest.raises(ConnectionLost):
            next(cut_off)

        whole = list(client.lines("events"))

    assert [first] == whole == ["id: 1"]


@pytest.mark.spec("I5")
def test_a_question_is_asked_again_of_the_next_daemon(tmp_path: Path) -> None:
    answers = (b"", HEAD + b'{"pid": 12345}', HEAD + b'{"done": true}')
    with answering(tmp_path, *answers) as client:
        found = patiently(
            client, partial(client.get, "wait"), timeout=60.0, otherwise="for good."
        )

    assert found == {"done": True}


@pytest.mark.spec("I5")
def test_a_daemon_that_does_not_come_back_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(daemon_waits, "RETURN_TIMEOUT_S", 0.2)

    with pytest.raises(ConnectionLost) as gone:
        await_return(Client(tmp_path / "door"), otherwise="for good.")

    assert str(gone.value) == "The daemon stopped for good."
    assert "for it to come back" in capsys.readouterr().err


@pytest.mark.spec("I5")
def test_waiting_for_ever_outlasts_the_longest_wait_of_a_daemon(tmp_path: Path) -> None:
    with answering(tmp_path, refusal(BUSY), HEAD + b'{"done": true}') as client:
        found = patiently(
            client, partial(client.get, "wait"), timeout=None, otherwise="for good."
        )

    assert found == {"done": True}


@pytest.mark.spec("I5")
def test_whoever_waits_long_is_told_something_meanwhile(tmp_path: Path) -> None:
    told: list[str] = []
    answers = (refusal(BUSY), refusal(BUSY), HEAD + b'{"done": true}')

    with answering(tmp_path, *answers) as client:
        patiently(
            client,
            partial(client.get, "wait"),
            timeout=60,
            otherwise="",
            meanwhile=lambda: told.append("Still."),
        )

    assert told == ["Still.", "Still."]


@pytest.mark.spec("I5")
def test_waiting_for_a_while_ends_when_that_is_over(tmp_path: Path) -> None:
    with answering(tmp_path, refusal(BUSY)) as client, pytest.raises(Answered, match="Not yet"):
        patiently(client, partial(client.get, "wait"), timeout=-1.0, otherwise="for good.")


def test_without_a_daemon_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(NotRunning) as none:
        Client(tmp_path / "door").get("status")

    assert not isinstance(none.value, ConnectionLost)


def test_a_path_or_a_filter_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    client = Client(tmp_path / "door")

    with pytest.raises(BadInput, match=r"'\\udcff' is not valid UTF-8"):
        client.get("sessions", "\udcff")
    with pytest.raises(BadInput, match=r"'\\udcff' is not valid UTF-8"):
        client.get("sessions", tags=("\udcff",))


@pytest.mark.skipif(sys.platform != "linux", reason="others refuse to connect at once")
def test_a_daemon_that_accepts_no_connection_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening, ExitStack() as held:
        listening.bind(str(tmp_path / "door"))
        listening.listen(0)
        for _ in range(2):  # as many as wait at most
            waiting = held.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            with suppress(BlockingIOError):
                waiting.connect(str(tmp_path / "door"))
        client = Client(tmp_path / "door", timeout_s=0.2)

        with pytest.raises(TimedOut):
            client.get("status")
        assert client.can_connect()


@contextmanager
def stalling(
    folder: Path, *, after: int, answer: bytes
) -> Iterator[tuple[Client, list[bytes]]]:
    """Be a daemon that takes this many requests without an answer, then answers one."""
    door, heard = folder / "door", list[bytes]()
    with socket.socket(socket.AF_UNIX) as listening, ExitStack() as held:
        listening.bind(str(door))
        listening.listen()

        def take() -> None:
            for number in range(after + 1):
                connection = held.enter_context(listening.accept()[0])
                heard.append(connection.recv(65536))
                if number == after:
                    connection.sendall(answer)
                    connection.shutdown(socket.SHUT_WR)

        def take_until_closed() -> None:
            with suppress(OSError):
                take()

        thread = Thread(target=take_until_closed)
        thread.start()
        yield Client(door, timeout_s=0.5), heard
        listening.shutdown(socket.SHUT_RDWR)  # else it waits on, perhaps on another's socket
        thread.join()


def key_in(request: bytes) -> bytes:
    (key,) = re.findall(rb"\r\nIdempotency-Key: (\w{32})\r\n", request)
    return bytes(key)


@pytest.mark.spec("I5", "K3")
def test_a_command_without_an_answer_is_repeated_once_under_the_same_key(
    tmp_path: Path,
) -> None:
    with stalling(tmp_path, after=1, answer=HEAD + b'{"pid": 12345}') as (client, heard):
        sent = client.post("sessions", "anna", "messages", words="go")

    assert sent == {"pid": 12345}
    assert key_in(heard[0]) == key_in(heard[1])


@pytest.mark.spec("I5")
def test_of_a_command_that_is_never_answered_it_says_where_to_look(tmp_path: Path) -> None:
    with (
        stalling(tmp_path, after=2, answer=b"") as (client, _),
        pytest.raises(TimedOut) as late,
    ):
        client.post("sessions", "anna", "messages", words="go")

    assert str(late.value) == (
        "The daemon did not answer within 0.5 s. The command may have been executed."
        " Before you repeat it, check with:  rookery inbox anna"
    )


@pytest.mark.spec("I5")
def test_keys_are_never_sent_a_second_time(tmp_path: Path) -> None:
    with stalling(tmp_path, after=1, answer=b"") as (client, heard), pytest.raises(TimedOut):
        client.post("sessions", "anna", "keys", keys=["Enter"])

    assert len(heard) == 1


def test_a_question_without_an_answer_says_only_that(tmp_path: Path) -> None:
    with (
        stalling(tmp_path, after=1, answer=b"") as (client, _),
        pytest.raises(TimedOut) as late,
    ):
        client.get("status")

    assert str(late.value) == "The daemon did not answer within 0.5 s."


@pytest.mark.spec("I5", "K4")
def test_of_a_daemon_that_does_not_answer_it_says_what_to_do(tmp_path: Path) -> None:
    home = find_home({"ROOKERY_HOME": str(tmp_path)})
    home.prepare()

    with home.locked():
        known = explain(TimedOut("30 s."), home)
    unknown = explain(TimedOut("30 s."), home)

    assert known.startswith("The daemon did not answer within 30 s. It may be busy")
    assert f"kill -9 {os.getpid()}" in known
    assert "rookery up" in known
    assert "rookery down" in unknown
