"""The servers of the API stop together, also one that begins at the last moment."""

from __future__ import annotations

import socket
from pathlib import Path

import anyio
import pytest

from rookery.api.http import build_app
from rookery.api.request_checks import Guard
from rookery.api.servers import _Servers
from rookery.operations.context import Context
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.support.operations import Desk

pytestmark = pytest.mark.anyio


@pytest.mark.spec("K4")
async def test_a_server_that_begins_after_all_have_stopped_ends_at_once(
    database: Database, journal: Journal, tmp_path: Path
) -> None:
    context: Context = Desk(database, journal).context
    guard = Guard(build_app(context), context, transport="unix")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "late.sock"))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            all_servers = _Servers(tasks)
            all_servers.stop()
            all_servers.start(guard, listening)
