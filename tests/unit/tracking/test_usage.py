from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import anyio
import pytest

from rookery.config import Price
from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.sessions import NativeId, Session
from rookery.ports.transcript import Usage
from rookery.store import evidence, retention, sessions, transcripts, turns
from rookery.store.journal import Journal
from rookery.store.transcripts import Progress
from rookery.tracking.transcript_files import MAX_FILE_BYTES
from rookery.tracking.usage import READER, REREAD_S, SETTLE_S, UsageReader
from rookery.tracking.usage_files import MAX_SLICE_BYTES, REMEMBERED_RESPONSES, count
from tests.support.daemon import passing_time
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.rows import make
from tests.support.waiting import until

S, T = SessionId("s"), SessionId("t")
NATIVE = NativeId("11111111-2222-3333-4444-555555555555")
NOW = datetime(2026, 11, 1, tzinfo=UTC)
MODEL = "claude-opus-5-5"


def line(name: str, at: datetime, *, fresh: int = 0, out: int = 0, **more: int) -> bytes:
    """Write what Claude writes of a response."""
    usage = {"input_tokens": fresh, "output_tokens": out, **more}
    message = {"id": name, "model": MODEL, "usage": usage}
    said = {"type": "assistant", "timestamp": at.isoformat(), "message": message}
    return json.dumps(said).encode() + b"\n"


@pytest.fixture
def session(journal: Journal) -> Session:
    return make(journal, S, agent="claude", native_id=NATIVE)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def used(found: list[Usage]) -> tuple[int, int]:
    return sum(each.tokens.input for each in found), sum(each.tokens.output for each in found)


@pytest.mark.spec("G6")
def test_a_response_that_is_written_down_several_times_counts_once(session: Session) -> None:
    first, more = count(
        session,
        Progress("x", NOW),
        [line("m", at(1), fresh=100, out=1), line("m", at(1), fresh=100, out=20)],
    )
    _, later = count(session, first, [line("m", at(2), fresh=100, out=25)])

    assert used(more) == (100, 20)
    assert used(later) == (0, 5)


@pytest.mark.spec("G6")
def test_what_was_used_before_a_session_was_made_or_after_it_ended_is_anothers(
    session: Session,
) -> None:
    ended = replace(session, ended_at=at(10))
    lines = [line(f"m{each}", at(each), fresh=1) for each in (-1, 0, 1, 10, 11)]

    _, more = count(ended, Progress("x", NOW), lines)

    assert [each.id for each in more] == ["m1", "m10"]


def test_only_so_much_is_remembered_of_a_file(session: Session) -> None:
    lines = [line(f"m{each}", at(1), fresh=1) for each in range(REMEMBERED_RESPONSES + 10)]

    progress, more = count(session, Progress("x", NOW), lines)

    assert used(more) == (REMEMBERED_RESPONSES + 10, 0)
    assert list(progress.seen) == [f"m{each}" for each in range(10, REMEMBERED_RESPONSES + 10)]


# What is read, and when.


