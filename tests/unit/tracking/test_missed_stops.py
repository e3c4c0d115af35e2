"""How a turn ended whose stop no hook has told, by what real agents write down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from sqlite3 import Connection, OperationalError

import anyio
import pytest

from rookery.model.beliefs import BETWEEN_TURNS_S, GRACE_S, UNPROMPTED_S, FileReport
from rookery.model.evidence import Claim, Evidence
from rookery.model.facts import (
    Fact,
    InputAsked,
    PromptFound,
    QueueTaken,
    SessionId,
    SessionStarted,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from rookery.model.lifecycle import Activity
from rookery.model.sessions import NativeId
from rookery.store import evidence, sessions, turns
from rookery.store.journal import Journal
from rookery.tracking.corrections import Corrections
from rookery.tracking.missed_stops import missed_end
from rookery.tracking.transcript_reader import TranscriptReader
from tests.support.daemon import passing_time
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.connection import connection
from tests.support.fakes.database import ObservedDatabase
from tests.support.rows import make

pytestmark = pytest.mark.anyio

S = SessionId("s")
NATIVE = NativeId("11111111-2222-3333-4444-555555555555")

PROMPT = {"type": "user", "message": {"content": "Go."}}
WORDS = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}}
TOOL = {
    "type": "assistant",
    "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {}}]},
}
INTERRUPTED = "[Request interrupted by user for tool use]"
INTERRUPTION = {
    "type": "user",
    "message": {"content": [{"type": "text", "text": INTERRUPTED}]},
}
ERROR = {"isApiErrorMessage": True, "message": {"content": "API Error: 400"}}
COMMAND = {
    "type": "user",
    "message": {
        "content": "<command-name>/compact</command-name>\n<command-message>compact"
        "</command-message>\n<command-args>be brief</command-args>"
    },
}
OUTPUT = {
    "type": "system",
    "subtype": "local_command",
    "content": "<local-command-stdout>\x1b[2mNot enough messages.\x1b[22m"
    "</local-command-stdout>",
}
SHELL = {"type": "user", "message": {"content": "<bash-input>ls</bash-input>"}}


class Desk:
    """A session of Claude with hooks, whose last one has not come."""

    def __init__(self, database: ObservedDatabase, clock: FakeClock, folder: Path) -> None:
        self.database, self.clock = database, clock
        self.journal = Journal("here", clock, {})
        self.transcript = folder / f"{NATIVE}.jsonl"
        self.conversations = TranscriptReader({"claude": [folder]}, clock)

    async def tell(self, *told: Fact) -> None:
        def write(db: Connection) -> None:
            for fact in told:
                self.clock.advance(1)
                self.journal.append(db, fact)

        await self.database.write(write)

    async def begin(self) -> None:
        def add(db: Connection) -> None:
            path = str(self.transcript)
            sessions.add(
                db,
                make(self.journal, S, agent="claude", native_id=NATIVE, transcript_path=path),
            )
            self.journal.append(db, SessionStarted(S))

        await self.database.write(add)

    def write(self, *lines: Mapping[str, object]) -> None:
        with self.transcript.open("a") as file:
            for line in lines:
                self.clock.advance(1)
                stamped = {**line, "timestamp": self.clock.now().isoformat()}
                file.write(json.dumps(stamped) + "\n")

    async def ending(self) -> tuple[Fact, ...]:
        async with passing_time(self.database, self.clock):
            return await missed_end(self.database, self.conversations, S)

    async def turns(self) -> list[tuple[str, str, str]]:
        found = await self.database.read(lambda db: turns.of_session(db, S, last=9))
        return [(turn.prompt, turn.answer, turn.how) for turn in found]


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock, tmp_path: Path) -> Desk:
    found = Desk(database, clock, tmp_path)
    await found.begin()
    return found


@pytest.mark.spec("A2", "C8", "K4")
@pytest.mark.parametrize(
    ("lines", "ending"),
    [
        ([PROMPT, TOOL, WORDS], TurnEnded(S, "Done.")),
        ([PROMPT], TurnEnded(S, "", "interrupted")),
        ([PROMPT, TOOL], TurnEnded(S, "", "interrupted")),
        ([PROMPT, WORDS, INTERRUPTION], TurnEnded(S, "", "interrupted")),
        ([PROMPT, ERROR], TurnEnded(S, "API Error: 400", "failed")),
        ([COMMAND, OUTPUT], TurnEnded(S, "Not enough messages.")),
    ],
    ids=["answered", "nothing", "in a tool", "interrupted", "failed", "a command"],
)
async def test_a_transcript_tells_how_a_turn_ended(
    desk: Desk, lines: list[Mapping[str, object]], ending: Fact
) -> None:
    desk.write(PROMPT, WORDS)
    await desk.tell(TurnStarted(S, "Before.", "a"), TurnEnded(S, "Done.", turn="a"))
    await desk.tell(TurnStarted(S, "Go.", "b"))
    desk.write(*lines)

    assert await desk.ending() == (ending,)


@pytest.mark.spec("A2", "C8")
async def test_the_output_of_a_command_is_no_answer_to_the_command_after_it(
    desk: Desk,
) -> None:
    await desk.tell(TurnStarted(S, "/compact", "a"), TurnEnded(S, "Compacted.", turn="a"))
    desk.write({**OUTPUT, "content": "<local-command-stdout>Compacted</local-command-stdout>"})
    await desk.tell(TurnStarted(S, "/compact be brief", "b"))
    found = list[Fact]()

    async def find_ending() -> None:
        until = desk.clock.now() + timedelta(seconds=9)
        found.extend(await missed_end(desk.database, desk.conversations, S, until=until))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(find_ending)
            await desk.clock.someone_sleeps()
            desk.write(COMMAND, OUTPUT)  # the program is slow to write it

    assert found == [TurnEnded(S, "Not enough messages.")]


@pytest.mark.spec("A2", "C8")
@pytest.mark.parametrize(
    ("lines", "prompt"),
    [
        ([PROMPT, WORDS], "Go."),
        ([COMMAND, OUTPUT], "/compact be brief"),
        ([SHELL, WORDS], "! ls"),
        ([PROMPT, TOOL, PROMPT, WORDS], "Go.\n\nGo."),
    ],
)
async def test_the_prompt_of_a_turn_that_was_only_seen_is_read_as_well(
    desk: Desk, lines: list[Mapping[str, object]], prompt: str
) -> None:
    await desk.tell(TurnStarted(S, ""))
    desk.write(*lines)

    found, _ = await desk.ending()

    assert found == PromptFound(S, prompt)


@pytest.mark.spec("E7")
async def test_a_turn_whose_subagents_are_gone_keeps_the_answer_that_it_has(
    desk: Desk,
) -> None:
    await desk.tell(TurnStarted(S, "Go.", "a"), TurnPaused(S, "Delegated.", "a", subagents=1))
    desk.write(INTERRUPTION)

    (ending,) = await desk.ending()
    await desk.tell(ending)

    assert ending == TurnEnded(S)
    assert await desk.turns() == [("Go.", "Delegated.", "finished")]


@pytest.mark.spec("E7")
async def test_a_prompt_after_which_nothing_came_was_taken_in_by_the_turn_before(
    desk: Desk,
) -> None:
    await desk.tell(TurnStarted(S, "One.", "a"), TurnStarted(S, "Two.", "a"))
    await desk.tell(TurnEnded(S, "Both.", turn="a"))

    (ending,) = await desk.ending()
    await desk.tell(ending)

    assert await desk.turns() == [("One.", "Both.", "finished"), ("Two.", "Both.", "finished")]


def rests(desk: Desk, *, was_menu: bool = False) -> FileReport:
    return FileReport(S, Claim(Activity.IDLE, desk.clock.now()), Activity.WORKING, was_menu)


async def believe(desk: Desk, report: FileReport) -> None:
    """Let Claude's file say what no hook has told."""
    await note(desk, report)
    await settle(desk, report)


