"""Tags and hidden sessions."""

from __future__ import annotations

from typing import Any

import pytest

from rookery.model.errors import BadInput, Forbidden
from rookery.model.facts import InputAsked, SessionId
from rookery.model.labels import MAX_TAGS
from rookery.sessions import record_end
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.operations import Desk, session_caller
from tests.support.waiting import kinds

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I5")]

ANN, BERT = SessionId("ann"), SessionId("bert")


@pytest.fixture
async def desk(database: Database, clock: FakeClock) -> Desk:
    desk = Desk(database, Journal("here", clock, readers={}))
    for each in (ANN, BERT):
        await desk.settle(each, "/")
    return desk


async def listed(desk: Desk, **given: Any) -> list[str]:  # noqa: ANN401 - parameters
    return [each.name for each in (await desk.ask("list", **given)).sessions]


async def test_tags_are_added_and_removed_each_once(desk: Desk) -> None:
    first = await desk.ask("tag", session=ANN, add=["ui", "area/x", "ui"])
    second = await desk.ask("tag", session=ANN, add=["new"], remove=["ui", "never"])

    assert first.tags == ("area/x", "ui")
    assert second.tags == ("area/x", "new")
    assert (await desk.session(ANN)).tags == ("area/x", "new")
    assert (await desk.database.read(kinds)).count("session-tagged") == 2


async def test_a_tag_that_changes_nothing_is_no_fact(desk: Desk) -> None:
    await desk.ask("tag", session=ANN, add=["ui"])
    await desk.ask("tag", session=ANN, add=["ui"], remove=["old"])

    assert (await desk.database.read(kinds)).count("session-tagged") == 1


@pytest.mark.parametrize("tag", ["", "-x", "+x", "a b", "a\nb", "x" * 41, "a\x1b", "a,b"])
async def test_a_word_that_is_no_tag_is_refused(desk: Desk, tag: str) -> None:
    with pytest.raises(BadInput, match="is not a valid tag"):
        await desk.ask("tag", session=ANN, add=[tag])
    with pytest.raises(BadInput, match="is not a valid tag"):
        await desk.ask("start", agent="demo", project="/", tags=[tag])


async def test_a_session_has_a_limited_number_of_tags(desk: Desk) -> None:
    await desk.ask("tag", session=ANN, add=[f"t{number}" for number in range(MAX_TAGS)])

    with pytest.raises(BadInput, match="at most"):
        await desk.ask("tag", session=ANN, add=["more"])


async def test_a_session_starts_with_its_tags_and_keeps_them_when_it_is_resumed(
    desk: Desk,
) -> None:
    started = await desk.ask("start", agent="demo", project="/", name="c", tags=["b", "a"])
    await desk.database.write(
        lambda db: record_end.end(
            db, desk.journal, started.id, outcome="completed", reason="done"
        )
    )

    resumed = await desk.ask("resume", session=started.id)

    assert started.tags == resumed.tags == ("a", "b")


async def test_a_list_has_the_sessions_with_all_tags(desk: Desk) -> None:
    await desk.ask("tag", session=ANN, add=["ui", "new"])
    await desk.ask("tag", session=BERT, add=["ui"])

    assert await listed(desk, tags=("ui",)) == ["ann", "bert"]
    assert await listed(desk, tags=("ui", "new")) == ["ann"]
    assert await listed(desk, tags=("other",)) == []


async def test_a_hidden_session_is_listed_only_with_all_by_its_id_or_when_it_asks(
    desk: Desk,
) -> None:
    hidden = await desk.ask("hide", session=ANN)
    await desk.ask("hide", session=ANN)
    without = await listed(desk)
    with_all, by_id = await listed(desk, all=True), await listed(desk, ids=(ANN,))
    asked = InputAsked(ANN, "permission", "May it?")
    await desk.database.write(lambda db: desk.journal.append(db, asked))

    assert hidden.hidden
    assert (without, with_all, by_id) == (["bert"], ["ann", "bert"], ["ann"])
    assert await listed(desk) == ["ann", "bert"]
    assert (await desk.database.read(kinds)).count("session-hidden") == 1


async def test_a_session_that_is_not_hidden_any_more_is_listed(desk: Desk) -> None:
    await desk.ask("hide", session=ANN)

    shown = await desk.ask("unhide", session=ANN)

    assert not shown.hidden
    assert await listed(desk) == ["ann", "bert"]
    assert (await desk.database.read(kinds))[-1] == "session-unhidden"


async def test_labels_of_a_session_that_is_over_can_change(desk: Desk) -> None:
    await desk.database.write(
        lambda db: record_end.end(db, desk.journal, ANN, outcome="completed", reason="done")
    )

    await desk.ask("tag", session=ANN, add=["done"])
    await desk.ask("hide", session=ANN)

    ann = await desk.session(ANN)
    assert (ann.tags, ann.hidden, ann.status) == (("done",), True, "completed")


@pytest.mark.spec("K5")
@pytest.mark.parametrize("operation", ["tag", "hide", "unhide"])
async def test_no_session_changes_labels(desk: Desk, operation: str) -> None:
    with pytest.raises(Forbidden):
        await desk.ask(operation, by=session_caller(ANN), session=ANN)
