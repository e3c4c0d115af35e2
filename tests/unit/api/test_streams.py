"""A stream or a long poll ends when its caller may no longer read what it is about."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypeVar, cast

import anyio
import pytest
from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.types import Message

from rookery.api.events import RecentEvents
from rookery.api.http import build_app
from rookery.api.streams import follow_events, follow_screen
from rookery.coordination import relays
from rookery.model.errors import Forbidden, TokenRevoked
from rookery.model.facts import SessionId, TurnEnded, TurnStarted
from rookery.model.relays import RelayLimits
from rookery.model.scopes import Identity, Scope
from rookery.sessions import record_end
from rookery.store import tokens
from rookery.store.database import Work
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import FakeRuntime
from tests.support.operations import Desk

pytestmark = [pytest.mark.anyio, pytest.mark.spec("K5")]

T = TypeVar("T")

LIMITS = RelayLimits(hops=8, a_minute=20, length=12_000)

#: Seconds within which what must happen has happened, also on a busy computer.
SOON = 30


class Screens(FakeRuntime):
    """Shows the frames that a test draws."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: asyncio.Queue[str] = asyncio.Queue()

    async def screens(self, session: SessionId) -> AsyncIterator[tuple[str, ...]]:
        while True:
            yield (await self.frames.get(),)


class Scene:
    """Anna, her child, and Bert, a stranger."""

    def __init__(self, desk: Desk, screens: Screens) -> None:
        self.desk, self.screens, self.database = desk, screens, desk.database
        self.relay = ""
        self.badge: Identity | None = None

    async def begin(self) -> None:
        anna = await self.desk.settle("anna")
        await self.desk.settle("child", parent=anna)
        await self.desk.settle("bert")
        give = partial(tokens.give_badge, session=anna, at=self.desk.journal.clock.now())
        digest = tokens.digest(await self.database.write(give))
        self.badge = Identity(Scope.SESSION, "unix", anna, digest)

    @property
    def anna(self) -> Identity:
        assert self.badge
        return self.badge

    async def let_talk(self, *members: str) -> None:
        wanted = [(SessionId(each), "") for each in members]

        def create(db: Connection) -> str:
            journal = self.desk.journal
            return relays.create(db, journal, wanted, by="person", limits=LIMITS).id

        self.relay = await self.database.write(create)

    async def close_relay(self) -> None:
        await self.desk.ask("relay_close", relay=self.relay)

    async def end(self, session: str) -> None:
        def end(db: Connection) -> None:
            journal = self.desk.journal
            record_end.end(
                db, journal, SessionId(session), outcome="killed", reason="by a test"
            )

        await self.database.write(end)

    def request(self, **path: str) -> Request:
        scope = {"type": "http", "path_params": path, "identity": self.anna}
        return Request({**scope, "headers": [], "query_string": b""})

    async def frames_of(self, session: str) -> AsyncIterator[bytes]:
        request = self.request(session=session)
        return _body(
            await follow_screen(self.desk.context, RecentEvents(self.database), request)
        )

    async def events(self) -> AsyncIterator[bytes]:
        request = self.request()
        return _body(
            await follow_events(self.desk.context, RecentEvents(self.database), request)
        )


def _body(response: object) -> AsyncIterator[bytes]:
    return cast("AsyncIterator[bytes]", cast("EventSourceResponse", response).body_iterator)


@pytest.fixture
async def scene(database: ObservedDatabase, clock: FakeClock) -> Scene:
    screens = Screens()
    journal = Journal("here", clock, readers={"relays": relays.READER})
    await journal.catch_up(database)
    found = Scene(Desk(database, journal, runtime=screens), screens)
    await found.begin()
    return found


async def rest_of(stream: AsyncIterator[bytes]) -> list[bytes]:
    """Return what a stream still tells before it ends."""
    with anyio.fail_after(SOON):
        return [each async for each in stream]


@pytest.mark.spec("F1", "I4")
async def test_frames_end_when_the_relay_that_gave_reach_is_closed(scene: Scene) -> None:
    await scene.let_talk("anna", "bert")
    frames = await scene.frames_of("bert")
    scene.screens.frames.put_nowait("seen")
    first = await anext(frames)

    await scene.close_relay()

    assert b"seen" in first
    assert await rest_of(frames) == []


@pytest.mark.spec("F1", "I4")
async def test_no_frame_is_shown_after_reach_was_lost(scene: Scene) -> None:
    await scene.let_talk("anna", "bert")
    frames = await scene.frames_of("bert")
    scene.screens.frames.put_nowait("seen")
    await anext(frames)

    def close_unnoticed(db: Connection) -> None:
        db.execute("update relay_members set left_at = 'now'")

    await scene.database.write(close_unnoticed)
    scene.screens.frames.put_nowait("secret")

    assert await rest_of(frames) == []


@pytest.mark.spec("F1", "I4")
async def test_frames_of_a_relay_peer_end_when_the_pair_is_over(scene: Scene) -> None:
    await scene.let_talk("anna", "bert", "child")
    frames = await scene.frames_of("bert")
    scene.screens.frames.put_nowait("seen")
    await anext(frames)
    await scene.end("child")
    scene.screens.frames.put_nowait("two are enough")
    second = await anext(frames)

    await scene.end("bert")

    assert b"two are enough" in second
    assert await rest_of(frames) == []


