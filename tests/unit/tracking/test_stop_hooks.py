"""Turns that no hook reports before the agent stops, as after a shell command by hand."""

from __future__ import annotations

from sqlite3 import Connection

import pytest

from rookery.model.facts import (
    Fact,
    PromptFound,
    SessionId,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from rookery.store import sessions
from rookery.store.journal import Journal
from rookery.tracking import stop_hooks
from tests.support.fakes.database import ObservedDatabase
from tests.support.rows import make

pytestmark = [pytest.mark.anyio, pytest.mark.spec("A2", "C2")]

S = SessionId("s1")
STOP = TurnEnded(S, "You are here.", turn="t2")
BEGAN = TurnStarted(S, "! pwd", turn="t2")
FOUND = PromptFound(S, "! pwd")
EARLIER = (TurnStarted(S, "Go.", turn="t1"), TurnEnded(S, "Done.", turn="t1"))


@pytest.mark.parametrize(
    ("before", "prompt", "told"),
    [
        (EARLIER, "! pwd", [BEGAN, STOP]),
        ((*EARLIER, TurnStarted(S, "")), "! pwd", [FOUND, STOP]),
        ((*EARLIER, TurnStarted(S, "Where?", turn="t2")), "! pwd", [STOP]),
        ((*EARLIER, BEGAN, STOP), "! pwd", [STOP]),
        (EARLIER, "", [STOP]),
    ],
    ids=["unseen", "seen without its prompt", "reported", "late", "no prompt"],
)
async def test_a_stop_completes_a_turn_whose_prompt_no_hook_has_reported(
    database: ObservedDatabase,
    journal: Journal,
    before: tuple[Fact, ...],
    prompt: str,
    told: list[Fact],
) -> None:
    def add(db: Connection) -> None:
        sessions.add(db, make(journal, S))
        journal.append(db, SessionStarted(S), *before)

    def complete(db: Connection) -> list[Fact]:
        return list(stop_hooks.with_unseen_prompt(db, [STOP], prompt))

    await database.write(add)

    assert await database.read(complete) == told