class Desk:
    """A session of Claude, its transcript, and who reads it."""

    def __init__(self, database: ObservedDatabase, clock: FakeClock, folder: Path) -> None:
        self.database, self.clock = database, clock
        self.journal = Journal("here", clock, {"transcripts": READER})
        self.file = folder / f"{NATIVE}.jsonl"
        self.prices: dict[str, Price] = {}

    async def open(self) -> None:
        await self.journal.catch_up(self.database)
        await self.start(S)

    async def start(self, session: SessionId, **known: Any) -> None:  # noqa: ANN401 - its fields
        usual = {"agent": "claude", "native_id": NATIVE, "model": MODEL}
        made = make(self.journal, session, **{**usual, **known})

        def add(db: Connection) -> None:
            sessions.add(db, made)
            self.journal.append(db, facts.SessionStarted(session, "", str(self.file)))

        await self.database.write(add)

    async def tell(self, *told: Fact) -> None:
        def tell(db: Connection) -> None:
            self.journal.append(db, *told)

        await self.database.write(tell)

    def write(self, name: str, **used: int) -> None:
        self.write_to(self.file, name, **used)

    def write_to(self, file: Path, name: str, **used: int) -> None:
        """Have Claude write down a response of this moment."""
        with file.open("ab") as transcript:
            transcript.write(line(name, self.clock.now(), **used))

    async def turn(self, name: str, **used: int) -> None:
        """Have a turn run, in which there is one response."""
        self.clock.advance(1)
        await self.tell(facts.TurnStarted(S, name))
        self.clock.advance(1)
        self.write(name, **used)
        await self.tell(facts.TurnEnded(S))

    async def read(self, session: SessionId = S, *, slice_bytes: int = MAX_SLICE_BYTES) -> None:
        reader = UsageReader(self.database, self.journal, self.prices, slice_bytes)
        with anyio.fail_after(10):
            async with passing_time(self.database, self.clock):
                while await reader.catch_up(session):
                    pass

    async def used(self, session: SessionId = S) -> tuple[int, int]:
        known = await self.database.read(partial(sessions.get, session=session))
        return known.input_tokens, known.output_tokens

    async def progress(self) -> list[Progress]:
        return await self.database.read(partial(transcripts.of_session, session=S))


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock, tmp_path: Path) -> Desk:
    desk = Desk(database, clock, tmp_path)
    await desk.open()
    return desk


@pytest.mark.anyio
@pytest.mark.spec("G6")
async def test_what_is_written_down_late_is_counted_all_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.turn("one", fresh=10)

    async def pause(seconds: float) -> None:
        if seconds == REREAD_S:
            desk.write("late", fresh=5)

    monkeypatch.setattr(desk.clock, "sleep", pause)
    reader = UsageReader(desk.database, desk.journal, {})

    assert await reader.catch_up(S)
    assert await desk.used() == (15, 0)
    assert not await reader.catch_up(S)


@pytest.mark.anyio
@pytest.mark.spec("G6", "A11")
async def test_what_a_turn_used_is_added_to_it_and_to_its_session(desk: Desk) -> None:
    await desk.turn("one", fresh=10, out=1, cache_read_input_tokens=100)
    await desk.turn("two", fresh=20, out=2)

    await desk.read()

    ran = await desk.database.read(partial(turns.of_session, session=S, last=10))
    assert [(each.input_tokens, each.output_tokens) for each in ran] == [(110, 1), (20, 2)]
    assert await desk.used() == (130, 3)


@pytest.mark.anyio
@pytest.mark.spec("G6")
async def test_the_context_is_what_the_last_response_of_the_session_itself_had(
    desk: Desk,
) -> None:
    await desk.turn("one", fresh=300, out=1)
    await desk.turn("two", fresh=10, out=2, cache_read_input_tokens=100)
    of_subagent = json.loads(line("sub", desk.clock.now(), fresh=900, out=1))
    with desk.file.open("a") as file:
        file.write(json.dumps({**of_subagent, "isSidechain": True}) + "\n")
    await desk.read()
    known = await desk.database.read(partial(sessions.get, session=S))

    await desk.tell(facts.ConversationLeft(S, "clear"))

    assert known.context_tokens == 112
    assert (await desk.database.read(partial(sessions.get, session=S))).context_tokens == 0


@pytest.mark.anyio
@pytest.mark.spec("C8")
async def test_when_its_model_last_answered_is_evidence(desk: Desk) -> None:
    await desk.turn("one", fresh=10, out=1)
    await desk.turn("two", fresh=20, out=2)
    answered = desk.clock.now()

    await desk.read()

    (found,) = await desk.database.read(partial(evidence.of_session, session=S))
    assert (found.source, found.claim, found.at) == ("transcript", "answered", answered)


@pytest.mark.anyio
@pytest.mark.spec("G6")
async def test_it_is_read_when_a_turn_is_over_and_what_is_written_a_moment_later(
    desk: Desk,
) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(UsageReader(desk.database, desk.journal, {}).follow)
        await desk.tell(facts.TurnStarted(S, "go"))
        desk.clock.advance(1)
        await desk.tell(facts.TurnEnded(S))
        with anyio.fail_after(5):
            await desk.clock.someone_sleeps()
        desk.write("late", fresh=10)

        desk.clock.advance(SETTLE_S)
        await until(desk.database, lambda db: sessions.get(db, S).input_tokens == 10)
        tasks.cancel_scope.cancel()


