"""Name headless sessions after their first prompt; until then they are named by folder."""

from __future__ import annotations

import re
from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import Fact, PromptFound, SessionRenamed, TurnStarted
from rookery.model.names import NAMELESS, distinct, name_from
from rookery.model.sessions import Session
from rookery.store import sessions, turns
from rookery.store.journal import Journal
from rookery.store.session_lookup import TakenNames


def rename_after_prompt(
    db: Connection, journal: Journal, fact: Fact, *, at: datetime | None = None
) -> None:
    """Rename the session whose first prompt a fact reports, if it is named by folder.

    Call this after the fact is recorded: only then the session's row has the first prompt.
    """
    if not isinstance(fact, TurnStarted | PromptFound) or not fact.prompt:
        return
    session = sessions.get(db, fact.session)
    if not session.is_headless or session.status.is_over:
        return
    name = name_from(fact.prompt)
    if name in {NAMELESS, name_from(session.title)} or not _is_named_by_folder(session):
        return
    if _is_first(db, session, fact.prompt):
        renamed = SessionRenamed(session.id, distinct(name, TakenNames(db)))
        journal.append(db, renamed, at=at)


def _is_named_by_folder(session: Session) -> bool:
    """Return whether the name comes from the folder and not from a continued session."""
    by_folder = re.escape(name_from(session.title))
    is_named_so = re.fullmatch(rf"{by_folder}(?:-\d+)?", session.name) is not None
    return is_named_so and not session.continues


def _is_first(db: Connection, session: Session, prompt: str) -> bool:
    """Return whether this is the prompt of the session's only turn that has one.

    The report of a background task begins a turn as well, but is no prompt.
    """
    prompts = [each for each in turns.of_session(db, session.id, last=2) if each.prompt]
    is_kept = bool(session.first_prompt) and prompt.startswith(session.first_prompt)
    return is_kept and len(prompts) == 1
