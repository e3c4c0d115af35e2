"""Everything about one session, and the record of what a person has seen of it."""

from __future__ import annotations

from datetime import timedelta
from sqlite3 import Connection

import pytest

from rookery.coordination.overlaps import note_edits
from rookery.model.errors import Forbidden
from rookery.model.facts import (
    SessionId,
    ToolCalled,
    TurnEnded,
    TurnStarted,
)
from rookery.model.overlaps import FileInRepository
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk, session_caller

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I5")]

ANNA, KID = SessionId("anna"), SessionId("kid")


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock) -> Desk:
    desk = Desk(database, Journal("here", clock, readers={}))
    await desk.settle(ANNA)
    return desk


async def answer(desk: Desk, words: str) -> None:
    called = ToolCalled(ANNA, "Bash", "make")
    told = (TurnStarted(ANNA, "Build it."), called, TurnEnded(ANNA, words))
    await desk.database.write(lambda db: desk.journal.append(db, *told))


async def is_unread(desk: Desk) -> bool:
    (session,) = (await desk.ask("list", ids=(ANNA,))).sessions
    return bool(session.is_unread)


async def test_details_name_the_family_and_have_the_last_turn_whole(desk: Desk) -> None:
    await desk.settle(KID, parent=ANNA)
    await desk.settle("later", continues=ANNA)
    await answer(desk, "Built.\nAll of it.")

    details = await desk.ask("details", session="anna")

    assert [each.name for each in details.children] == ["kid"]
    assert [each.name for each in details.continued_by] == ["later"]
    assert (details.turns, details.last.answer) == (1, "Built.\nAll of it.")
    assert details.session.last_answer == "Built."
    assert (await desk.ask("details", session="kid")).parent.name == "anna"


@pytest.mark.spec("L4")
async def test_details_name_a_file_that_another_session_has_changed_too(desk: Desk) -> None:
    await desk.settle(KID)
    file = [FileInRepository("/repo/.git", "src/a.py")]

    def edit(db: Connection) -> None:
        for session in (ANNA, KID):
            note_edits(db, desk.journal, session, file, at=desk.journal.clock.now())

    await desk.database.write(edit)
    own = await desk.ask("details", session="anna")
    for_a_session = await desk.ask("details", by=session_caller(ANNA), session="anna")

    assert own.overlap == "kid also changed src/a.py"
    assert for_a_session.overlap == ""


@pytest.mark.spec("K5")
async def test_a_session_learns_nothing_of_relatives_beyond_its_reach(desk: Desk) -> None:
    await desk.settle("later", continues=ANNA)

    details = await desk.ask("details", by=session_caller(ANNA), session="anna")

    assert details.continued_by == []


async def test_an_answer_is_read_once_its_command_has_reported_it(desk: Desk) -> None:
    await answer(desk, "Built.")
    before = await is_unread(desk)
    details = await desk.ask("details", session="anna")

    await desk.ask("seen", session="anna", until=details.last.ended_at)

    assert (before, await is_unread(desk)) == (True, False)


async def test_reading_alone_does_not_mark_an_answer(desk: Desk) -> None:
    await answer(desk, "Built.")

    for name in ("turns", "show", "details", "why"):
        await desk.ask(name, session="anna")

    assert await is_unread(desk)


async def test_an_answer_that_does_not_exist_yet_cannot_be_marked(
    desk: Desk, clock: FakeClock
) -> None:
    await desk.ask("seen", session="anna", until=clock.now() + timedelta(days=1))
    clock.advance(1)

    await answer(desk, "Built.")

    assert await is_unread(desk)


@pytest.mark.spec("K5")
async def test_a_session_cannot_mark_its_own_answers_as_read(
    desk: Desk, clock: FakeClock
) -> None:
    await answer(desk, "Built.")

    with pytest.raises(Forbidden):
        await desk.ask("seen", by=session_caller(ANNA), session="anna", until=clock.now())


async def test_a_turn_that_the_foreground_has_shown_is_read(desk: Desk) -> None:
    await answer(desk, "Built.")
    details = await desk.ask("details", session="anna")

    await desk.ask("shown", session="anna", seen=details.last.number)

    assert not await is_unread(desk)


async def test_turns_have_their_tool_calls_if_they_are_requested(desk: Desk) -> None:
    await answer(desk, "Built.")

    plain = await desk.ask("turns", session="anna")
    whole = await desk.ask("turns", session="anna", tools=True)

    assert plain.tools == []
    (call,) = whole.tools
    assert (call.turn, call.tool, call.argument) == (whole.turns[0].number, "Bash", "make")


@pytest.mark.spec("C6", "A2")
@pytest.mark.parametrize(
    ("runtime", "lifecycle"),
    [("tmux", "active"), ("observed", "active"), ("acp", "active"), ("headless", "headless")],
)
async def test_only_a_session_of_the_headless_runtime_is_headless_for_other_tools(
    desk: Desk, runtime: str, lifecycle: str
) -> None:
    await desk.settle(KID, runtime=runtime)

    tracked = await desk.ask("track")

    assert {each.name: each.lifecycle for each in tracked.sessions}["kid"] == lifecycle