@pytest.mark.anyio
async def test_what_a_turn_used_is_its_own_though_the_next_has_begun(desk: Desk) -> None:
    await desk.turn("one", fresh=10)
    await desk.tell(facts.TurnStarted(S, "two"))
    desk.clock.advance(1)
    desk.write("two", fresh=20)

    await desk.read()

    ran = await desk.database.read(partial(turns.of_session, session=S, last=10))
    assert [each.input_tokens for each in ran] == [10, 20]


@pytest.mark.anyio
@pytest.mark.spec("G6")
async def test_it_is_read_on_where_it_was_left_and_by_whole_lines(desk: Desk) -> None:
    await desk.turn("one", fresh=10)
    half = line("half", at(100), fresh=5)
    with desk.file.open("ab") as transcript:
        transcript.write(half[:50])
    await desk.read()
    before = await desk.used()

    with desk.file.open("ab") as transcript:
        transcript.write(half[50:])
    await desk.turn("two", fresh=20)
    await desk.read()

    assert before == (10, 0)
    assert await desk.used() == (35, 0)


@pytest.mark.anyio
@pytest.mark.spec("G6", "A7")
async def test_nothing_is_counted_twice_by_the_next_daemon(desk: Desk) -> None:
    await desk.turn("one", fresh=10)
    await desk.read()
    desk.write("two", fresh=20)

    await desk.tell(facts.SessionRecovered(S))
    await desk.read()
    await desk.tell(facts.SessionRecovered(S))
    await desk.read()

    assert await desk.used() == (30, 0)


class Brittle(Journal):
    """A journal that fails in the midst of what it is asked for."""

    def append(self, db: Connection, *told: Fact, at: datetime | None = None) -> int:
        seq = super().append(db, *told, at=at)
        if isinstance(told[0], facts.UsageReported):
            raise OSError("the disk is full")
        return seq


@pytest.mark.anyio
@pytest.mark.spec("G6")
async def test_tokens_and_how_far_was_read_are_written_together_or_not_at_all(
    desk: Desk,
) -> None:
    await desk.turn("one", fresh=10)
    brittle = Brittle("here", desk.clock, desk.journal.readers)
    async with passing_time(desk.database, desk.clock):
        with pytest.raises(OSError, match="the disk is full"):
            await UsageReader(desk.database, brittle, {}).catch_up(S)
    before = (await desk.used(), [each.offset for each in await desk.progress()])

    await desk.read()

    assert before == ((0, 0), [0])
    assert await desk.used() == (10, 0)


@pytest.mark.anyio
@pytest.mark.spec("G6")
@pytest.mark.parametrize(
    "replace_with",
    [
        lambda lines: lines[1:],
        lambda lines: [b'{"type": "summary"}\n' * 50, *lines],
        lambda lines: [lines[0].replace(b"one", b"uno"), *lines[1:]],
    ],
)
async def test_a_file_that_was_written_anew_is_read_anew_and_nothing_counts_twice(
    desk: Desk, replace_with: Callable[[list[bytes]], list[bytes]]
) -> None:
    await desk.turn("one", fresh=10)
    await desk.turn("two", fresh=20)
    await desk.read()

    lines = desk.file.read_bytes().splitlines(keepends=True)
    desk.file.unlink()
    desk.file.write_bytes(b"".join(replace_with(lines)))
    await desk.turn("three", fresh=30)
    await desk.read()

    assert await desk.used() == (60, 0)


@pytest.mark.anyio
@pytest.mark.spec("G6", "A10")
async def test_a_resumed_conversation_is_not_added_twice(desk: Desk) -> None:
    await desk.turn("one", fresh=10)
    await desk.read()
    desk.clock.advance(1)
    await desk.tell(facts.SessionEnded(S, "exit"))
    desk.clock.advance(1)

    await desk.start(T, continues=S)
    desk.clock.advance(1)
    desk.write("two", fresh=20)
    await desk.tell(facts.TurnEnded(T))
    await desk.read(T)
    await desk.read(S)

    assert (await desk.used(S), await desk.used(T)) == ((10, 0), (20, 0))


