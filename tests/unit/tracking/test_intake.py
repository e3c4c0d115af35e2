from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from time import monotonic

import pytest

from rookery.agents.catalog import AGENTS
from rookery.api.hook_socket import HookSocket
from rookery.clock import WallClock
from rookery.hook_protocol import Hook, read_call
from rookery.model.errors import HookUnreadable, RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity, SessionState, Status
from rookery.model.messages import Words
from rookery.model.permissions import Outcome, Verdict
from rookery.model.sessions import Badge, NativeId, Session
from rookery.permissions.decisions import Pass, Permissions, WaitForAnswer
from rookery.permissions.offline_answers import OfflineAnswers
from rookery.permissions.rules_file import RulesFile
from rookery.permissions.stop_policy import StopPolicy
from rookery.processes import Process
from rookery.programs.hook import TAKEN
from rookery.sessions import record_end
from rookery.sessions.commands import MessageSender, send
from rookery.store import flags, message_batches, requests, senders, sessions, tokens, turns
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.intake import TYPED_BY_US, Intake, PromptNote
from rookery.tracking.transcript_reader import TranscriptReader
from tests.support.daemon import no_policy
from tests.support.rows import make
from tests.support.waiting import kinds

pytestmark = pytest.mark.anyio

IDLE = SessionState(Status.RUNNING, Activity.IDLE)


class Door:
    """Hooks as they come in, each under a key of its own."""

    def __init__(self, journal: Journal, database: Database) -> None:
        rules = RulesFile(database.path.with_name("rules.toml"))
        permissions = Permissions(journal, rules, timedelta(minutes=5))
        self.intake = Intake(database, journal, AGENTS, permissions, no_policy(journal))
        self._journal = journal
        self._database = database
        self._keys = 0

    def opened(self, folder: Path) -> HookSocket:
        """Make the door that hook programs come to."""
        rules_file = self.intake.permissions.rules_file
        offline_answers = OfflineAnswers(folder / "absence.json", AGENTS, rules_file, "ask")
        clock = self.intake.journal.clock
        return HookSocket(
            self.intake, folder / "door", folder / "spool", clock, offline_answers
        )

    async def prepare(
        self, name: str, native_id: str | None = None, *, agent: str = "demo"
    ) -> Badge:
        """Make a session that is about to start, and its badge."""

        def prepare(db: Connection) -> Badge:
            known = native_id and NativeId(native_id)
            row = make(self._journal, name, native_id=known, agent=agent)
            sessions.add(db, row)
            return tokens.give_badge(db, row.id, at=self._journal.clock.now())

        return await self._database.write(prepare)

    async def hook(self, event: str, native_id: str, badge: Badge | None = None) -> None:
        self._keys += 1
        await self.hook_again(event, native_id, badge)

    async def hook_again(self, event: str, native_id: str, badge: Badge | None = None) -> None:
        fields = {"prompt": "go", "reason": "exit", "cwd": "/repo/api"}
        payload = {"session_id": native_id, "hook_event_name": event, **fields}
        await self.intake.receive(Hook(str(self._keys), "demo", badge, payload))

    async def left(self, reason: str, native_id: str, badge: Badge | None = None) -> None:
        self._keys += 1
        payload = {"session_id": native_id, "cwd": "/", "hook_event_name": "SessionEnd"}
        hook = Hook(str(self._keys), "demo", badge, {**payload, "reason": reason})
        await self.intake.receive(hook)

    async def end(self, name: str) -> None:
        def end(db: Connection) -> None:
            record_end.end(db, self._journal, SessionId(name), outcome="failed", reason="x")

        await self._database.write(end)

    async def all(self) -> list[Session]:
        return await self._database.read(everyone)

    async def session(self, name: str) -> Session:
        return await self._database.read(lambda db: sessions.get(db, SessionId(name)))


def everyone(db: Connection) -> list[Session]:
    rows = db.execute("select * from sessions order by created_at, native_id")
    return [sessions.read_session(row) for row in rows]


@pytest.fixture
def door(journal: Journal, database: Database) -> Door:
    return Door(journal, database)


@pytest.mark.spec("C4")
async def test_a_badge_binds_a_session_that_has_no_native_id(door: Door) -> None:
    badge = await door.prepare("worker")

    await door.hook("SessionStart", "n1", badge)

    (bound,) = await door.all()
    assert (bound.id, bound.native_id, bound.state) == ("worker", "n1", IDLE)


@pytest.mark.spec("C4")
async def test_who_does_not_wear_a_sessions_badge_does_not_move_it(door: Door) -> None:
    badge, foreign = await door.prepare("worker"), await door.prepare("other")
    await door.hook("SessionStart", "n1", badge)

    for forged in (None, foreign, Badge("made up")):
        with pytest.raises(HookUnreadable, match="badge"):
            await door.hook("UserPromptSubmit", "n1", forged)

    assert (await door.session("worker")).state == IDLE
    assert (await door.session("other")).native_id is None


