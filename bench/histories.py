"""Write the database and the spool of a Rookery that was used for a long time, quickly."""

from __future__ import annotations

import json
import os
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from time import time_ns

from rookery.store.connections import open_file
from rookery.store.migrations import migrate

#: A session has 100 entries, 20 turns of 5 entries each, as many messages, and 60 hook calls.
#: All sessions have ended, and nothing is old enough to be deleted.
_NUMBERS = """
    create temp table numbers as with recursive n (i) as
        (select 0 union all select i + 1 from n where i < :entries - 1) select i from n
"""

_ENTRIES = """
    insert into entries (at, session, kind, body)
    select :now, id(i / 100), kind, json_object('session', id(i / 100), field, :words)
    from numbers join (
        select 0 as at, 'message-written' as kind, 'sender' as field
        union all values (1, 'turn-started', 'prompt'), (2, 'tool-used', 'tool'),
            (3, 'tool-used', 'tool'), (4, 'turn-ended', 'last_words')
    ) on at = i % 5 order by i
"""

_SESSIONS = """
    insert into sessions (id, name, agent, runtime, computer, status, since, owner, native_id,
        tmux_session, project_path, created_at, started_at, last_activity_at, ended_at)
    select id(i), 'session-' || i, 'demo', 'tmux', 'here', 'completed', :now, 'person', id(i),
        'rk_' || substr(id(i), 1, 8), '/', :now, :now, :now, :now
    from numbers where i < :entries / 100
"""

_TURNS = """
    insert into turns (session, started_by, prompt, answer, how, started_at, ended_at, parcel)
    select id(i / 20), i * 5 + 2, :words, :words, 'finished', :now, :now, i + 1
    from numbers where i < :entries / 5
"""

_MESSAGES = """
    insert into messages (id, recipient, words, author, cause, written_at, step, parcel,
        taken_up, acknowledged_by)
    select i + 1, id(i / 20), :words, 'person', i * 5 + 1, :now, 'acknowledged', i + 1,
        :now, i * 5 + 2
    from numbers where i < :entries / 5
"""

_HOOKS = """
    insert into hooks (key, at) select printf('%020d-%016x', i, i), :now
    from numbers where i < :entries / 5 * 3
"""


def write_history(path: Path, entries: int) -> None:
    """Write a database with ``entries`` entries, and their sessions, turns and hook calls."""
    values = {
        "entries": entries,
        "now": datetime.now(UTC).isoformat(),
        "words": "Build it, and then say in a sentence or two what was built, and how.",
    }
    with closing(open_file(path)) as db:
        migrate(db)
        db.create_function("id", 1, _session, deterministic=True)
        db.execute("pragma foreign_keys = off")
        db.execute("pragma synchronous = off")
        db.execute("begin")
        for statement in (_NUMBERS, _ENTRIES, _SESSIONS, _TURNS, _MESSAGES, _HOOKS):
            db.execute(statement, values)
        db.execute("commit")
    _flush(path)


def revive(path: Path) -> None:
    """Turn the sessions of a history into live ones, each in a folder of its own."""
    with closing(open_file(path)) as db:
        db.execute(
            "update sessions set status = 'running', activity = 'idle', ended_at = null,"
            " runtime = 'headless', tmux_session = null, project_path = '/code/' || name"
        )
    _flush(path)


def _flush(path: Path) -> None:
    """Flush the file to disk; otherwise the first measured start would wait for it."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_spool(folder: Path, calls: int) -> None:
    """Write hook calls of ten agents, as the hook program does while no daemon runs."""
    began = time_ns()
    for number in range(calls):
        told = {"session_id": f"spooled-{number % 10}", "cwd": "/"}
        payload = json.dumps({**told, "hook_event_name": "Notification", "message": "spooled"})
        key = f"{began + number:020d}-{number:016x}"
        call = f"{key} demo {len(payload)} - - 1 -\n{payload}"
        (folder / key).write_text(call, encoding="utf-8")


def _session(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"