@pytest.mark.spec("I4")
async def test_frames_end_when_the_family_is_one_no_more(scene: Scene) -> None:
    grandchild = await scene.desk.settle("grandchild", parent=SessionId("child"))
    frames = await scene.frames_of(grandchild)
    scene.screens.frames.put_nowait("seen")
    await anext(frames)

    def part(db: Connection) -> None:
        db.execute("update sessions set parent = null where id = 'child'")

    await scene.database.write(part)
    scene.screens.frames.put_nowait("secret")

    assert await rest_of(frames) == []


@pytest.mark.spec("I4")
async def test_frames_end_with_the_session_whose_badge_was_shown(scene: Scene) -> None:
    frames = await scene.frames_of("child")
    scene.screens.frames.put_nowait("seen")
    await anext(frames)

    await scene.end("anna")

    assert await rest_of(frames) == []


@pytest.mark.spec("I4")
async def test_events_end_with_the_session_whose_badge_was_shown(scene: Scene) -> None:
    events = await scene.events()
    await anext(events)

    await scene.end("anna")

    assert all(b"session-ended" in each for each in await rest_of(events))


async def poll(scene: Scene, ends: Callable[[], Awaitable[None]]) -> None:
    """Wait for Bert's next turn as Anna, and let something happen meanwhile."""
    async with anyio.create_task_group() as tasks:

        async def meanwhile() -> None:
            await cast("ObservedDatabase", scene.database).rest()
            await ends()

        tasks.start_soon(meanwhile)
        with anyio.fail_after(SOON):
            await scene.desk.ask("turns", session="bert", timeout=600, by=scene.anna)


@pytest.mark.spec("F1")
async def test_a_long_poll_ends_when_the_relay_that_gave_reach_is_closed(scene: Scene) -> None:
    await scene.let_talk("anna", "bert")

    with pytest.RaisesGroup(Forbidden):
        await poll(scene, scene.close_relay)


async def test_a_long_poll_ends_with_the_session_whose_badge_was_shown(scene: Scene) -> None:
    await scene.let_talk("anna", "bert")

    with pytest.RaisesGroup(TokenRevoked):
        await poll(scene, partial(scene.end, "anna"))


class Peeked(ObservedDatabase):
    """Counts how often waiting tasks were woken to ask again."""

    peeks = 0

    async def peek(self, work: Work[T]) -> T:
        self.peeks += 1
        return await super().peek(work)


POLLS = [
    ("turns", {"session": "bert"}),
    ("message", {"message": 1, "until": "input"}),
    ("answer", {"message": 1}),
]


@pytest.mark.spec("I4")
@pytest.mark.parametrize(("operation", "words"), POLLS, ids=[name for name, _ in POLLS])
async def test_a_long_poll_is_not_woken_by_what_happens_to_other_sessions(
    tmp_path: Path, clock: FakeClock, operation: str, words: dict[str, Any]
) -> None:
    async with (
        Peeked(tmp_path / "rookery.db", clock) as database,
        anyio.create_task_group() as tasks,
    ):
        desk = Desk(database, Journal("here", clock, readers={}))
        for name in ("anna", "bert"):
            await desk.settle(name)
        await desk.ask("send", session="bert", words="Go.")
        tasks.start_soon(partial(desk.ask, operation, timeout=600, **words))
        await database.rest()
        before = database.peeks

        def happen(db: Connection) -> None:
            anna = SessionId("anna")
            for _ in range(10):
                desk.journal.append(db, TurnStarted(anna, "go"), TurnEnded(anna))

        await database.write(happen)
        await database.rest()
        woken = database.peeks - before
        tasks.cancel_scope.cancel()

    assert (before, woken) == (1, 0)


@pytest.mark.spec("I4", "K4")
@pytest.mark.parametrize("query", [b"timeout=600", b"until=end&timeout=600"])
async def test_a_client_that_hangs_up_waits_no_longer(scene: Scene, query: bytes) -> None:
    hung_up, sent = anyio.Event(), []
    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if asked:
            return asked.pop()
        await hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    path = "/v1/sessions/bert/" + ("wait" if b"until" in query else "turns")
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query}
    owner = Identity(Scope.OWNER, "unix")
    app = build_app(scene.desk.context)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app, {**scope, "headers": [], "identity": owner}, receive, send)
            await cast("ObservedDatabase", scene.database).rest()
            before = len(sent)
            hung_up.set()

    assert before == 0


async def test_a_long_poll_of_a_peer_is_answered_while_the_relay_is_open(scene: Scene) -> None:
    await scene.let_talk("anna", "bert")

    async def answer() -> None:
        bert, journal = SessionId("bert"), scene.desk.journal
        happened = (TurnStarted(bert, "go"), TurnEnded(bert, "Done."))
        await scene.database.write(lambda db: journal.append(db, *happened))

    await poll(scene, answer)