@pytest.mark.anyio
@pytest.mark.spec("G6")
async def test_what_the_last_turn_used_counts_although_its_session_is_over(desk: Desk) -> None:
    await desk.tell(facts.TurnStarted(S, "go"))
    desk.clock.advance(1)
    desk.write("one", fresh=10)
    await desk.tell(facts.SessionEnded(S, "killed", "failed"))

    await desk.read()

    assert await desk.used() == (10, 0)


@pytest.mark.anyio
@pytest.mark.spec("G6")
async def test_what_subagents_used_counts_too(desk: Desk) -> None:
    folder = desk.file.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    await desk.turn("one", fresh=10)
    desk.write_to(folder / "agent-a402eb68bc4fd20fe.jsonl", "sub", fresh=5)
    desk.write_to(folder / "notes.jsonl", "other", fresh=7)
    await desk.read()
    desk.write_to(folder / "agent-a402eb68bc4fd20fe.jsonl", "sub2", fresh=6)
    await desk.turn("two", fresh=20)

    await desk.read()

    assert await desk.used() == (41, 0)


@pytest.mark.anyio
@pytest.mark.spec("G6")
async def test_a_session_that_begins_another_conversation_counts_both(desk: Desk) -> None:
    await desk.turn("one", fresh=10)
    await desk.tell(facts.ConversationLeft(S, "clear"))
    desk.file = desk.file.with_name("another.jsonl")

    def bind(db: Connection) -> None:
        db.execute("update sessions set native_id = 'another' where id = ?", (S,))
        desk.journal.append(db, facts.SessionStarted(S, "", str(desk.file)))

    await desk.database.write(bind)
    await desk.turn("two", fresh=20)
    await desk.read()

    assert await desk.used() == (30, 0)


@pytest.mark.anyio
async def test_a_long_file_is_read_in_slices_and_a_line_that_is_longer_is_passed_over(
    desk: Desk,
) -> None:
    for each in range(10):
        await desk.turn(f"m{each}", fresh=1)
    with desk.file.open("ab") as transcript:
        transcript.write(b'"' + b"x" * 2_000 + b'"\n')
    await desk.turn("last", fresh=1)

    await desk.read(slice_bytes=400)

    assert await desk.used() == (11, 0)