async def note(desk: Desk, report: FileReport) -> None:
    def put(db: Connection) -> None:
        before = report.claim.at - timedelta(seconds=1)
        evidence.put(db, S, Evidence("hook", "working", before))
        evidence.put(db, S, Evidence("registry", report.claim.activity, report.claim.at))

    await desk.database.write(put)


async def settle(desk: Desk, report: FileReport) -> None:
    corrections = Corrections(desk.database, desk.journal, desk.conversations)
    async with passing_time(desk.database, desk.clock):
        await corrections.settle(report)


@pytest.mark.spec("C8", "K4")
async def test_a_file_that_says_it_rests_ends_the_turn_with_what_it_answered(
    desk: Desk,
) -> None:
    await desk.tell(TurnStarted(S, "Go.", "a"))
    desk.write(PROMPT, WORDS)
    desk.clock.advance(1)

    await believe(desk, rests(desk))

    assert await desk.turns() == [("Go.", "Done.", "finished")]


@pytest.mark.spec("E7", "C8")
@pytest.mark.parametrize(
    ("told", "answer"),
    [
        ([TurnStarted(S, "Two.", "a"), TurnEnded(S, "Yes.", turn="a"), QueueTaken(S)], ""),
        ([TurnPaused(S, "Delegated.", "a", subagents=1)], "Delegated."),
    ],
    ids=["queued", "paused"],
)
async def test_an_agent_that_rests_before_it_goes_on_by_itself_ends_nothing(
    desk: Desk, told: list[Fact], answer: str
) -> None:
    await desk.tell(TurnStarted(S, "One.", "a"), *told)
    desk.clock.advance(1)
    report = rests(desk)
    await note(desk, report)
    corrections = Corrections(desk.database, desk.journal, desk.conversations)

    async with passing_time(desk.database, desk.clock), anyio.create_task_group() as tasks:
        tasks.start_soon(corrections.settle, report)
        await desk.clock.sleep(BETWEEN_TURNS_S / 2)
        works = Evidence("registry", "working", desk.clock.now())
        await desk.database.write(lambda db: evidence.put(db, S, works))

    last = (await desk.turns())[-1]
    assert last[1:] == (answer, "")


