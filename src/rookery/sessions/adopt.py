"""Adds sessions for agents that Rookery did not start."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection
from uuid import uuid4

from rookery.model.facts import SessionId
from rookery.model.names import distinct, name_from
from rookery.model.sessions import HEADLESS, NativeId, Session
from rookery.store import sessions
from rookery.store.journal import Journal
from rookery.store.session_lookup import TakenNames

#: Characters of a native id that serve as a label where there is no better one.
LABEL_CHARACTERS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What is known of an agent when it is first seen."""

    agent: str
    native_id: NativeId
    folder: str  #: as ``real_folder`` returns it
    origin: str  #: how it was found
    process: str | None = None
    label: str = ""
    parent: SessionId | None = None
    continues: Session | None = None  #: the ended session whose conversation it resumes
    at: datetime | None = None  #: when it was seen, if earlier than now


def real_folder(folder: str) -> str:
    """Return the path of a folder without links; empty if it is relative. Reads the disk.

    The same folder has many names: links, a trailing slash. A relative one depends on a folder
    that the daemon does not know.
    """
    is_whole = os.path.isabs(folder)  # noqa: PTH117 - text from another program
    return os.path.realpath(folder) if is_whole else ""


def adopt_session(db: Connection, journal: Journal, arrival: Arrival) -> SessionId:
    """Add a session row. Facts report its activity."""
    now = arrival.at or journal.clock.now()
    title = os.path.basename(arrival.folder)  # noqa: PTH119 - text from another program, not a path
    # Rules may name the session, so a resumed conversation keeps its name.
    name = arrival.continues.name if arrival.continues else name_from(title)
    session = Session(
        id=SessionId(str(uuid4())),
        name=distinct(name, TakenNames(db)),
        agent=arrival.agent,
        runtime=HEADLESS,  # until discovery finds its pane
        computer=journal.computer,
        title=title,
        label=arrival.label or arrival.native_id[:LABEL_CHARACTERS],
        native_id=arrival.native_id,
        project_path=arrival.folder,
        parent=arrival.parent,
        continues=arrival.continues.id if arrival.continues else None,
        process=arrival.process,
        owner=arrival.origin,
        origin=arrival.origin,
        last_input_origin=arrival.origin,
        since=now,
        created_at=now,
        last_activity_at=now,
    )
    sessions.add(db, session)
    return session.id
