"""A daemon begins with the file of an older version, whose sessions are running."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rookery.agents.catalog import AGENTS
from rookery.model.lifecycle import Activity, Status
from rookery.model.sessions import Session
from rookery.ports.runtime import RuntimeHandle
from rookery.processes import Process
from rookery.sessions.recovery import SessionRecovery
from rookery.store import sessions
from rookery.store.connections import open_file
from rookery.store.journal import Journal
from rookery.store.migrations import migrate
from tests.support.daemon import passing_time
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import FakeRuntime
from tests.support.rows import add_old, make

pytestmark = pytest.mark.anyio

#: The last version without handles.
BEFORE_HANDLES = 13


def write_older_file(path: Path, *known: Session) -> None:
    with closing(open_file(path)) as db:
        migrate(db, until=BEFORE_HANDLES)
        for each in known:
            add_old(db, each)


@pytest.mark.spec("A7")
async def test_sessions_of_an_older_version_are_found_and_their_handles_stored(
    tmp_path: Path, clock: FakeClock, journal: Journal
) -> None:
    process = Process.of(os.getpid())
    assert process
    up: dict[str, Any] = {"status": Status.RUNNING, "activity": Activity.IDLE}
    held, cut_off, lost = (
        make(journal, name, **up, tmux_session=f"rk_{name}", tmux_pane="%1", process=known)
        for name, known in (("held", None), ("cut off", process.key), ("lost", "1:never"))
    )
    write_older_file(tmp_path / "old.db", held, cut_off, lost)
    runtime = FakeRuntime()
    program = runtime.put("rk_held")

    async with ObservedDatabase(tmp_path / "old.db", clock) as database:
        async with passing_time(database, clock):
            await SessionRecovery(database, journal, runtime, AGENTS).recover()
        now, handles = await database.read(
            lambda db: (
                [sessions.get(db, each.id) for each in (held, cut_off, lost)],
                [sessions.handle_of(db, each.id) for each in (held, cut_off)],
            )
        )

    assert [each.status for each in now] == [Status.RUNNING, Status.RUNNING, Status.FAILED]
    assert sorted(runtime.adopted) == sorted([held.id, cut_off.id])
    # Nothing of the second is left in tmux: what was known of it stays.
    older = RuntimeHandle("tmux", '{"name":"rk_cut off","pane":"%1"}')
    assert handles == [program.handle, older]
    assert [each.tmux_session for each in now] == ["rk_held", "rk_cut off", "rk_lost"]
    assert [each.tmux_pane for each in now] == ["%1"] * 3
