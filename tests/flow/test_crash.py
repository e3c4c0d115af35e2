"""The daemon dies at every commit and around every call of the runtime, and comes back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from sqlite3 import Connection

import anyio
import pytest

from rookery.model.errors import CommitFailed
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Status
from rookery.model.messages import MessageId
from rookery.model.sessions import Session
from rookery.store import sessions
from tests.support.daemon import House, World, running
from tests.support.fakes.connection import connection
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.fate import Fate, Killed
from tests.support.fakes.runtime import Manner
from tests.support.waiting import all_is_said, kinds, steps

pytestmark = pytest.mark.anyio

WORDS = "Build it."


class Story:
    """Something that is asked of the daemon. It can be taken up anywhere."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "rookery.db"
        self.world = World(folder)

    async def begin(self) -> None:
        """Do what comes before; nobody dies of it."""

    async def ask(self, context: House) -> None:
        """As an honest client does that got no answer: it looks before it asks again."""
        raise NotImplementedError

    def is_recorded(self, db: Connection) -> bool:
        """Whether all that was asked for has come to an end."""
        raise NotImplementedError

    def check(self, db: Connection) -> None:
        """See that nothing was lost, done twice or misreported."""
        raise NotImplementedError

    async def go_on(self, fate: Fate) -> None:
        mortal = connection(before_commit=fate.moment, after_commit=fate.moment)
        self.world.runtime.moment = fate.moment
        told = anyio.Event()
        async with (
            ObservedDatabase(self.path, self.world.clock, connection=mortal) as database,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(self._let_time_pass, database, fate, told)
            async with running(database, self.world) as context:
                await self.ask(context)
                with anyio.fail_after(5):
                    await told.wait()
            tasks.cancel_scope.cancel()

    async def _let_time_pass(
        self, database: ObservedDatabase, fate: Fate, told: anyio.Event
    ) -> None:
        while True:
            await database.rest()
            fate.mourn()
            if await database.read(self.is_recorded):
                told.set()
            self.world.clock.skip()


class Start(Story):
    """A person starts a session with a prompt."""

    async def ask(self, context: House) -> None:
        if not await context.database.read(everyone):
            await context.accept(self.world.plan(WORDS))

    def is_recorded(self, db: Connection) -> bool:
        return bool(everyone(db)) and all_is_said(db)

    def check(self, db: Connection) -> None:
        (session,) = everyone(db)
        assert (session.status, session.activity) == ("running", "idle")
        assert [launch.session for launch in self.world.runtime.started] == [session.id]
        assert kinds(db).count("session-started") == 1
        check_words(db, self.world, session.id)


class Send(Story):
    """A person sends words to a session that is idle."""

    agent = "demo"

    async def begin(self) -> None:
        async with (
            ObservedDatabase(self.path, self.world.clock) as database,
            running(database, self.world) as it,
        ):
            self.worker = await it.start(agent=self.agent)

    async def ask(self, context: House) -> None:
        if not await context.database.read(steps):
            await context.send(self.worker, WORDS)

    def is_recorded(self, db: Connection) -> bool:
        return bool(steps(db)) and all_is_said(db)

    def check(self, db: Connection) -> None:
        (session,) = everyone(db)
        assert (session.status, session.activity) == ("running", "idle")
        assert kinds(db).count("turn-ended") == 1
        check_words(db, self.world, self.worker)


class SendAndWithdraw(Send):
    """A person sends words to an idle session, and takes them back at once."""

    async def ask(self, context: House) -> None:
        await super().ask(context)
        (message,) = await context.database.read(numbers)
        await context.withdraw(message)

    def check(self, db: Connection) -> None:
        if kinds(db).count("message-withdrawn"):
            assert (self.world.runtime.pasted, steps(db)) == ([], ["failed"])
            assert kinds(db).count("message-withdrawn") == 1
        else:
            check_words(db, self.world, self.worker)


class End(Send):
    """A person ends a session that answers to SIGTERM only."""

    async def begin(self) -> None:
        self.world.runtime.manner = Manner(ignores=frozenset({"quit"}))
        await super().begin()

    async def ask(self, context: House) -> None:
        await context.end(self.worker)

    def is_recorded(self, db: Connection) -> bool:
        return sessions.get(db, self.worker).status.is_over and not sessions.has_runtime(
            db, self.worker
        )

    def check(self, db: Connection) -> None:
        (session,) = everyone(db)
        assert (session.status, session.ended_by) == (Status.KILLED, "person")
        assert kinds(db).count("session-ended") == kinds(db).count("end-requested") == 1
        assert self.world.runtime.programs == {}


class SendToShell(Send):
    """A person sends words to a program that never says whether it got them."""

    agent = "shell"

    def check(self, db: Connection) -> None:
        (session,) = everyone(db)
        assert (session.status, session.activity) == ("running", "working")
        assert kinds(db).count("turn-started") == 1
        check_words(db, self.world, self.worker)


class EndAtOnce(Start):
    """A person starts a session, and ends it before it is up."""

    async def begin(self) -> None:
        self.world.runtime.manner = Manner(comes_up=False)

    async def ask(self, context: House) -> None:
        launched = anyio.Event()
        self.world.runtime.on_start = lambda session, program: launched.set()
        await super().ask(context)
        (session,) = await context.database.read(everyone)
        if session.status is Status.STARTING and not self.world.runtime.programs:
            with anyio.fail_after(5):
                await launched.wait()
        await context.end(session.id)

    def is_recorded(self, db: Connection) -> bool:
        return any(
            each.status.is_over and not sessions.has_runtime(db, each.id)
            for each in everyone(db)
        )

    def check(self, db: Connection) -> None:
        (session,) = everyone(db)
        assert (session.status, session.ended_by) == (Status.KILLED, "person")
        assert self.world.runtime.programs == {}
        assert len(self.world.runtime.pasted) <= 1
        assert all_is_said(db)


def numbers(db: Connection) -> list[MessageId]:
    return [MessageId(row["id"]) for row in db.execute("select id from messages")]


def everyone(db: Connection) -> list[Session]:
    return [sessions.read_session(row) for row in db.execute("select * from sessions")]


def check_words(db: Connection, world: World, session: SessionId) -> None:
    assert world.runtime.pasted == [(session, WORDS)], "never pasted, or twice"
    assert world.runtime.heard == [(session, WORDS)], "never heard, or twice"
    assert steps(db) == ["acknowledged"]


@pytest.mark.spec("A3", "A4", "A7", "B2", "K3")
@pytest.mark.parametrize("story", [Start, Send, SendAndWithdraw, SendToShell, End, EndAtOnce])
async def test_nothing_is_lost_done_twice_or_misreported(
    tmp_path: Path, story: type[Story]
) -> None:
    whole = Fate()
    await tell(story(tmp_path / "whole"), [whole])
    assert whole.moments > 15

    for moment in range(whole.moments):
        lives = [Fate(moment), Fate(moment % 7), Fate()]
        await tell(story(tmp_path / str(moment)), lives)


async def tell(story: Story, lives: Sequence[Fate]) -> None:
    await story.begin()
    for fate in lives:
        try:
            await story.go_on(fate)
            break
        except* (Killed, CommitFailed):
            pass
    async with ObservedDatabase(story.path, story.world.clock) as database:
        await database.read(story.check)
