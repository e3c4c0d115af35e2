"""Which sessions are offered to be resumed after the daemon, tmux or the computer died."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from sqlite3 import Connection
from typing import Any
from uuid import uuid4

import pytest

from rookery.model.errors import Forbidden
from rookery.model.facts import (
    EndRequested,
    Outcome,
    SessionId,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from rookery.model.sessions import NativeId
from rookery.operations.lost_sessions import LostSessions
from rookery.operations.session_details import SessionDetails
from rookery.sessions import labels, record_end
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.operations import Desk, session_caller

pytestmark = [pytest.mark.anyio, pytest.mark.spec("A10")]


@pytest.fixture
async def desk(database: Database, clock: FakeClock) -> Desk:
    return Desk(database, Journal("here", clock, readers={}))


async def talk(desk: Desk, name: str, **more: object) -> SessionId:
    """Add a session that has had a turn."""
    session = await desk.settle(name, "/", native_id=NativeId(str(uuid4())), **more)
    said = (SessionStarted(session), TurnStarted(session, "go"), TurnEnded(session, "done"))
    await desk.database.write(lambda db: desk.journal.append(db, *said))
    return session


async def end(
    desk: Desk, session: SessionId, *, outcome: Outcome = "failed", lost: bool = True
) -> None:
    record = partial(record_end.end, outcome=outcome, reason="gone", lost=lost)
    await desk.database.write(lambda db: record(db, desk.journal, session))


async def lost(desk: Desk, **given: Any) -> dict[str, str]:  # noqa: ANN401 - parameters
    """Return why each lost session cannot be resumed, by its name."""
    listed: LostSessions = await desk.ask("lost", **given)
    return {each.session.name: each.obstacle for each in listed.sessions}


async def counted(desk: Desk) -> tuple[int, int]:
    return (await desk.ask("list")).lost, (await desk.ask("status")).lost


async def test_lost_sessions_are_listed_and_counted_until_they_are_resumed(desk: Desk) -> None:
    ann, bert = await talk(desk, "ann"), await talk(desk, "bert")
    await end(desk, ann)
    await end(desk, bert)
    before, count = await lost(desk), await counted(desk)

    resumed = await desk.ask("resume", session=ann)

    assert (before, count) == ({"ann": "", "bert": ""}, (2, 2))
    assert resumed.name == "ann"
    assert (await lost(desk), await counted(desk)) == ({"bert": ""}, (1, 1))


@pytest.mark.parametrize("is_cut", [True, False])
async def test_a_resumed_session_shows_until_its_next_turn_which_turn_was_cut_off(
    desk: Desk, *, is_cut: bool
) -> None:
    ann = await talk(desk, "ann")
    begun = TurnStarted(ann, "fix it\nall")
    if is_cut:
        await desk.database.write(lambda db: desk.journal.append(db, begun))
    await end(desk, ann)
    resumed = await desk.ask("resume", session=ann)

    async def cut_off() -> str:
        details: SessionDetails = await desk.ask("details", session=resumed.id)
        return details.session.cut_off

    before = await cut_off()
    next_turn = (SessionStarted(resumed.id), TurnStarted(resumed.id, "go on"))
    await desk.database.write(lambda db: desk.journal.append(db, *next_turn))

    assert (before, await cut_off()) == ("fix it" if is_cut else "", "")


async def test_a_branch_does_not_replace_a_lost_session(desk: Desk) -> None:
    ann = await talk(desk, "ann", agent="claude")
    await desk.ask("resume", session=ann, fork=True, name="branch")

    await end(desk, ann)

    assert await lost(desk) == {"ann": ""}


async def test_a_conversation_that_lives_elsewhere_is_not_lost(desk: Desk) -> None:
    ann = await talk(desk, "ann")
    native_id = (await desk.session(ann)).native_id
    await end(desk, ann)

    await desk.settle("by-hand", native_id=native_id, runtime="observed")

    assert await lost(desk) == {}


async def test_sessions_that_cannot_be_resumed_are_named_and_not_counted(desk: Desk) -> None:
    await end(desk, await desk.settle("fresh", native_id=NativeId(str(uuid4()))))
    await end(desk, await talk(desk, "repl", agent="shell"))
    odd = await talk(desk, "odd")
    await desk.database.write(
        lambda db: db.execute("update sessions set native_id = null where id = ?", (odd,))
    )
    await end(desk, odd)

    assert await lost(desk) == {
        "fresh": "it had no turn yet",
        "repl": "shell cannot continue a conversation",
        "odd": "demo did not report its conversation",
    }
    assert await counted(desk) == (0, 0)


async def test_a_session_that_was_asked_to_end_is_not_lost(desk: Desk) -> None:
    ann = await talk(desk, "ann")
    await desk.database.write(lambda db: desk.journal.append(db, EndRequested(ann, "person")))

    await end(desk, ann)

    assert await lost(desk) == await lost(desk, all=True) == {}


async def test_all_includes_failures_and_inactive_ones_but_no_wished_ends(desk: Desk) -> None:
    crashed, expired = await talk(desk, "crashed"), await talk(desk, "expired")
    quit_, ended = await talk(desk, "quit"), await talk(desk, "ended")
    asked = (EndRequested(expired, "idle"), EndRequested(ended, "person"))
    await desk.database.write(lambda db: desk.journal.append(db, *asked))
    for each in (crashed, expired, ended):
        await end(desk, each, lost=False)
    await end(desk, quit_, outcome="completed", lost=False)

    assert await lost(desk) == {}
    assert await lost(desk, all=True) == {"crashed": "", "expired": ""}
    assert await counted(desk) == (0, 0)


async def test_a_session_that_is_not_rookerys_is_not_offered(desk: Desk) -> None:
    await end(desk, await talk(desk, "theirs", runtime="observed"))

    assert await lost(desk, all=True) == {}


@pytest.mark.parametrize(
    ("given", "passed", "found"),
    [
        ({}, timedelta(days=6), True),
        ({}, timedelta(days=8), False),
        ({"all": True}, timedelta(hours=23), True),
        ({"all": True}, timedelta(hours=25), False),
        ({"all": True, "hours": 48}, timedelta(hours=25), True),
        ({"hours": 1}, timedelta(hours=2), False),
    ],
)
async def test_sessions_are_offered_for_a_time(
    desk: Desk, clock: FakeClock, given: dict[str, object], passed: timedelta, *, found: bool
) -> None:
    await end(desk, await talk(desk, "ann"))

    clock.advance(passed.total_seconds())

    assert bool(await lost(desk, **given)) is found


async def test_a_lost_session_is_shown_until_a_person_hides_it(desk: Desk) -> None:
    ann = await talk(desk, "ann")

    def hide(db: Connection) -> None:
        labels.hide(db, desk.journal, ann)

    await desk.database.write(hide)
    await end(desk, ann)
    offered = await lost(desk)
    await desk.database.write(hide)

    assert offered == {"ann": ""}
    assert await lost(desk) == {}


@pytest.mark.spec("K5")
async def test_sessions_do_not_list_what_was_lost(desk: Desk) -> None:
    boss = await desk.settle("boss")
    await end(desk, await talk(desk, "ann"))

    with pytest.raises(Forbidden):
        await desk.ask("lost", by=session_caller(boss))
    assert (await desk.ask("list", by=session_caller(boss))).lost == 0