@pytest.mark.anyio
async def test_a_file_that_is_not_there_yet_is_read_later(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    await desk.tell(facts.TurnEnded(S))
    await desk.read()

    await desk.turn("one", fresh=10)
    await desk.read()

    assert await desk.used() == (10, 0)
    assert caplog.text == ""


def plant_link(file: Path) -> None:
    real = file.with_name("real")
    real.write_bytes(line("m", at(1), fresh=10))
    file.symlink_to(real)


def plant_huge(file: Path) -> None:
    file.write_bytes(line("m", at(1), fresh=10))
    os.truncate(file, MAX_FILE_BYTES + 1)


@pytest.mark.anyio
@pytest.mark.spec("G6", "K1")
@pytest.mark.parametrize("plant", [os.mkfifo, Path.mkdir, plant_link, plant_huge])
async def test_what_is_no_transcript_is_not_read_and_nothing_hangs(
    desk: Desk, plant: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    plant(desk.file)
    await desk.tell(facts.TurnStarted(S, "go"))
    desk.clock.advance(1)
    await desk.tell(facts.TurnEnded(S))

    await desk.read()

    assert await desk.used() == (0, 0)
    assert "is not read" in caplog.text


@pytest.mark.anyio
@pytest.mark.spec("G6", "K1")
async def test_a_file_of_another_user_is_not_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.turn("one", fresh=10)
    monkeypatch.setattr(os, "getuid", lambda: desk.file.stat().st_uid + 1)

    await desk.read()

    assert await desk.used() == (0, 0)


@pytest.mark.anyio
@pytest.mark.spec("G6", "K1")
async def test_a_transcript_of_another_session_is_not_taken_for_its_own(desk: Desk) -> None:
    other = desk.file.with_name("other.jsonl")
    await desk.tell(facts.SessionStarted(S, "", str(other)))
    desk.clock.advance(1)
    desk.write_to(other, "foreign", fresh=7)
    await desk.turn("one", fresh=10)

    await desk.read()

    assert await desk.used() == (10, 0)


@pytest.mark.anyio
@pytest.mark.spec("G6", "K1")
async def test_a_path_that_no_file_can_have_does_no_harm(desk: Desk) -> None:
    await desk.tell(facts.SessionStarted(S, "", f"/x\0/{NATIVE}.jsonl"))
    await desk.turn("one", fresh=10)

    await desk.read()

    assert await desk.used() == (10, 0)


@pytest.mark.anyio
@pytest.mark.spec("G6")
async def test_there_is_a_cost_only_where_a_price_is_set(desk: Desk) -> None:
    cached = {"cache_read_input_tokens": 1_000, "cache_creation_input_tokens": 100}
    await desk.turn("one", fresh=10, out=4, **cached)
    await desk.read()
    unknown = await desk.database.read(partial(sessions.get, session=S))

    price = Price(input=5, output=25, cache_read=0.5, cache_write=6.25)
    desk.prices = {"other": Price(input=1_000), MODEL: price}
    await desk.turn("two", fresh=10, out=4, **cached)
    await desk.read()

    known = await desk.database.read(partial(sessions.get, session=S))
    ran = await desk.database.read(partial(turns.of_session, session=S, last=10))
    assert unknown.cost is None
    assert known.cost == 10 * 5 + 4 * 25 + 500 + 625
    assert [each.cost for each in ran] == [None, known.cost]


@pytest.mark.anyio
async def test_what_a_cache_holds_costs_as_much_as_the_rest_where_nothing_else_is_said(
    desk: Desk,
) -> None:
    desk.prices = {MODEL: Price(input=2)}
    await desk.turn("one", fresh=10, out=4, cache_read_input_tokens=100)

    await desk.read()

    assert (await desk.database.read(partial(sessions.get, session=S))).cost == 220


@pytest.mark.anyio
async def test_a_session_that_is_forgotten_meanwhile_stops_nobody(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    await desk.turn("one", fresh=10)
    await desk.tell(facts.SessionEnded(S, "exit"))
    await desk.database.write(partial(retention.forget_sessions, keep=0))

    await desk.read()

    assert caplog.text == ""


def test_a_reader_that_comes_late_passes_over_what_was_forgotten(
    db: Connection, journal: Journal
) -> None:
    sessions.add(db, make(journal, S, agent="claude", native_id=NATIVE))
    journal.append(db, facts.SessionStarted(S, "", f"/x/{NATIVE}.jsonl"))
    journal.append(db, facts.SessionEnded(S, "exit"))
    retention.forget_sessions(db, keep=0)

    late = Journal("here", journal.clock, {"transcripts": READER})
    late.show_page("transcripts", db)

    assert db.execute("select * from parked").fetchall() == []


@pytest.mark.parametrize(
    ("moment", "turn"), [(-5, 0), (5, 0), (10, 0), (15, 1), (25, 1), (35, 2), (99, 2)]
)
def test_a_moment_belongs_to_the_turn_that_ran_or_else_to_the_next_or_the_last(
    db: Connection, journal: Journal, clock: FakeClock, moment: float, turn: int
) -> None:
    sessions.add(db, make(journal, S))
    began = []
    for _ in range(3):
        began.append(journal.append(db, facts.TurnStarted(S, "go")))
        clock.advance(10)
        journal.append(db, facts.TurnEnded(S))
        clock.advance(10)

    assert turns.at(db, S, at(moment)) == began[turn]


def test_without_turns_a_moment_belongs_to_none(db: Connection, journal: Journal) -> None:
    sessions.add(db, make(journal, S))

    assert turns.at(db, S, NOW) is None
