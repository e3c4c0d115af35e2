"""Following the files in which agents describe their sessions."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint
from anyio.to_thread import current_default_thread_limiter

from rookery.agents.claude.session_files import SESSION_FILES
from rookery.store.journal import Journal
from rookery.tracking.corrections import Corrections
from rookery.tracking.session_files import SessionFilesWatch
from rookery.tracking.transcript_reader import TranscriptReader
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase

pytestmark = pytest.mark.anyio


async def test_a_daemon_that_stops_does_not_wait_for_the_next_look_at_session_files(
    database: ObservedDatabase, journal: Journal, clock: FakeClock, tmp_path: Path
) -> None:
    (tmp_path / SESSION_FILES.folder).mkdir()
    conversations = TranscriptReader({}, clock)
    corrections = Corrections(database, journal, conversations)
    watch = SessionFilesWatch(
        database,
        journal,
        conversations,
        corrections,
        "claude",
        SESSION_FILES,
        interval_s=3600.0,
    )

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.watch, [tmp_path])
            while not current_default_thread_limiter().borrowed_tokens:
                await checkpoint()
            tasks.cancel_scope.cancel()
