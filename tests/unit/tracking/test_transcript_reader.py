"""What agents wrote down of their conversations: of the real ones, and of whoever forges."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any, Literal

import pytest

from rookery.agents.shared.transcript_lines import MAX_RESULT_CHARS
from rookery.agents.transcripts import read_line, transcript_glob
from rookery.model import facts
from rookery.model.evidence import Claim
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity
from rookery.model.sessions import NativeId
from rookery.model.turn_texts import Answer
from rookery.ports.transcript import Passage
from rookery.store import sessions
from rookery.store.journal import Journal
from rookery.tracking.session_files import MAX_ANSWER_LOOKS
from rookery.tracking.transcript_files import ALL, BLOCK_BYTES, MAX_LINE_BYTES, TimeSpan
from rookery.tracking.transcript_passages import (
    PASSAGE_OVERHEAD_CHARACTERS,
    TranscriptRange,
    read_latest,
)
from rookery.tracking.transcript_reader import TranscriptReader
from tests.support.daemon import passing_time
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.paths import RECORDINGS
from tests.support.rows import make

S = SessionId("s")
NATIVE = NativeId("11111111-2222-3333-4444-555555555555")
NOW = datetime(2026, 11, 1, tzinfo=UTC)
ALWAYS = TimeSpan(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
EVERYTHING = TranscriptRange(ALWAYS, 10_000_000)

COUNTED = "usage: in=100 out=20 cache_read=30 cache_write=40"
URL = "http://127.0.0.1:42341/v1/responses"
TOOL = b'"tokens": {}, "toolCalls": [5, {"name": 5, "args": {}}, {"name": "x"}]'

CLAUDE = [
    ("prompt", "slow: 3;; words: 40"),
    ("words", "word0 word1 word2 word3 word4 word5 word6 word7"),
    ("interruption", "[Request interrupted by user]"),
    ("prompt", f"{COUNTED};; think: t;; say: counted\nbash: ls\nsay: end"),
    ("words", "counted"),
    ("call", 'Bash {"command": "ls", "description": "scripted"}'),
    ("result", "s1.txt\ns2.txt"),
    ("words", "end"),
]
CODEX = [
    ("prompt", "usage: in=100 cache_read=30 cache_write=40 out=7;; bash: echo hi;; say: ran"),
    ("call", 'exec_command {"cmd": "echo hi"}'),
    ("result", "hi"),
    ("words", "ran"),
    ("prompt", "usage: in=1000 out=300;; say: plain"),
    ("words", "plain"),
    ("error", f"unexpected status 401 Unauthorized: invalid x-api-key, url: {URL}"),
]
GEMINI = [
    ("prompt", "say: one **two** three"),
    ("words", "one **two** three"),
    ("prompt", "say: I look;; bash: touch made"),
    ("words", "I look"),
    ("call", 'run_shell_command {"command": "touch made", "description": "scripted"}'),
    ("result", "[Operation Cancelled] Reason: User denied execution."),
    ("interruption", "Request cancelled."),
    ("prompt", "error: 400 bad luck"),
    ("error", '[API Error: {"error":{"code":400,"message":"bad luck","status":"INTERNAL"}}]'),
]


def told(found: Sequence[Passage]) -> list[tuple[str, str]]:
    return [(each.kind, each.text) for each in found]


@pytest.mark.spec("I2", "F3")
@pytest.mark.parametrize(
    ("agent", "file", "said"),
    [
        ("claude", "claude-2.1.325/transcript.jsonl", CLAUDE),
        ("codex", "codex-0.166.0/conversation.jsonl", CODEX),
        ("gemini", "gemini-0.61.0/conversation.jsonl", GEMINI),
    ],
)
def test_what_real_agents_wrote_down_is_read(
    agent: str, file: str, said: list[tuple[str, str]]
) -> None:
    assert told(read_latest(agent, [str(RECORDINGS / file)], EVERYTHING)) == said


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "shell"])
@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"{", b"[]", b"null", b"17", b'"words"', b"\xff\xfe", b"[" * 100_000),
        *(b"{}", b'{"timestamp": 5}', b'{"timestamp": "yesterday", "type": "user"}'),
        b'{"timestamp": "2026-11-01T00:00:00", "type": "user", "message": {"content": "x"}}',
        b'{"timestamp": "2026-11-01T00:00:00Z", "type": "user", "message": {"content": 5}}',
        b'{"timestamp": "2026-11-01T00:00:00Z", "type": "gemini", %b, "content": [5]}' % TOOL,
        b'{"timestamp": "2026-11-01T00:00:00Z", "payload": [], "id": [], "content": {}}',
    ],
)
def test_a_line_that_makes_no_sense_says_nothing(agent: str, line: bytes) -> None:
    found = read_line(agent, line)

    assert found is None or found.passages == ()


def test_a_call_whose_result_makes_no_sense_is_still_one() -> None:
    call = {"name": "x", "args": {}, "result": [5, {"functionResponse": 5}]}
    said = {"timestamp": NOW.isoformat(), "type": "gemini", "content": "", "tokens": {}}

    found = read_line("gemini", json.dumps({**said, "toolCalls": [call]}).encode())

    assert found
    assert told(found.passages) == [("call", "x {}")]


@pytest.mark.parametrize(
    ("output", "said", "failed"),
    [
        (
            "Wall time: 0.1 seconds\nProcess exited with code 1\nOutput:\nls: no such file\n",
            "Exit code 1\nls: no such file",
            True,
        ),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess.\n", "Success.", False),
        ("Wall time: 1 seconds\nProcess running with session ID 5\nOutput:\nup\n", "up", False),
        ("Output:\nProcess exited with code 1", "Output:\nProcess exited with code 1", False),
    ],
)
def test_the_output_of_a_command_of_codex_is_without_its_header(
    output: str, said: str, *, failed: bool
) -> None:
    payload = {"type": "function_call_output", "output": output}
    written_down = {"timestamp": NOW.isoformat(), "type": "response_item", "payload": payload}

    found = read_line("codex", json.dumps(written_down).encode())

    assert found
    assert [(each.text, each.failed) for each in found.passages] == [(said, failed)]


def line(text: str, *, at: float = 1, by: str = "assistant", **more: object) -> bytes:
    """Write what Claude writes of words."""
    moment = (NOW + timedelta(seconds=at)).isoformat()
    content = [{"type": "text", "text": text}]
    said = {"type": by, "timestamp": moment, "message": {"content": content}, **more}
    return json.dumps(said).encode() + b"\n"


def written(folder: Path, *lines: bytes, name: str = f"{NATIVE}.jsonl") -> str:
    file = folder / name
    file.write_bytes(b"".join(lines))
    return str(file)


def texts(path: str, wanted: TranscriptRange) -> list[str]:
    return [each.text for each in read_latest("claude", [path], wanted)]


@pytest.mark.spec("I2")
def test_a_long_file_is_read_from_its_end_as_far_as_there_is_room(tmp_path: Path) -> None:
    lines = [line(f"{number} {'x' * (BLOCK_BYTES // 7)}", at=number) for number in range(30)]
    path = written(tmp_path, line("y" * (3 * BLOCK_BYTES), at=-1), *lines, b'{"half a li')

    everything = texts(path, TranscriptRange(ALWAYS, 100 * BLOCK_BYTES))
    short = texts(
        path, TranscriptRange(ALWAYS, BLOCK_BYTES // 7 + 10 + PASSAGE_OVERHEAD_CHARACTERS)
    )

    assert [each.split(" ")[0] for each in everything[1:]] == [str(n) for n in range(30)]
    assert len(everything[0]) == 3 * BLOCK_BYTES
    before, last = short
    assert last.startswith("29 xxx")
    assert before.startswith(f"({BLOCK_BYTES // 7 + 3 - 7:,} characters before) …xx")


@pytest.mark.spec("I2")
def test_only_what_was_said_in_time_and_is_not_known_yet_is_returned(tmp_path: Path) -> None:
    path = written(tmp_path, *(line(f"at {each}", at=each) for each in range(6)))
    span = TimeSpan(NOW + timedelta(seconds=2), NOW + timedelta(seconds=4))

    assert texts(path, TranscriptRange(span, 1_000)) == ["at 2", "at 3", "at 4"]
    assert texts(path, TranscriptRange(span, 1_000, frozenset({"at 3"}))) == ["at 2", "at 4"]


def test_what_was_said_in_two_files_comes_in_its_order(tmp_path: Path) -> None:
    one = written(tmp_path, line("first", at=1), line("third", at=3), name="one.jsonl")
    other = written(tmp_path, line("second", at=2), line("last", at=4), name="other.jsonl")

    found = read_latest(
        "claude", [one, other], TranscriptRange(ALWAYS, 15 + 2 * PASSAGE_OVERHEAD_CHARACTERS)
    )

    assert told(found) == [("words", "second"), ("words", "third"), ("words", "last")]


def test_what_a_tool_gave_back_is_shortened(tmp_path: Path) -> None:
    result = {"type": "tool_result", "content": [{"type": "text", "text": "r" * 5_000}]}
    given = json.loads(line("", by="user"))
    given["message"]["content"] = [result]
    path = written(tmp_path, json.dumps(given).encode() + b"\n")

    (found,) = texts(path, EVERYTHING)

    assert found == f"{'r' * MAX_RESULT_CHARS}… (4,000 more characters)"


def test_the_result_of_a_call_that_failed_says_so(tmp_path: Path) -> None:
    results = [
        {"type": "tool_result", "content": text, "is_error": is_error}
        for text, is_error in (("Exit code 2", True), ("a.txt", False))
    ]
    given = json.loads(line("", by="user"))
    given["message"]["content"] = results

    entry = read_line("claude", json.dumps(given).encode())

    assert entry is not None
    assert [(each.kind, each.text, each.failed) for each in entry.passages] == [
        ("result", "Exit code 2", True),
        ("result", "a.txt", False),
    ]


def test_what_a_program_says_to_itself_is_not_returned(tmp_path: Path) -> None:
    hidden = [
        *(line("x", isMeta=True), line("x", isSidechain=True)),
        line("API Error: 400", isSidechain=True, isApiErrorMessage=True),
    ]
    path = written(tmp_path, *hidden, line("said", at=2))

    assert texts(path, EVERYTHING) == ["said"]


@pytest.mark.spec("K1")
@pytest.mark.parametrize("plant", [os.mkfifo, Path.mkdir])
def test_what_is_no_file_is_not_read_and_nothing_hangs(tmp_path: Path, plant: Any) -> None:  # noqa: ANN401 - either
    plant(tmp_path / "x.jsonl")

    assert (
        read_latest("claude", [str(tmp_path / "x.jsonl"), str(tmp_path / "none")], EVERYTHING)
        == []
    )


@pytest.mark.spec("K1")
@pytest.mark.parametrize("native_id", ["", "*", "../../x", "a/b", "tmux_%3", "[a-z]", "a*b"])
def test_a_native_id_that_is_none_names_no_file(native_id: str) -> None:
    assert transcript_glob("claude", native_id) == ""
    assert transcript_glob("gemini", native_id) == ""


# The answer of a turn that nobody tells.


class Desk:
    """A session of Claude without hooks, in the midst of a turn."""

    def __init__(self, database: ObservedDatabase, clock: FakeClock, folder: Path) -> None:
        self.database, self.clock = database, clock
        self.folder = folder / "projects" / "-code"
        self.folder.mkdir(parents=True)
        self.conversations = TranscriptReader({"claude": [folder]}, clock)

    async def begin(self, native_id: NativeId = NATIVE) -> None:
        journal = Journal("here", self.clock, {})

        def add(db: Connection) -> None:
            sessions.add(db, make(journal, S, agent="claude", native_id=native_id))
            journal.append(db, facts.SessionStarted(S))
            for prompt in ("before", "go"):
                self.clock.advance(6)
                journal.append(db, facts.TurnStarted(S, prompt))
                if prompt == "before":
                    self.clock.advance(4)
                    journal.append(db, facts.TurnEnded(S))

        await self.database.write(add)

    async def answer(self) -> Answer | None:
        async with passing_time(self.database, self.clock):
            return await self.conversations.answer(self.database, S, tries=MAX_ANSWER_LOOKS)


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock, tmp_path: Path) -> Desk:
    found = Desk(database, clock, tmp_path)
    await found.begin()
    return found


@pytest.mark.anyio
@pytest.mark.spec("F3")
async def test_a_turn_has_answered_what_was_written_down_last(desk: Desk) -> None:
    # Also before it is known that the turn has begun.
    path = written(desk.folder, line("go", at=11, by="user"), line("Done.", at=12))

    assert await desk.answer() == Answer("Done.", path)


@pytest.mark.anyio
@pytest.mark.spec("F3")
@pytest.mark.parametrize(
    "lines",
    [
        [],
        [line("of another turn", at=5)],
        [line("I look", at=11), line("and you?", at=12, by="user")],
        [line("said later than now", at=1_000)],
    ],
    ids=["nothing", "earlier", "a prompt", "later"],
)
async def test_a_turn_that_said_nothing_in_the_end_has_answered_nothing(
    desk: Desk, lines: list[bytes]
) -> None:
    path = written(desk.folder, *lines)

    assert await desk.answer() == Answer("", path)


@pytest.mark.anyio
@pytest.mark.spec("F3")
@pytest.mark.parametrize(
    ("last", "how", "words"),
    [
        (line("[Request interrupted by user]", at=12, by="user"), "interrupted", ""),
        (line("API Error: 400", at=12, isApiErrorMessage=True), "failed", "API Error: 400"),
    ],
)
async def test_why_a_turn_has_answered_nothing_is_known(
    desk: Desk, last: bytes, how: facts.How, words: str
) -> None:
    path = written(desk.folder, line("I look", at=11), last)

    assert await desk.answer() == Answer(words, path, how)


@pytest.mark.anyio
@pytest.mark.spec("F3")
async def test_what_is_said_after_a_turn_was_over_is_of_another(desk: Desk) -> None:
    path = written(desk.folder, line("of the next turn", at=14))

    until = NOW + timedelta(seconds=13)
    found = await desk.conversations.answer(desk.database, S, until=until)

    assert found == Answer("", path)


@pytest.mark.anyio
@pytest.mark.spec("F3", "K4")
async def test_half_a_character_is_no_reason_not_to_know_what_was_said(desk: Desk) -> None:
    path = written(desk.folder, line("half \ud83d of it", at=12))

    answer = await desk.answer()

    assert answer == Answer("half ? of it", path)


BY_HAND = line("by hand", at=18, by="user"), line("And this.", at=19)


@pytest.mark.anyio
@pytest.mark.spec("F3")
async def test_a_turn_whose_end_was_seen_has_the_answer_to_its_own_prompt(desk: Desk) -> None:
    own = line("go", at=15, by="user"), line("Done.", at=17)
    path = written(desk.folder, *own, *BY_HAND)
    desk.clock.advance(10)

    found = await desk.conversations.observed_answer(desk.database, S)

    other = Answer("And this.", prompt="by hand")
    assert found == Answer("Done.", path, others=(other,))


@pytest.mark.anyio
@pytest.mark.spec("F3")
async def test_a_turn_that_is_in_another_file_has_no_answer_in_this_one(desk: Desk) -> None:
    """Its agent was told to begin another conversation, and no hook has reported that."""
    written(desk.folder, line("of another turn", at=5))
    desk.clock.advance(10)

    assert await desk.conversations.observed_answer(desk.database, S) is None


@pytest.mark.anyio
@pytest.mark.spec("F3")
async def test_a_turn_by_hand_that_nothing_has_shown_is_found_in_the_transcript(
    desk: Desk,
) -> None:
    journal = Journal("here", desk.clock, {})
    desk.clock.advance(1.5)
    await desk.database.write(lambda db: journal.append(db, facts.TurnEnded(S, "Done.")))
    desk.clock.advance(10)
    more = line("and I", at=20, by="user")
    written(desk.folder, line("go", at=16, by="user"), line("Done.", at=17), *BY_HAND, more)

    found = await desk.conversations.missed_answers(desk.database, S)

    assert found == [Answer("And this.", prompt="by hand")]


@pytest.mark.spec("K4")
def test_of_a_very_long_file_and_of_very_long_lines_little_is_read(tmp_path: Path) -> None:
    most = line("far away"), *[b"{}\n"] * ALL.lines
    long = line("x" * MAX_LINE_BYTES), line("near")

    assert texts(written(tmp_path, *most), EVERYTHING) == []
    assert texts(written(tmp_path, *long), EVERYTHING) == ["near"]


@pytest.mark.anyio
@pytest.mark.spec("F3")
async def test_words_that_are_written_down_a_moment_late_are_waited_for(desk: Desk) -> None:
    path = written(desk.folder, line("go", at=11, by="user"))
    looks = 0

    class Late(FakeClock):
        def now(self) -> datetime:
            return desk.clock.now()

        async def sleep(self, seconds: float) -> None:
            nonlocal looks
            looks += 1
            if looks == MAX_ANSWER_LOOKS - 1:
                written(desk.folder, line("Done.", at=12))

    late = replace(desk.conversations, clock=Late())
    found = await late.answer(desk.database, S, tries=MAX_ANSWER_LOOKS)

    assert found == Answer("Done.", path)


@pytest.mark.anyio
@pytest.mark.spec("C8", "F3")
async def test_a_transcript_that_a_busy_machine_writes_seconds_late_is_waited_for(
    desk: Desk,
) -> None:
    path = written(desk.folder, line("go", at=1, by="user"))
    looks = 0

    class Late(FakeClock):
        async def sleep(self, seconds: float) -> None:
            nonlocal looks
            looks += 1
            if looks == 4 * MAX_ANSWER_LOOKS:
                written(desk.folder, line("go", at=11, by="user"), line("Done.", at=12))

    late = replace(desk.conversations, clock=Late())
    is_idle = Claim(Activity.IDLE, desk.clock.now() + timedelta(seconds=5))
    found = await late.reported_turns(desk.database, S, is_idle, tries=MAX_ANSWER_LOOKS)

    assert found == Answer("Done.", path)


@pytest.mark.anyio
@pytest.mark.spec("F3")
async def test_where_two_files_may_be_meant_none_is_read(desk: Desk) -> None:
    written(desk.folder, line("Done.", at=12))
    other = desk.folder.with_name("-other")
    other.mkdir()
    written(other, line("Something else.", at=12))

    assert await desk.answer() is None


@pytest.mark.anyio
@pytest.mark.spec("F3", "G6")
async def test_where_a_transcript_is_is_told_once_and_kept(desk: Desk) -> None:
    path = written(desk.folder, line("Done.", at=12))
    answer = await desk.answer()
    assert answer
    journal = Journal("here", desk.clock, {})
    ends = answer.added_to([facts.TurnEnded(S)])

    await desk.database.write(lambda db: journal.append(db, *ends))

    assert ends == [facts.TranscriptFound(S, path), facts.TurnEnded(S, "Done.")]
    kept = await desk.database.read(partial(sessions.get, session=S))
    assert kept.transcript_path == path
    assert await desk.answer() == Answer()


@pytest.mark.parametrize("how", ["interrupted", "failed"])
def test_a_turn_that_did_not_finish_gets_no_words(
    how: Literal["interrupted", "failed"],
) -> None:
    ended = facts.TurnEnded(S, "", how)

    assert Answer("words", "/path").added_to([ended]) == [ended]