@pytest.mark.spec("C4")
async def test_a_native_id_that_has_no_badge_is_found_whatever_badge_is_worn(
    door: Door,
) -> None:
    foreign = await door.prepare("other")
    await door.hook("SessionStart", "n1")

    await door.hook("UserPromptSubmit", "n1", foreign)

    found = {each.native_id: each.activity for each in await door.all()}
    assert found == {"n1": Activity.WORKING, None: None}


@pytest.mark.spec("A8", "C4")
async def test_a_nested_agent_inherits_the_badge_but_not_the_session(door: Door) -> None:
    badge = await door.prepare("worker")
    await door.hook("SessionStart", "n1", badge)

    await door.hook("SessionStart", "n2", badge)

    outer, inner = await door.all()
    assert (outer.id, outer.native_id) == ("worker", "n1")
    assert (inner.runtime, inner.native_id) == ("headless", "n2")


@pytest.mark.spec("C4")
async def test_a_forged_badge_binds_nothing(door: Door) -> None:
    await door.prepare("worker")

    await door.hook("SessionStart", "n1", Badge("forged"))

    assert (await door.session("worker")).native_id is None
    assert len(await door.all()) == 2


@pytest.mark.spec("C4")
async def test_the_badge_of_one_who_is_over_binds_nothing(door: Door) -> None:
    badge = await door.prepare("worker")
    await door.end("worker")

    await door.hook("SessionStart", "n1", badge)

    assert (await door.session("worker")).native_id is None


@pytest.mark.spec("A8", "C4")
async def test_an_unknown_session_is_made_known_whatever_it_says_first(door: Door) -> None:
    await door.hook("Stop", "native-number-1")

    (session,) = await door.all()
    assert (session.runtime, session.native_id) == ("headless", "native-number-1")
    assert (session.name, session.title, session.label) == ("api", "api", "native-numbe")
    assert (session.project_path, session.origin) == ("/repo/api", "hook")
    assert session.state == IDLE
    assert session.id != "native-number-1"


@pytest.mark.spec("A1", "A8")
async def test_two_unknown_sessions_in_one_folder_stay_two(door: Door) -> None:
    await door.hook("SessionStart", "n1")
    await door.hook("SessionStart", "n2")

    assert [each.name for each in await door.all()] == ["api", "api-2"]


@pytest.mark.spec("A8", "A4")
async def test_a_headless_session_is_completed_when_it_says_so(door: Door) -> None:
    await door.hook("SessionStart", "n1")

    await door.left("prompt_input_exit", "n1")

    (session,) = await door.all()
    assert (session.status, session.reason) == ("completed", "it ended: prompt_input_exit")


@pytest.mark.spec("A4", "A6")
async def test_of_a_session_that_we_hold_the_end_of_its_program_tells(door: Door) -> None:
    badge = await door.prepare("worker", "n1")
    await door.hook("SessionStart", "n1", badge)

    await door.left("prompt_input_exit", "n1", badge)

    assert (await door.session("worker")).state == IDLE


@pytest.mark.spec("A1", "A4")
@pytest.mark.parametrize("reason", ["clear", "resume"])
async def test_an_end_that_is_none_gives_the_session_another_native_id(
    door: Door, reason: str
) -> None:
    badge = await door.prepare("worker")
    await door.hook("SessionStart", "n1", badge)

    await door.left(reason, "n1", badge)
    await door.hook("SessionStart", "n2", badge)

    (session,) = await door.all()
    assert (session.id, session.native_id, session.state) == ("worker", "n2", IDLE)


@pytest.mark.spec("A2")
async def test_a_late_hook_belongs_to_the_dead_and_does_not_wake_them(door: Door) -> None:
    badge = await door.prepare("worker", "n1")
    await door.hook("SessionStart", "n1", badge)
    await door.end("worker")

    await door.hook("Stop", "n1", badge)

    (session,) = await door.all()
    assert session.state == SessionState(Status.FAILED, None, "x")


@pytest.mark.spec("A2", "A10")
async def test_a_start_after_the_end_is_a_new_life(door: Door) -> None:
    badge = await door.prepare("worker", "n1")
    await door.hook("SessionStart", "n1", badge)
    await door.end("worker")

    await door.hook("SessionStart", "n1")
    await door.hook("UserPromptSubmit", "n1")

    states = sorted(session.status for session in await door.all())
    assert states == [Status.FAILED, Status.RUNNING]


@pytest.mark.spec("C4")
async def test_a_start_that_was_spooled_until_after_the_end_makes_no_ghost(door: Door) -> None:
    badge = await door.prepare("worker", "n1")
    await door.end("worker")

    await door.hook("SessionStart", "n1", badge)

    assert [session.id for session in await door.all()] == ["worker"]


@pytest.mark.spec("C3", "K3")
async def test_a_hook_that_comes_again_is_taken_once(door: Door, database: Database) -> None:
    await door.hook("UserPromptSubmit", "n1")

    await door.hook_again("UserPromptSubmit", "n1")

    assert await database.read(kinds) == ["turn-started", "session-renamed"]


@pytest.mark.spec("C2")
async def test_an_unknown_event_is_harmless(door: Door, database: Database) -> None:
    await door.hook("SomethingNew", "n1")

    assert await database.read(kinds) == ["noted", "session-found"]
    (found,) = await door.all()
    assert found.state == IDLE


