from __future__ import annotations

import pytest

from rookery.operations.tracking import Grounds
from rookery.store.journal import Journal
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk, session_caller

pytestmark = [pytest.mark.anyio, pytest.mark.spec("K5")]


async def test_a_session_does_not_learn_which_strangers_continue_its_conversation(
    database: ObservedDatabase, journal: Journal
) -> None:
    desk = Desk(database, journal)
    anna = await desk.settle("anna", transcript_path="/t")
    await desk.settle("child", parent=anna, transcript_path="/t")
    await desk.settle("stranger", transcript_path="/t")

    own: Grounds = await desk.ask("why", by=session_caller(anna), session="anna")
    whole: Grounds = await desk.ask("why", session="anna")

    assert own.shares_with == ["child"]
    assert whole.shares_with == ["child", "stranger"]
