"""Calls that waited in the spool are taken in as they came, whatever the database does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sqlite3 import Connection, OperationalError

import pytest

from rookery.agents.catalog import AGENTS
from rookery.api.hook_socket import HookSocket
from rookery.api.spool import Spool
from rookery.model.errors import StoreLocked
from rookery.permissions.decisions import Permissions
from rookery.permissions.offline_answers import OfflineAnswers
from rookery.permissions.rules_file import RulesFile
from rookery.programs.hook import TAKEN
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.intake import Intake
from tests.support.daemon import no_policy
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.connection import connection
from tests.support.waiting import kinds

pytestmark = [pytest.mark.anyio, pytest.mark.spec("C3", "C5", "K3")]


class Disk:
    """Fails the commits that it is told to, and counts those that succeed."""

    def __init__(self) -> None:
        self.failing = 0
        self.commits = 0

    def before_commit(self) -> None:
        if self.failing:
            self.failing -= 1
            raise OperationalError("database is locked")
        self.commits += 1

    @contextmanager
    def failed_once(self) -> Iterator[None]:
        self.failing = 1
        yield
        assert not self.failing


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
async def store(tmp_path: Path, disk: Disk) -> AsyncIterator[Database]:
    # One work per transaction: works that are given to the writer together need not share one.
    kind = connection(before_commit=disk.before_commit)
    async with Database(
        tmp_path / "rookery.db", FakeClock(), batch=1, connection=kind
    ) as database:
        yield database


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    (tmp_path / "spool").mkdir()
    return tmp_path / "spool"


@pytest.fixture
def hook_socket(tmp_path: Path, spool: Path, store: Database, journal: Journal) -> HookSocket:
    rules = RulesFile(tmp_path / "rules.toml")
    permissions = Permissions(journal, rules, timedelta(minutes=5))
    intake = Intake(store, journal, AGENTS, permissions, no_policy(journal))
    offline_answers = OfflineAnswers(tmp_path / "absence.json", AGENTS, rules, "ask")
    return HookSocket(intake, tmp_path / "hook_socket", spool, journal.clock, offline_answers)


def call(number: int, event: str, **more: object) -> bytes:
    """Write a call as the hook program does."""
    body = json.dumps({"session_id": "n1", "cwd": "/", "hook_event_name": event, **more})
    return f"v2 {key(number)} demo {len(body)} - - - -\n{body}".encode()


def key(number: int) -> str:
    return f"{number:020d}-{number:016x}"


def leave(spool: Path, number: int, event: str, **more: object) -> None:
    (spool / key(number)).write_bytes(call(number, event, **more))


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


async def say(hook_socket: HookSocket, said: bytes) -> bytes:
    """Call the open socket; return its answer."""
    async with asyncio.timeout(30):
        reader, writer = await asyncio.open_unix_connection(hook_socket.path)
        writer.write(said)
        answer = await reader.read()
        writer.close()
    return answer


def parked(db: Connection) -> list[str]:
    rows = db.execute("select key from hooks where error is not null order by key")
    return [row[0] for row in rows]


async def test_after_a_failed_commit_spooled_calls_keep_their_order(
    hook_socket: HookSocket, spool: Path, store: Database, disk: Disk
) -> None:
    leave(spool, 1, "UserPromptSubmit", prompt="go")
    leave(spool, 2, "Stop")

    with disk.failed_once():
        await hook_socket.drain()
    await hook_socket.drain()

    assert await store.read(kinds) == ["turn-started", "session-renamed", "turn-ended"]
    assert names_in(spool) == []


async def test_a_live_call_is_not_answered_while_an_earlier_one_cannot_be_committed(
    hook_socket: HookSocket, spool: Path, store: Database, disk: Disk
) -> None:
    leave(spool, 1, "UserPromptSubmit", prompt="go")

    async with hook_socket.open():
        with disk.failed_once():
            unanswered = await say(hook_socket, call(2, "Stop"))
        answered = await say(hook_socket, call(2, "Stop"))

    assert (unanswered, answered) == (b"", TAKEN)
    assert await store.read(kinds) == ["turn-started", "session-renamed", "turn-ended"]


async def test_a_poisoned_call_is_parked_alone_in_one_transaction_with_the_others(
    hook_socket: HookSocket, spool: Path, store: Database, disk: Disk
) -> None:
    for number in range(0, 200, 2):
        leave(spool, number, "UserPromptSubmit", prompt="go")
        leave(spool, number + 1, "Stop")
    (spool / key(50)).write_bytes(b"v2 no call")
    (spool / key(80)).write_bytes(call(80, "Stop").replace(b" demo ", b" unknown "))
    before = disk.commits

    await hook_socket.drain()

    told = await store.read(kinds)
    assert (told.count("turn-started"), told.count("turn-ended")) == (98, 100)
    poisoned = await store.read(parked)
    assert poisoned[0] == key(80)
    assert poisoned[1].startswith("unreadable-")
    assert disk.commits == before + 1


async def test_a_note_of_a_payload_that_was_too_large_is_parked_with_its_size(
    hook_socket: HookSocket, spool: Path, store: Database
) -> None:
    (spool / key(1)).write_bytes(f"v2 {key(1)} demo 700000000 - - - -\n".encode())

    await hook_socket.drain()

    assert await store.read(parked) == [key(1)]
    error = await store.read(lambda db: db.execute("select error from hooks").fetchone()[0])
    assert "700,000,000 bytes" in error


@pytest.mark.spec("C8", "D3")
async def test_a_permission_was_asked_for_when_its_hook_ran_not_when_it_is_taken_in(
    hook_socket: HookSocket, spool: Path, store: Database
) -> None:
    asked = {"tool_name": "Bash", "tool_input": {"command": "rm x"}}
    leave(spool, 10**9, "UserPromptSubmit", prompt="go")
    leave(spool, 2 * 10**9, "PermissionRequest", **asked)

    await hook_socket.drain()

    def times(db: Connection) -> list[datetime]:
        rows = [
            *db.execute("select at from entries where kind = 'input-asked'"),
            *db.execute("select asked_at from requests"),
            *db.execute("select since from sessions"),
        ]
        return [datetime.fromisoformat(row[0]) for row in rows]

    assert await store.read(times) == [datetime.fromtimestamp(2, UTC)] * 3


@pytest.mark.spec("K4")
async def test_a_locked_database_is_one_sentence_in_the_log(
    hook_socket: HookSocket, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def drain(spool: Spool) -> None:
        raise StoreLocked("database is locked")

    monkeypatch.setattr(Spool, "drain", drain)

    await hook_socket.drain()

    (record,) = caplog.records
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert "they stay. Another program has locked the database" in record.getMessage()


@pytest.mark.spec("K4")
async def test_a_stopping_daemon_leaves_no_socket_although_it_misses_its_file(
    hook_socket: HookSocket,
) -> None:
    """The check of the socket's file may run once more after the file was removed."""
    async with hook_socket.open():
        assert hook_socket.path.is_socket()

    await hook_socket.listen()

    assert not hook_socket.path.exists()