@pytest.mark.spec("C8", "A2")
async def test_an_agent_that_seems_to_work_while_it_clears_begins_no_turn(desk: Desk) -> None:
    await desk.tell(TurnStarted(S, "One.", "a"), TurnEnded(S, "Yes.", turn="a"))
    desk.clock.advance(1)
    report = FileReport(S, Claim(Activity.WORKING, desk.clock.now()), Activity.IDLE)
    await note(desk, report)
    corrections = Corrections(desk.database, desk.journal, desk.conversations)

    with anyio.fail_after(40):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(corrections.settle, report)
            await desk.clock.someone_sleeps()
            desk.clock.advance(GRACE_S)
            await desk.clock.someone_sleeps()  # for the hook of a prompt
            rested = Evidence("registry", "idle", desk.clock.now())
            await desk.database.write(lambda db: evidence.put(db, S, rested))
            desk.clock.advance(UNPROMPTED_S)

    assert await desk.turns() == [("One.", "Yes.", "finished")]


@pytest.mark.spec("C8", "A2")
async def test_a_menu_that_was_closed_interrupts_nothing(desk: Desk) -> None:
    await desk.tell(InputAsked(S, "question", "dialog open"))
    desk.clock.advance(1)

    await believe(desk, rests(desk, was_menu=True))

    found = await desk.database.read(lambda db: sessions.get(db, S))
    assert (found.activity, found.reason) == ("idle", "")


@pytest.mark.spec("C8", "A6")
async def test_a_permission_that_is_asked_at_once_begins_a_turn(desk: Desk) -> None:
    desk.clock.advance(1)
    claim = Claim(Activity.PERMISSION, desk.clock.now(), "approve Bash")

    await believe(desk, FileReport(S, claim, Activity.IDLE))

    found = await desk.database.read(lambda db: sessions.get(db, S))
    assert (found.activity, found.reason) == ("permission", "approve Bash")
    assert await desk.turns() == [("", "", "")]


@pytest.mark.spec("C8")
async def test_a_file_that_says_it_works_begins_a_turn_with_what_was_typed(desk: Desk) -> None:
    desk.write(SHELL)
    desk.clock.advance(1)
    works = FileReport(S, Claim(Activity.WORKING, desk.clock.now()), Activity.IDLE)

    await believe(desk, works)

    assert await desk.turns() == [("! ls", "", "")]


@pytest.mark.spec("C8", "A6")
async def test_a_program_that_works_for_long_without_a_prompt_has_begun_a_turn(
    desk: Desk,
) -> None:
    """A person runs a shell command, which the agent records once it is done."""
    desk.write(PROMPT, WORDS)
    await desk.tell(TurnStarted(S, "Go.", "a"), TurnEnded(S, "Done.", turn="a"))
    desk.clock.advance(1)
    began = desk.clock.now()

    await believe(desk, FileReport(S, Claim(Activity.WORKING, began), Activity.IDLE))

    assert await desk.turns() == [("Go.", "Done.", "finished"), ("", "", "")]
    assert desk.clock.now() - began >= timedelta(seconds=UNPROMPTED_S)


@pytest.mark.spec("K4", "C8")
async def test_what_a_file_tells_is_written_down_once_there_is_room(
    tmp_path: Path, clock: FakeClock
) -> None:
    refusals = iter([True, True])
    is_full = False

    def commit() -> None:
        if is_full and next(refusals, False):
            raise OperationalError("database or disk is full")

    path = tmp_path / "rookery.db"
    watched = connection(before_commit=commit)
    async with ObservedDatabase(path, FakeClock(), connection=watched) as database:
        desk = Desk(database, clock, tmp_path)
        await desk.begin()
        await desk.tell(TurnStarted(S, "Go.", "a"))
        desk.write(PROMPT, WORDS)
        desk.clock.advance(1)
        report = rests(desk)
        await note(desk, report)
        is_full = True

        await settle(desk, report)

        assert await desk.turns() == [("Go.", "Done.", "finished")]
        assert next(refusals, None) is None