@pytest.mark.spec("C2")
async def test_a_hook_that_says_too_little_is_refused_at_the_door(door: Door) -> None:
    with pytest.raises(HookUnreadable, match="prompt"):
        await door.intake.receive(Hook("1", "demo", None, {"prompt": "go"}))
    with pytest.raises(HookUnreadable, match="nobody"):
        await door.intake.receive(Hook("1", "nobody", None, {}))


@pytest.mark.spec("C5")
async def test_what_nothing_can_be_made_of_is_parked_and_visible(
    door: Door, database: Database
) -> None:
    await door.intake.park("key-1", HookUnreadable("no JSON"))
    await door.intake.park("key-1", HookUnreadable("again"))

    def parked(db: Connection) -> list[tuple[str, str]]:
        return [(row["key"], row["error"]) for row in db.execute("select * from hooks")]

    ((key, error),) = await database.read(parked)
    assert key == "key-1"
    assert "no JSON" in error


@pytest.mark.parametrize(
    ("call", "badge"),
    [
        (b'k demo 9 - - 1 -\n{"a": "\\n"}', None),
        (b'k demo 9 b-1 %1 1 /run/a b\n{"a": "\\n"}', Badge("b-1")),
        (b'k demo 9 b-1 %1 1 -\n{"a": "\\n"}', Badge("b-1")),
    ],
)
def test_a_call_is_read_as_the_hook_program_writes_it(call: bytes, badge: Badge | None) -> None:
    assert read_call(call) == Hook("k", "demo", badge, {"a": "\n"})


NESTED = pytest.param(b"k demo 9 - - 1 -\n" + b"[" * 100_000, id="nested")


@pytest.mark.spec("K4")
@pytest.mark.parametrize(
    "call",
    [
        b"",
        b"k demo -\n{}",
        b"k demo 9 - - 1\n{}",
        b"k demo 9 - - 1 -\nno json",
        b"k demo 9 - - 1 -\n[]",
        b"k demo 9 - - 1 -\n\xff",
        b'k demo 9 - - 1 -\n{"a": ' + b"9" * 5_000 + b"}",
        NESTED,
    ],
)
def test_what_is_no_call_is_refused(call: bytes) -> None:
    with pytest.raises(HookUnreadable):
        read_call(call)


def nested(depth: int) -> bytes:
    return b'{"a": ' * depth + b"1" + b"}" * depth


@pytest.mark.spec("D3", "K4")
@pytest.mark.parametrize("depth", [50, 101, 300, 20_000])
def test_what_is_nested_too_deep_is_cut_out_and_the_rest_is_read(depth: int) -> None:
    body = b'{"tool_input": {"x": [%s, 2], "command": "}]\\" rm"}}' % nested(depth)

    given = read_call(b"k demo 9 - - 1 -\n" + body).payload["tool_input"]

    level, found = 2, given["x"][0]  # below the payload and its input
    while isinstance(found, dict):
        level, found = level + 1, found["a"]
    assert (given["x"][1], given["command"]) == (2, '}]" rm')
    assert found == (1 if depth == 50 else None)
    assert level < 101


@pytest.mark.spec("K4")
@pytest.mark.parametrize("text", ["[" * 101 + '"' + '\\"' * 120_000, "[" * 250_000])
def test_what_never_ends_is_given_up_at_once(text: str) -> None:
    began = monotonic()

    with pytest.raises(HookUnreadable):
        read_call(b"k demo 9 - - 1 -\n" + text.encode())

    assert monotonic() - began < 5


@pytest.mark.spec("C2", "D3")
@pytest.mark.parametrize("half", [b"\\ud83d", b"\xed\xa0\xbd", b"\xff"])
def test_bytes_that_are_no_text_hide_nothing_of_a_call(half: bytes) -> None:
    body = b'{"tool_name": "Bash", "tool_input": {"command": "rm x", "y": "%s"}}' % half

    given = read_call(b"k demo 9 - - 1 -\n" + body).payload["tool_input"]

    assert given["command"] == "rm x"
    assert given["y"].encode()


