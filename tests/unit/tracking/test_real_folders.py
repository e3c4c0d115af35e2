"""A folder on a dead mount delays nothing but the call that is made in it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from rookery.agents.catalog import AGENTS
from rookery.hook_protocol import Hook
from rookery.permissions.path_resolver import MAX_THREADS
from rookery.permissions.rules_file import RulesFile
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.hook_callers import HookCaller, write_informed
from rookery.tracking.hook_reader import HookReader
from rookery.tracking.real_folders import FolderResolver

pytestmark = [pytest.mark.anyio, pytest.mark.spec("C4", "D1")]

DEAD = "/mnt/dead/project"


@pytest.fixture
def hanging() -> Iterator[FolderResolver]:
    """Resolve folders as on a mount that does not answer."""
    answers = threading.Event()

    def hang(folder: str) -> str:
        answers.wait()
        return folder

    yield FolderResolver(0.01, hang)
    answers.set()


def hook(pid: int | None) -> Hook:
    payload = {"session_id": "n1", "cwd": DEAD, "hook_event_name": "Stop"}
    return Hook("k", "claude", None, payload, pid=pid)


async def test_a_spooled_call_from_a_dead_mount_is_taken_in_with_its_folder_as_reported(
    hanging: FolderResolver, database: Database, journal: Journal, tmp_path: Path
) -> None:
    rules = RulesFile(tmp_path / "rules.toml")
    reader = HookReader(database, journal.clock, AGENTS, rules, None, folders=hanging)
    content = await reader.read(hook(None))

    with anyio.fail_after(20):
        caller = await reader.look_at_caller(hook(None), content.sender)

    assert caller.folder == DEAD


async def test_a_transaction_that_needs_a_folder_on_a_dead_mount_goes_on(
    hanging: FolderResolver, database: Database
) -> None:
    caller = HookCaller(hook(1), AGENTS["claude"], DEAD, hanging)

    with anyio.fail_after(20):
        folder = await write_informed(database, lambda _: caller.folder)

    assert folder == DEAD


async def test_folders_that_hang_take_a_limited_number_of_threads(
    hanging: FolderResolver,
) -> None:
    before = threading.active_count()

    with anyio.fail_after(20):
        found = [await hanging.resolve(DEAD) for _ in range(MAX_THREADS + 2)]

    assert found == [DEAD] * (MAX_THREADS + 2)
    assert threading.active_count() - before <= MAX_THREADS


@pytest.mark.parametrize(("name", "expected"), [("link", "real"), ("real", "real")])
async def test_a_folder_that_can_be_read_has_no_links(
    tmp_path: Path, name: str, expected: str
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert await FolderResolver().resolve(str(tmp_path / name)) == str(tmp_path / expected)
    assert await FolderResolver().resolve("relative") == ""
