"""Following the files in which agents describe their sessions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from sqlite3 import Connection

import anyio
import pytest
from anyio.lowlevel import checkpoint
from anyio.to_thread import current_default_thread_limiter

from rookery.agents.claude.session_files import SESSION_FILES
from rookery.model.facts import SessionStarted
from rookery.model.sessions import HEADLESS
from rookery.processes import Process
from rookery.sessions import record_end
from rookery.store import sessions
from rookery.store.journal import Journal
from rookery.tracking.corrections import Corrections
from rookery.tracking.session_files import SessionFilesWatch
from rookery.tracking.transcript_reader import TranscriptReader
from tests.support.fakes.database import ObservedDatabase
from tests.support.rows import make

pytestmark = pytest.mark.anyio


def following(database: ObservedDatabase, journal: Journal) -> SessionFilesWatch:
    """Follow Claude's files; after an hour they are looked for again."""
    conversations = TranscriptReader({}, journal.clock)
    corrections = Corrections(database, journal, conversations)
    return SessionFilesWatch(
        database, journal, conversations, corrections, "claude", SESSION_FILES, 3600.0
    )


def report(folder: Path, process: Process, at: float) -> Path:
    """Have a process write its file: it works since this moment."""
    written = {
        "pid": process.pid,
        "procStart": process.started,
        "sessionId": "n",
        "cwd": str(folder),
        "status": "busy",
        "statusUpdatedAt": int(at * 1000),
    }
    file = folder / SESSION_FILES.folder / f"{process.pid}.json"
    file.parent.mkdir()
    file.write_text(json.dumps(written))
    return file


async def test_a_daemon_that_stops_does_not_wait_for_the_next_look_at_session_files(
    database: ObservedDatabase, journal: Journal, tmp_path: Path
) -> None:
    (tmp_path / SESSION_FILES.folder).mkdir()
    watch = following(database, journal)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.watch, [tmp_path])
            while not current_default_thread_limiter().borrowed_tokens:
                await checkpoint()
            tasks.cancel_scope.cancel()


@pytest.mark.spec("C8", "A5")
@pytest.mark.parametrize(
    ("later_s", "sessions_now"), [(0.02, ["completed"]), (3600, ["completed", "running"])]
)
async def test_a_program_that_still_exits_after_its_session_ended_is_no_new_session(
    database: ObservedDatabase,
    journal: Journal,
    tmp_path: Path,
    later_s: float,
    sessions_now: list[str],
) -> None:
    process = Process.of(os.getpid())
    assert process is not None
    session = make(
        journal, "s", agent="claude", runtime=HEADLESS, native_id="n", process=process.key
    )

    def end(db: Connection) -> None:
        sessions.add(db, session)
        journal.append(db, SessionStarted(session.id))
        record_end.end(db, journal, session.id, outcome="completed", reason="it ended")

    await database.write(end)
    file = report(tmp_path, process, journal.clock.now().timestamp() + later_s)
    watch = following(database, journal)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.watch, [tmp_path])
            while file not in watch.entries:
                await checkpoint()
            tasks.cancel_scope.cancel()

    query = "select status from sessions order by ended_at is null"
    rows = await database.read(lambda db: db.execute(query).fetchall())
    assert [row["status"] for row in rows] == sessions_now