@pytest.mark.spec("C5", "K4")
@pytest.mark.parametrize(
    "poison",
    [
        b"no call at all",
        b"k2 demo 9 - - 1 -\n" + json.dumps({"session_id": 7}).encode(),
        pytest.param(
            b'k2 demo 9 - - 1 -\n{"session_id": "n2", "cwd": "/", "prompt": "half \\ud83d",'
            b' "hook_event_name": "UserPromptSubmit"}',
            id="surrogate",
        ),
        pytest.param(
            b'k2 opencode 9 - - 1 -\n{"session_id": "n2", "cwd": "/",'
            b' "hook_event_name": "Usage", "tokens": {"input": 1%s, "output": 1,'
            b' "reasoning": 0, "cache": {"read": 0, "write": 0}}}' % (b"0" * 400),
            id="more than there is",
        ),
        NESTED,
    ],
)
async def test_a_poisonous_hook_in_the_spool_does_not_stop_the_others(
    door: Door, database: Database, tmp_path: Path, poison: bytes
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    fields = {"session_id": "n1", "cwd": "/", "hook_event_name": "Stop"}
    (spool / "1").write_bytes(poison)
    (spool / "2").write_bytes(b"k9 demo 9 - - 1 -\n" + json.dumps(fields).encode())

    await door.opened(tmp_path).drain()

    assert list(spool.iterdir()) == []
    assert (await database.read(kinds))[-1] == "turn-ended"


@pytest.mark.spec("C5")
async def test_what_an_agent_tells_twice_is_taken_once(door: Door, database: Database) -> None:
    payload = {"session_id": "n1", "cwd": "/", "hook_event_name": "UserPromptSubmit"}
    told = {**payload, "turn_id": "t1", "prompt": "go"}

    for key, each in (("1", told), ("2", told), ("3", {**told, "turn_id": "t2"})):
        await door.intake.receive(Hook(key, "codex", None, each))

    assert await database.read(kinds) == ["turn-started", "session-renamed", "turn-started"]


@pytest.mark.spec("D2")
async def test_an_echo_waits_for_the_same_answer(door: Door, database: Database) -> None:
    await database.write(lambda db: flags.set_mode(db, "remote"))
    payload = {"session_id": "n1", "cwd": "/", "hook_event_name": "PermissionRequest"}
    told = {**payload, "tool_name": "Bash", "tool_input": {"command": "ls"}}

    first, second = [
        await door.intake.receive(Hook(key, "codex", None, told, pid=1)) for key in "12"
    ]

    assert isinstance(first, WaitForAnswer)
    assert second == first


@pytest.mark.spec("C3", "C5")
@pytest.mark.parametrize("was_long_empty", [True, False])
async def test_what_an_agent_could_not_tell_comes_before_what_it_tells_next(
    door: Door, database: Database, tmp_path: Path, *, was_long_empty: bool
) -> None:
    spool = tmp_path / "spool"
    hooks = door.opened(tmp_path)
    async with hooks.open():
        if was_long_empty:
            os.utime(spool, (1, 1))
            await hooks.drain()
        (spool / "1").write_bytes(call("1", "UserPromptSubmit", prompt="go"))

        reader, writer = await asyncio.open_unix_connection(tmp_path / "door")
        writer.write(call("2", "Stop"))
        answer = await reader.read()
        writer.close()

    assert answer == TAKEN
    assert await database.read(kinds) == ["turn-started", "session-renamed", "turn-ended"]
    assert list(spool.iterdir()) == []


@pytest.mark.spec("E8")
async def test_an_agent_is_told_beside_its_prompt_who_has_typed_it(
    door: Door, database: Database, journal: Journal
) -> None:
    await door.prepare("anna", "n0")
    badge = await door.prepare("worker", "n1")
    await door.hook("SessionStart", "n1", badge)

    def speak(db: Connection) -> str:
        speaker = MessageSender("session anna", SessionId("anna"))
        to, words = SessionId("worker"), Words("Build it.", 0)
        send(db, journal, speaker=speaker, recipient=to, words=words)
        parcel = message_batches.claim(db, to, journal.clock.now())
        return parcel.words if parcel else ""

    prompt = await database.write(speak)
    payload = {"session_id": "n1", "cwd": "/", "hook_event_name": "UserPromptSubmit"}
    told = await door.intake.receive(Hook("k1", "demo", badge, {**payload, "prompt": prompt}))
    own = await door.intake.receive(Hook("k2", "demo", badge, {**payload, "prompt": "Mine."}))

    assert prompt == "[rookery] session anna (anna) to worker: a message\nBuild it."
    assert told == PromptNote(
        f"{TYPED_BY_US} [rookery] session anna (anna) to worker: a message"
    )
    assert own == Pass()


@pytest.mark.spec("C3", "K4")
async def test_a_spool_that_cannot_be_looked_through_keeps_no_call_out(
    door: Door, database: Database, tmp_path: Path
) -> None:
    hooks = door.opened(tmp_path)
    async with hooks.open():
        (tmp_path / "spool").rmdir()
        (tmp_path / "spool").touch()

        reader, writer = await asyncio.open_unix_connection(tmp_path / "door")
        writer.write(call("1", "Stop"))
        answer = await reader.read()
        writer.close()

    assert answer == TAKEN
    assert await database.read(kinds) == ["turn-ended"]


def call(key: str, event: str, **more: str) -> bytes:
    """Write a call as the hook program does."""
    body = json.dumps({"session_id": "n1", "cwd": "/", "hook_event_name": event, **more})
    return f"{key} demo {len(body)} - - 1 -\n{body}".encode()


@pytest.mark.spec("C3", "C4")
async def test_a_call_whose_caller_did_not_wait_is_taken_once_it_comes_from_the_spool(
    door: Door, database: Database, journal: Journal
) -> None:
    known = Process.of(os.getpid())
    assert known
    row = make(journal, "anna", runtime="headless", native_id="n1", process=known.key)
    await database.write(lambda db: sessions.add(db, row))
    payload = {"session_id": "n1", "cwd": "/", "hook_event_name": "UserPromptSubmit"}
    told = Hook("1", "demo", None, {**payload, "prompt": "go"})

    with pytest.raises(RuntimeFailed):
        await door.intake.receive(replace(told, pid=pid_of_one_that_is_over()))
    await door.intake.receive(replace(told, named=(known,)))

    assert await database.read(kinds) == ["turn-started"]
    assert (await door.session("anna")).activity is Activity.WORKING


def pid_of_one_that_is_over() -> int:
    with subprocess.Popen(["/bin/true"]) as done:
        return done.pid


DENY_RM = '[[deny]]\ninput.command = { regex = "rm" }\n'


def unreadable(event: str) -> dict[str, bytes]:
    """Return payloads that cannot be read, but for the name of their event."""
    head = b'{"cwd": "/", "tool_name": "Bash", "hook_event_name": "%s", ' % event.encode()
    return {
        "digits": head + b'"session_id": "n1", "tool_input": {"x": %s}}' % (b"1" * 5_000),
        "nested": head
        + b'"session_id": "n1", "tool_input": {"x": %s, "y": "%s"}}'
        % (b"[" * 30_000 + b"]" * 30_000, b"y" * 300_000),
        "id": head + b'"session_id": "%s", "tool_input": {}}' % (b"n" * 1_000_000),
        "cut": head,
        "list": head + b'"session_id": "n1", "tool_input": ["rm x"]}',
    }


async def told(folder: Path, agent: str, payload: bytes) -> bytes:
    """Make a live call, and return what its agent is told."""
    reader, writer = await asyncio.open_unix_connection(folder / "door")
    writer.write(f"v2 k-{agent} {agent} {len(payload)} - - 1 -\n".encode() + payload)
    answer = await reader.read()
    writer.close()
    assert answer.startswith(TAKEN)
    return answer.removeprefix(TAKEN)


@pytest.mark.spec("C3", "D3")
@pytest.mark.parametrize("kind", ["digits", "nested", "id", "cut", "list"])
@pytest.mark.parametrize(("agent", "said"), [("claude", b'"ask"'), ("codex", b'"deny"')])
async def test_a_call_that_cannot_be_read_never_passes_by_a_rule(
    door: Door, tmp_path: Path, kind: str, agent: str, said: bytes
) -> None:
    door.intake.permissions.rules_file.path.write_text(DENY_RM)
    async with door.opened(tmp_path).open():
        before = await told(tmp_path, agent, unreadable("PreToolUse")[kind])
        after = await told(tmp_path, agent, unreadable("PostToolUse")[kind])

    assert said in before
    assert after == b""


@pytest.mark.spec("C3", "D3")
async def test_without_rules_a_call_that_cannot_be_read_is_left_alone(
    door: Door, tmp_path: Path
) -> None:
    async with door.opened(tmp_path).open():
        assert await told(tmp_path, "claude", unreadable("PreToolUse")["digits"]) == b""


@pytest.mark.spec("D1", "D3")
async def test_a_call_that_had_to_be_changed_to_be_read_is_asked_about(
    door: Door, tmp_path: Path
) -> None:
    rules = door.intake.permissions.rules_file.path
    rules.write_text(f'{DENY_RM}[[allow]]\ninput.command = "*"\n')
    payload = (
        b'{"cwd": "/", "tool_name": "Bash", "hook_event_name": "PreToolUse",'
        b' "session_id": "n1", "tool_input": {"command": "r\xffm x"}}'
    )
    async with door.opened(tmp_path).open():
        answer = await told(tmp_path, "claude", payload)

    assert b'"ask"' in answer


@pytest.mark.spec("D1", "D2")
@pytest.mark.parametrize("pid", [1, None])
@pytest.mark.parametrize(
    ("granted", "other"),
    [
        (b'"cat \xff"', b'"cat \xfe"'),
        (b"[" * 600 + b'"A"' + b"]" * 600, b"[" * 600 + b'"B"' + b"]" * 600),
    ],
)
async def test_what_is_allowed_for_the_session_lets_no_call_pass_that_looks_the_same(
    door: Door, database: Database, granted: bytes, other: bytes, pid: int | None
) -> None:
    await database.write(lambda db: flags.set_mode(db, "remote"))
    head = b'{"session_id": "n1", "cwd": "/", "hook_event_name": "PermissionRequest",'
    first, second = (
        head + b' "tool_name": "Bash", "tool_input": {"command": %s}}' % each
        for each in (granted, other)
    )
    permissions = door.intake.permissions

    def allow(db: Connection) -> None:
        (session,) = everyone(db)
        (asked,) = requests.open_of(db, session.id)
        permissions.answer(db, asked, Verdict(Outcome.ALLOWED, "anna", for_session=True))

    line = "v2 k{} claude {} - - 1 -\n"
    await door.intake.receive(read_call(line.format(1, len(first)).encode() + first, pid=pid))
    await database.write(allow)
    ruling = await door.intake.receive(
        read_call(line.format(2, len(second)).encode() + second, pid=1)
    )

    assert isinstance(ruling, WaitForAnswer)


@pytest.mark.spec("C3")
async def test_a_hook_program_of_the_first_version_is_answered(
    door: Door, database: Database, tmp_path: Path
) -> None:
    async with door.opened(tmp_path).open():
        reader, writer = await asyncio.open_unix_connection(tmp_path / "door")
        body = call("k", "Stop").partition(b"\n")[2]
        writer.write(b"k1 demo - - 12\n" + body)
        writer.write_eof()
        answer = await reader.read()
        writer.close()

    assert answer == TAKEN
    assert await database.read(kinds) == ["turn-ended"]


@pytest.mark.spec("D6", "K3")
@pytest.mark.parametrize(
    ("said", "told", "kind"),
    [("Use make.", "Use make.", "noted"), ("Let stop", "", "turn-ended")],
)
async def test_a_stop_hook_that_asks_again_is_told_the_same_and_nothing_is_written_again(
    door: Door, database: Database, said: str, told: str, kind: str
) -> None:
    policy = StopPolicy(door.intake.journal, "ask", 2, "failed", timedelta(minutes=5))
    intake = replace(door.intake, stops=policy)
    payload = {"session_id": "n1", "cwd": "/", "hook_event_name": "Stop"}
    hook = Hook("1", "claude", None, {**payload, "last_assistant_message": "It failed."}, pid=1)
    ruling = await intake.receive(hook)
    assert isinstance(ruling, WaitForAnswer)
    answers = {"Shall it go on?": (said,)}
    verdict = Verdict(Outcome.ANSWERED, "anna", answers=answers)

    def answer(db: Connection) -> None:
        intake.permissions.answer(db, requests.get(db, ruling.request), verdict)

    await database.write(answer)

    again = [await intake.receive(hook) for _ in range(2)]
    words = [await intake.answers.wait(hook, ruling.request) for _ in range(2)]

    assert again == [ruling, ruling]
    assert words[0] == words[1]
    assert told in words[0]
    assert (await database.read(kinds)).count(kind) == 1


@pytest.mark.spec("D2", "C3")
@pytest.mark.parametrize("rules", ["", '[[allow]]\ntool = "Bash"\n'])
async def test_a_hook_program_that_gave_up_leaves_its_request_to_the_dialog(
    door: Door, database: Database, tmp_path: Path, rules: str
) -> None:
    await database.write(lambda db: flags.set_mode(db, "remote"))
    door.intake.permissions.rules_file.path.write_text(rules)
    await door.prepare("anna", "n1")
    anna = SessionId("anna")
    body = json.dumps(
        {
            "session_id": "n1",
            "cwd": "/",
            "hook_event_name": "PermissionRequest",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
        }
    )
    badge = await database.write(
        lambda db: tokens.give_badge(db, anna, at=door.intake.journal.clock.now())
    )
    async with door.opened(tmp_path).open():
        reader, writer = await asyncio.open_unix_connection(tmp_path / "door")
        writer.write(f"v2 k1 demo {len(body)} {badge} - 1 -\n{body}".encode())
        writer.write_eof()
        async with asyncio.timeout(30):
            await reader.read()
        writer.close()
        (found,) = await database.read(partial(requests.open_of, session=anna))

    assert found.by_keys
    assert found.deadline is None


@pytest.mark.spec("C3", "K5")
async def test_no_badge_of_a_call_appears_in_the_log(
    door: Door, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with door.opened(tmp_path).open():
        for line in (b"k1 demo 5x s3cr3t - 12\n", b"v2 k1 demo s3cr3t - 1\n", b"s3cr3t\n"):
            reader, writer = await asyncio.open_unix_connection(tmp_path / "door")
            writer.write(line + b"not JSON")
            writer.write_eof()
            await reader.read()
            writer.close()

    assert caplog.records
    assert "s3cr3t" not in caplog.text


@pytest.mark.spec("A11", "C5")
async def test_facts_of_spooled_calls_bear_the_time_at_which_the_hook_ran(
    door: Door, database: Database, journal: Journal
) -> None:
    ran_at = journal.clock.now() - timedelta(hours=1)
    payload = {"session_id": "n1", "cwd": "/"}
    for seconds, event in ((0.0, "UserPromptSubmit"), (8.3, "Stop")):
        moment = ran_at + timedelta(seconds=seconds)
        key = f"{round(moment.timestamp() * 1e9):020d}-{0:016x}"
        told = {**payload, "hook_event_name": event, "prompt": "go"}
        await door.intake.receive(
            read_call(f"v2 {key} demo 9 - - 1 -\n{json.dumps(told)}".encode())
        )

    def turns(db: Connection) -> list[tuple[str, str]]:
        return [
            (row["started_at"], row["ended_at"]) for row in db.execute("select * from turns")
        ]

    ended_at = ran_at + timedelta(seconds=8.3)
    assert await database.read(turns) == [(ran_at.isoformat(), ended_at.isoformat())]
    (session,) = await door.all()
    assert (session.created_at, session.since) == (ran_at, ended_at)


@pytest.mark.spec("C5")
async def test_no_fact_is_dated_in_the_future(door: Door, journal: Journal) -> None:
    now = journal.clock.now()
    payload = {"session_id": "n1", "cwd": "/", "hook_event_name": "Stop"}
    tomorrow = now + timedelta(days=1)

    await door.intake.receive(Hook("k1", "demo", None, payload, at=tomorrow))

    (session,) = await door.all()
    assert session.since == now


@pytest.fixture
def codex() -> Iterator[int]:
    """Give the pid of a process that runs under the name of an agent."""
    with subprocess.Popen(["codex", "600"], executable="/bin/sleep") as process:
        yield process.pid
        process.kill()


def codex_hook(event: str, native_id: str, badge: Badge, pid: int | None) -> Hook:
    payload = {"session_id": native_id, "hook_event_name": event, "cwd": "/", "reason": "other"}
    payload |= {"prompt": "go", "last_assistant_message": "done"}
    return Hook(f"{event} {native_id} {pid}", "codex", badge, payload, pid=pid)


@pytest.mark.spec("A1")
async def test_a_process_that_begins_another_conversation_stays_the_same_session(
    door: Door, codex: int
) -> None:
    """Codex tells nothing when it leaves a conversation, and of its end only afterwards."""
    badge = await door.prepare("worker", agent="codex")

    for event, native_id, pid in [
        ("SessionStart", "n1", codex),
        ("SessionStart", "n2", codex),
        ("SessionEnd", "n1", codex),
        ("SessionEnd", "n1", None),  # from the spool: who called is not known
    ]:
        await door.intake.receive(codex_hook(event, native_id, badge, pid))

    (session,) = await door.all()
    assert (session.id, session.native_id, session.state) == ("worker", "n2", IDLE)


@pytest.mark.spec("A6", "D1")
async def test_a_session_that_resumes_the_conversation_of_a_live_one_is_still_heard(
    door: Door, codex: int
) -> None:
    first = await door.prepare("first", agent="codex")
    second = await door.prepare("second", agent="codex")
    holder = codex_hook("SessionStart", "n1", first, os.getpid())
    await door.intake.receive(holder)
    await door.intake.receive(codex_hook("SessionStart", "n2", second, codex))

    for event, pid in [("SessionStart", codex), ("UserPromptSubmit", codex)]:
        await door.intake.receive(codex_hook(event, "n1", second, pid))

    found = {each.id: (each.native_id, each.activity) for each in await door.all()}
    assert found == {"first": ("n1", "idle"), "second": ("n2", "working")}

    await door.end("first")
    await door.intake.receive(codex_hook("Stop", "n1", second, codex))

    assert (await door.session("second")).native_id == "n1"
    assert (await door.session("second")).activity is Activity.IDLE


@pytest.mark.spec("C4")
async def test_another_process_that_has_the_badge_is_another_session(
    door: Door, codex: int
) -> None:
    badge = await door.prepare("worker", agent="codex")
    await door.intake.receive(codex_hook("SessionStart", "n1", badge, codex))

    await door.intake.receive(codex_hook("SessionStart", "n2", badge, os.getpid()))

    found = {(each.id == "worker", each.native_id) for each in await door.all()}
    assert found == {(True, "n1"), (False, "n2")}


@pytest.mark.spec("A1")
async def test_the_model_that_a_hook_names_is_the_sessions_from_then_on(
    door: Door, database: Database
) -> None:
    badge = await door.prepare("worker", agent="codex")
    payload = {"session_id": "n1", "cwd": "/", "model": "first", "prompt": "go"}

    for event, model in [
        ("SessionStart", "first"),
        ("UserPromptSubmit", "first"),
        ("Stop", "second"),
        ("UserPromptSubmit", "second"),
    ]:
        told = {**payload, "hook_event_name": event, "model": model}
        await door.intake.receive(Hook(f"{event} {model}", "codex", badge, told))

    assert (await door.session("worker")).model == "second"
    assert (await database.read(kinds)).count("model-chosen") == 1


@pytest.mark.spec("D2")
@pytest.mark.parametrize("agent", ["claude", "codex", "demo"])
async def test_a_command_that_is_allowed_for_the_session_is_asked_about_in_another_folder(
    door: Door, database: Database, agent: str
) -> None:
    await database.write(lambda db: flags.set_mode(db, "remote"))
    badge = await door.prepare("worker", agent=agent)
    event = {"session_id": "n1", "hook_event_name": "PermissionRequest", "tool_name": "Bash"}
    payload = {**event, "tool_input": {"command": "rm -r build"}}

    async def ask(key: str, folder: str) -> object:
        told = {**payload, "cwd": folder, "turn_id": key}
        hook = Hook(key, agent, badge, told, pid=os.getpid())
        return await door.intake.receive(hook)

    def allow(db: Connection) -> None:
        (asked,) = requests.open_of(db, SessionId("worker"))
        verdict = Verdict(Outcome.ALLOWED, "anna", for_session=True)
        door.intake.permissions.answer(db, asked, verdict)

    first = await ask("k1", "/code")
    await database.write(allow)

    assert isinstance(first, WaitForAnswer)
    assert await ask("k2", "/code") == Verdict(Outcome.ALLOWED, "grant")
    assert isinstance(await ask("k3", "/code/other"), WaitForAnswer)


@pytest.mark.spec("K5")
@pytest.mark.parametrize(
    ("agent", "more", "known"),
    [
        ("claude", {}, "plan"),
        ("claude", {"agent_id": "a1"}, "acceptEdits"),  # a subagent's is not the session's
        ("demo", {}, "plan"),
        ("codex", {}, ""),  # it tells how it asks, not which of its modes it is in
    ],
)
async def test_the_permission_mode_that_a_hook_told_last_is_kept(
    door: Door, database: Database, agent: str, more: dict[str, str], known: str
) -> None:
    badge = await door.prepare("worker", agent=agent)
    payload = {"session_id": "n1", "cwd": "/", "hook_event_name": "UserPromptSubmit"}

    for mode, added in [("acceptEdits", {}), ("plan", more), ("", {})]:
        told = {**payload, "prompt": "go", "permission_mode": mode, **added}
        await door.intake.receive(Hook(f"key {mode}", agent, badge, told))

    sending = await database.read(partial(senders.get, session=SessionId("worker")))
    assert sending.present_mode == known


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("last", "ending"),
    [
        ({"type": "error", "content": "[API Error: 401]"}, ("failed", "[API Error: 401]")),
        ({"type": "info", "content": "Request cancelled."}, ("interrupted", "")),
        ({"type": "info", "content": "Hello."}, ("failed", "")),
    ],
    ids=["error", "interruption", "neither"],
)
async def test_how_a_turn_ended_is_read_where_the_hook_does_not_say_it(
    database: Database, journal: Journal, tmp_path: Path, last: dict[str, str], ending: object
) -> None:
    """Gemini ends a turn with the same words, whether it failed or was interrupted."""
    door = Door(journal, database)
    conversations = TranscriptReader({}, WallClock())
    intake = replace(door.intake, conversations=conversations)
    badge = await door.prepare("worker", agent="gemini")
    transcript = tmp_path / "session-2026-11-01T00-00-n1.jsonl"
    fields = {"session_id": "n1", "cwd": "/", "transcript_path": str(transcript)}
    hooks = [
        {"hook_event_name": "SessionStart"},
        {"hook_event_name": "BeforeAgent", "prompt": "go"},
        {"hook_event_name": "AfterAgent", "prompt_response": "[no response text]"},
    ]
    at = {"timestamp": journal.clock.now().isoformat()}
    transcript.write_text(json.dumps({**at, **last}) + "\n")

    for key, told in enumerate(hooks):
        await intake.receive(Hook(str(key), "gemini", badge, {**fields, **told}, os.getpid()))

    (turn,) = await database.read(lambda db: turns.of_session(db, SessionId("worker"), last=1))
    assert (turn.how, turn.answer) == ending


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("told", "said", "answer"),
    [
        ("one two three two  three", ["one two three"], "one two three"),
        ("very very", ["very very"], "very very"),
        ("I look\naaabbb bbb", ["I look", "aaabbb"], "I look\naaabbb"),
        ("other words", ["one two three"], "other words"),
        ("one two  two", ["one two", "not told"], "one two  two"),
        ("told only", [], "told only"),
    ],
)
async def test_an_answer_that_the_hook_repeats_in_part_is_taken_from_the_transcript(
    door: Door, tmp_path: Path, told: str, said: list[str], answer: str
) -> None:
    """Gemini repeats the chunks in which an answer was streamed."""
    conversations = TranscriptReader({}, WallClock())
    intake = replace(door.intake, conversations=conversations)
    badge = await door.prepare("worker", agent="gemini")
    transcript = tmp_path / "session-2026-11-01T00-00-n1.jsonl"
    fields = {"session_id": "n1", "cwd": "/", "transcript_path": str(transcript)}
    hooks = [
        {"hook_event_name": "SessionStart"},
        {"hook_event_name": "BeforeAgent", "prompt": "go"},
        {"hook_event_name": "AfterAgent", "prompt_response": told},
    ]
    at = {"timestamp": intake.journal.clock.now().isoformat(), "type": "gemini", "tokens": {}}
    lines = [{**at, "id": str(row), "content": words} for row, words in enumerate(said)]
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))

    for key, hook in enumerate(hooks):
        await intake.receive(Hook(str(key), "gemini", badge, {**fields, **hook}, os.getpid()))

    (turn,) = await intake.database.read(
        lambda db: turns.of_session(db, SessionId("worker"), last=1)
    )
    assert (turn.how, turn.answer) == ("finished", answer)


@pytest.mark.spec("D2", "D5")
async def test_a_compaction_leaves_a_session_asking_while_a_dialog_of_its_subagent_is_open(
    door: Door, database: Database
) -> None:
    badge = await door.prepare("anna", "n1")
    await door.hook("SessionStart", "n1", badge)
    ids = {"session_id": "n1", "cwd": "/"}
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "agent_id": "sub"}
    asked = {**ids, "hook_event_name": "PermissionRequest", **call}
    await door.intake.receive(Hook("asked", "demo", badge, asked, pid=1))

    await door.hook("SessionStart", "n1", badge)

    (request,) = await database.read(partial(requests.open_of, session=SessionId("anna")))
    assert request.tool == "Bash"
    assert (await door.session("anna")).activity is Activity.PERMISSION
