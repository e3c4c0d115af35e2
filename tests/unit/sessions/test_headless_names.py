"""Sessions that Rookery did not start: their first prompt, and the name that it gives."""

from __future__ import annotations

from sqlite3 import Connection

import pytest

from rookery.model.facts import PromptFound, SessionId, SessionRenamed, TurnEnded, TurnStarted
from rookery.model.sessions import HEADLESS, OBSERVED, TMUX, Session
from rookery.sessions.headless_names import rename_after_prompt
from rookery.store import sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.operations import Desk
from tests.support.waiting import kinds

pytestmark = [pytest.mark.anyio, pytest.mark.spec("A1")]

AGENT = SessionId("agent")


@pytest.fixture
def desk(database: Database, clock: FakeClock) -> Desk:
    return Desk(database, Journal("here", clock, readers={}))


async def meet(desk: Desk, *, runtime: str = HEADLESS, name: str = "api") -> None:
    """Have a session that was found in a folder called ``api``."""
    await desk.settle(AGENT, runtime=runtime, name=name, title="api")


async def tell(desk: Desk, *told: TurnStarted | PromptFound | TurnEnded) -> Session:
    def write(db: Connection) -> Session:
        for fact in told:
            desk.journal.append(db, fact)
            rename_after_prompt(db, desk.journal, fact)
        return sessions.get(db, AGENT)

    return await desk.database.write(write)


@pytest.mark.parametrize("runtime", [HEADLESS, OBSERVED, TMUX])
async def test_the_first_prompt_that_is_told_is_kept(desk: Desk, runtime: str) -> None:
    await meet(desk, runtime=runtime)

    begun = await tell(desk, TurnStarted(AGENT, "fix the login"), TurnEnded(AGENT))
    later = await tell(desk, TurnStarted(AGENT, "and now the logout"))

    assert begun.first_prompt == later.first_prompt == "fix the login"
    assert later.name == ("fix-login" if runtime == HEADLESS else "api")


async def test_a_prompt_that_only_the_transcript_tells_counts(desk: Desk) -> None:
    await meet(desk)

    seen = await tell(desk, TurnStarted(AGENT, ""))
    told = await tell(desk, PromptFound(AGENT, "fix the login"), TurnEnded(AGENT))

    assert (seen.first_prompt, seen.name) == ("", "api")
    assert (told.first_prompt, told.name) == ("fix the login", "fix-login")


async def test_a_name_is_made_of_a_prompt_once_and_is_free(desk: Desk) -> None:
    await desk.settle("fix-login")
    await meet(desk, name="api-2")

    await tell(desk, TurnStarted(AGENT, "fix the login"), TurnEnded(AGENT))
    session = await tell(desk, TurnStarted(AGENT, "write tests"), TurnEnded(AGENT))

    assert session.name == "fix-login-2"
    assert (await desk.database.read(kinds)).count("session-renamed") == 1


@pytest.mark.parametrize("prompt", ["what is it?", "api"])
async def test_a_prompt_that_says_nothing_new_leaves_the_folders_name(
    desk: Desk, prompt: str
) -> None:
    await meet(desk)

    session = await tell(desk, TurnStarted(AGENT, prompt))

    assert (session.first_prompt, session.name) == (prompt, "api")


async def test_a_name_that_a_person_gave_is_kept(desk: Desk) -> None:
    await meet(desk)
    renamed = SessionRenamed(AGENT, "mine")
    await desk.database.write(lambda db: desk.journal.append(db, renamed))

    session = await tell(desk, TurnStarted(AGENT, "fix the login"))

    assert session.name == "mine"
