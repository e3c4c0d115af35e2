"""What a session may see and do through the operations, and what it learns of others."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import anyio
import pytest

from rookery.api.mcp.context import ToolContext as Tools
from rookery.api.mcp.message_tools import CommandArguments as OnMcp
from rookery.api.mcp.message_tools import SendArguments, run_agent_command, send_message
from rookery.config import Settings, Trust
from rookery.model import facts
from rookery.model.errors import (
    BadInput,
    CommandRefused,
    Forbidden,
    RequestUnknown,
    RookeryError,
    SessionOver,
    SessionUnknown,
    TokenRevoked,
    WordsRefused,
)
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Status
from rookery.model.scopes import Identity, Scope
from rookery.sessions import record_end
from rookery.store import sessions, tokens
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import PROGRAM, Desk, session_caller

pytestmark = [pytest.mark.anyio, pytest.mark.spec("K5")]

EVIL, KID, VICTIM = SessionId("evil"), SessionId("evilkid"), SessionId("victim")


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock) -> Desk:
    """Give a session, its child, and a stranger."""
    desk = Desk(database, Journal("here", clock, readers={}))
    await people(desk)
    return desk


async def people(desk: Desk) -> None:
    await desk.settle(EVIL)
    await desk.settle(KID, parent=EVIL)
    await desk.settle(VICTIM)


def members(*sessions: SessionId) -> list[dict[str, str]]:
    return [{"session": each} for each in sessions]


@pytest.mark.spec("F1")
async def test_whom_one_only_talks_with_cannot_be_put_into_another_relay(desk: Desk) -> None:
    by = session_caller(EVIL)
    owners = await desk.ask("relay", members=members(EVIL, VICTIM))

    for ask in (
        partial(desk.ask, "relay", by=by, members=members(EVIL, VICTIM, KID)),
        partial(desk.ask, "relay_join", by=by, relay=owners.id, session=KID),
        partial(desk.ask, "send", by=by, session=VICTIM, words="Hello.", direct=True),
    ):
        with pytest.raises(Forbidden, match="only put its family"):
            await ask()
    spoken = await desk.ask("send", by=by, session=VICTIM, words="Hello.")

    assert spoken.recipient == VICTIM


@pytest.mark.spec("K1")
async def test_only_a_person_sends_text_to_a_plain_program_which_would_run_it(
    desk: Desk,
) -> None:
    await desk.settle("repl", agent="shell", parent=EVIL)

    with pytest.raises(Forbidden, match="only a person may send it one"):
        await desk.ask("send", by=session_caller(EVIL), session="repl", words="rm -r .")
    by_session = await desk.ask("send", by=session_caller(EVIL), session=KID, words="Hello.")
    by_person = await desk.ask("send", session="repl", words="ls")

    assert (by_session.recipient, by_person.recipient) == (KID, "repl")


@pytest.mark.spec("F1")
async def test_a_closed_relay_gives_no_reach_any_more(desk: Desk) -> None:
    by = session_caller(EVIL)
    owners = await desk.ask("relay", members=members(EVIL, VICTIM))
    await desk.ask("turns", by=by, session=VICTIM)

    await desk.ask("relay_close", relay=owners.id)

    for name in ("turns", "show", "send"):
        words = {"words": "Hello."} if name == "send" else {}
        with pytest.raises(Forbidden, match="family"):
            await desk.ask(name, by=by, session=VICTIM, **words)
    with pytest.raises(Forbidden, match="family"):
        await desk.ask("show", by=session_caller(KID), session=VICTIM)


@pytest.mark.spec("F1")
async def test_a_family_makes_relays_of_its_own(desk: Desk) -> None:
    by = session_caller(EVIL)

    made = await desk.ask("relay", by=by, members=members(EVIL, KID))
    await desk.settle("second", parent=EVIL)
    joined = await desk.ask("relay_join", by=by, relay=made.id, session="second")

    assert [each.name for each in joined.present] == ["evil", "evilkid", "second"]


@pytest.mark.spec("F1")
async def test_a_session_lists_the_relays_of_its_family_only(desk: Desk) -> None:
    await desk.settle("third")
    owners = await desk.ask("relay", members=members(EVIL, VICTIM))
    await desk.ask("relay", members=members(VICTIM, SessionId("third")))

    listed = await desk.ask("relays", by=session_caller(EVIL))

    assert [each.id for each in listed.relays] == [owners.id]


async def test_where_sessions_trust_each_other_anybody_may_be_in_a_relay(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    settings = Settings(trust=Trust(sessions="all"))
    desk = Desk(database, Journal("here", clock, readers={}), settings)
    await people(desk)

    made = await desk.ask("relay", by=session_caller(EVIL), members=members(EVIL, VICTIM))

    assert len(made.present) == 2


async def refusal(ask: Callable[[], Awaitable[object]], *names: str) -> tuple[type, str]:
    """Return how something is refused, without the names that the caller gave itself."""
    with pytest.raises(RookeryError) as refused:
        await ask()
    said = str(refused.value)
    for name in names:
        said = said.replace(name, "…")
    return type(refused.value), said


@pytest.mark.parametrize(
    ("operation", "field", "there"),
    [
        ("show", "session", "victim"),
        ("turns", "session", "vict"),
        ("end", "session", "victim"),
        ("relay_show", "relay", "relay"),
        ("message", "message", "message"),
        ("answer_permission", "permission", "victim"),
        ("unlisten", "target", "victim"),
        ("resume", "session", "victim"),
    ],
)
async def test_what_one_may_not_see_is_refused_like_what_does_not_exist(
    desk: Desk, operation: str, field: str, there: str
) -> None:
    by, more = session_caller(EVIL), {}
    if operation == "answer_permission":
        more = {"decision": "allow"}
    if there == "relay":
        await desk.settle("third")
        made = await desk.ask("relay", members=members(VICTIM, SessionId("third")))
        there = made.id
    if there == "message":
        there = str((await desk.ask("send", session=VICTIM, words="Hello.")).id)
    elsewhere = "77777" if there.isdigit() else "nobody-77"

    seen, unknown = [
        await refusal(partial(desk.ask, operation, by=by, **{field: word}, **more), word)
        for word in (there, elsewhere)
    ]

    assert seen == unknown
    assert seen[0] is Forbidden
    assert VICTIM not in seen[1]


async def test_a_word_means_one_of_the_family_if_a_stranger_is_called_so_too(
    desk: Desk,
) -> None:
    await desk.settle("old", name="worker", parent=EVIL)
    end = partial(record_end.end, journal=desk.journal, outcome="completed", reason="it ended")
    await desk.database.write(partial(end, session=SessionId("old")))
    await desk.settle("other", name="worker")

    found = await desk.ask("show", by=session_caller(EVIL), session="worker")

    assert found.id == "old"
    assert (await desk.ask("show", session="worker")).id == "other"


@pytest.mark.spec("A11")
async def test_a_session_counts_its_family_only(desk: Desk) -> None:
    used = ((EVIL, 1), (KID, 10), (VICTIM, 100))
    reports = [facts.UsageReported(session, tokens, 0) for session, tokens in used]
    await desk.database.write(lambda db: desk.journal.append(db, *reports))

    own = await desk.ask("stats", by=session_caller(KID))
    everything = await desk.ask("stats")

    assert (own.launched, own.input_tokens) == (2, 11)
    assert own.most_expensive.name == "evilkid"
    assert (everything.launched, everything.input_tokens) == (3, 111)


@pytest.mark.spec("A11")
async def test_what_was_only_found_was_not_launched(desk: Desk) -> None:
    await desk.settle("seen", runtime="observed")
    await desk.settle("heard", runtime="headless")

    found = await desk.ask("stats")

    assert (found.launched, found.found, found.live) == (3, 2, 5)


#: Commands of the real programs that do more than clear up a conversation.
BEYOND = (
    *("resume", "export", "remote-control", "teleport", "rewind", "install-github-app"),
    *("memory", "terminal-setup", "statusline", "experimental", "chat", "restore", "policies"),
    *("permissions", "approvals", "add-dir", "sandbox", "yolo", "config", "hooks", "mcp"),
    *("login", "plugin", "share", "model", "init", "exit", "quit", "tools"),
    *("com", "Compact", "compact:x", "rm"),
)


@pytest.mark.parametrize("line", [*(f"/{name}" for name in BEYOND), "/resume 123", "rm -rf /"])
async def test_a_session_gives_another_only_commands_that_are_allowed(
    desk: Desk, line: str
) -> None:
    tools = Tools(desk.context, session_caller(EVIL))
    by_mcp = OnMcp(session_id=KID, command=line)

    for ask in (
        partial(desk.ask, "command", by=session_caller(EVIL), session=KID, command=line),
        partial(run_agent_command, tools, by_mcp),
    ):
        with pytest.raises((Forbidden, WordsRefused)):
            await ask()


async def test_the_owner_may_allow_further_commands_and_needs_no_list(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    settings = Settings(trust=Trust(commands=("deploy",)))
    desk = Desk(database, Journal("here", clock, readers={}), settings)
    await people(desk)

    for line in ("/compact and keep the plan", "/clear", "/deploy now"):
        await desk.ask("command", by=session_caller(EVIL), session=KID, command=line)
    await desk.ask("command", session=KID, command="/resume 123")

    with pytest.raises(Forbidden, match="/compact, /context, /cost, /deploy, /review"):
        await desk.ask("command", by=session_caller(EVIL), session=KID, command="/resume")


LONG_POLLS = [
    ("turns", {"session": VICTIM, "timeout": 600}),
    ("blocks", {"session": VICTIM, "timeout": 600}),
    ("wait", {"session": VICTIM, "until": "end", "timeout": 600}),
    ("wait_several", {"sessions": (VICTIM,), "until": "end", "timeout": 600}),
    ("message", {"message": 1, "until": "input", "timeout": 600}),
    ("answer", {"message": 1, "timeout": 600}),
]


@pytest.mark.parametrize(("operation", "words"), LONG_POLLS)
async def test_revoking_a_token_ends_what_waits_with_it_at_once(
    desk: Desk, clock: FakeClock, operation: str, words: dict[str, Any]
) -> None:
    await desk.ask("send", session=VICTIM, words="say: a secret")
    made = await desk.ask("mint", scope="reader")
    reader = Identity(Scope.READER, "tcp", token=tokens.digest(made.secret))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:

            async def wait() -> None:
                with pytest.raises(TokenRevoked):
                    await desk.ask(operation, by=reader, **words)

            tasks.start_soon(wait)
            await clock.someone_sleeps()
            await desk.ask("revoke", token=made.token.id)


@pytest.mark.parametrize(("operation", "words"), LONG_POLLS[:3])
async def test_a_badge_waits_for_nothing_once_its_session_is_over(
    desk: Desk, clock: FakeClock, operation: str, words: dict[str, Any]
) -> None:
    badge = await desk.database.write(
        lambda db: tokens.give_badge(db, EVIL, at=desk.journal.clock.now())
    )
    by = Identity(Scope.SESSION, "unix", EVIL, tokens.digest(badge))
    end = partial(record_end.end, journal=desk.journal, outcome="completed", reason="it ended")

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:

            async def wait() -> None:
                with pytest.raises(TokenRevoked):
                    await desk.ask(operation, by=by, **{**words, "session": KID})

            tasks.start_soon(wait)
            await clock.someone_sleeps()
            await desk.database.write(partial(end, session=EVIL))


async def test_no_answer_is_given_under_a_token_that_was_revoked_meanwhile(
    desk: Desk,
) -> None:
    made = await desk.ask("mint", scope="reader")
    reader = Identity(Scope.READER, "tcp", token=tokens.digest(made.secret))
    await desk.ask("revoke", token=made.token.id)

    with pytest.raises(TokenRevoked):
        await desk.ask("list", by=reader)


@pytest.mark.spec("E3")
@pytest.mark.parametrize("needed", ["each", "all"])
async def test_a_session_that_is_over_cannot_be_made_to_wait(desk: Desk, needed: str) -> None:
    end = partial(record_end.end, journal=desk.journal, outcome="completed", reason="it ended")
    await desk.database.write(partial(end, session=VICTIM))

    with pytest.raises(SessionOver, match="can no longer be notified"):
        await desk.ask("listen", targets=[KID], caller=VICTIM, needed=needed)

    assert (await desk.ask("listeners")).listeners == []


async def test_what_is_in_no_pane_cannot_be_made_to_wait(desk: Desk, tmp_path: Path) -> None:
    await desk.settle("headless", tmp_path, runtime="headless")
    by = session_caller(SessionId("headless"))

    with pytest.raises(CommandRefused, match="has no pane"):
        await desk.ask("listen", targets=[KID], caller="headless")
    await desk.ask("start", by=by, agent="demo", project=str(tmp_path), listen=True)

    assert (await desk.ask("listeners")).listeners == []


@pytest.mark.spec("F4")
async def test_who_talked_in_a_relay_is_told_by_name_who_closed_it(desk: Desk) -> None:
    by = session_caller(EVIL)
    made = await desk.ask("relay", by=by, members=members(EVIL, KID))

    closed = await desk.ask("relay_close", by=by, relay=made.id)

    (letter,) = (await desk.ask("inbox", session=KID)).letters
    assert closed.reason == "closed by evil"
    assert letter.words == "The relay is closed: closed by evil."


@pytest.mark.spec("A2", "A4")
async def test_the_fact_of_an_end_says_killed_where_the_record_does(desk: Desk) -> None:
    await desk.ask("end", session=VICTIM)
    end = partial(record_end.end, journal=desk.journal, outcome="completed", reason="status 0")
    await desk.database.write(partial(end, session=VICTIM))

    def outcomes(db: Connection) -> list[str]:
        rows = db.execute("select body from entries where kind = 'session-ended'")
        return [json.loads(row["body"])["outcome"] for row in rows]

    assert await desk.database.read(outcomes) == ["killed"]
    assert (await desk.session(VICTIM)).status is Status.KILLED


async def test_sessions_asked_for_by_id_are_those_within_reach(desk: Desk) -> None:
    await desk.database.write(
        lambda db: record_end.end(db, desk.journal, KID, outcome="failed", reason="")
    )
    wanted = (KID, VICTIM, "unknown")

    every = await desk.ask("list", ids=wanted)
    own = await desk.ask("list", ids=wanted, by=session_caller(EVIL))

    assert {each.id for each in every.sessions} == {KID, VICTIM}
    assert [each.id for each in own.sessions] == [KID]


@pytest.mark.spec("E1", "F1", "F5")
@pytest.mark.parametrize("direct", [False, True])
async def test_words_that_are_not_direct_make_a_listener_and_no_relay(
    desk: Desk, *, direct: bool
) -> None:
    tools = Tools(desk.context, session_caller(EVIL))

    sent = await send_message(
        tools, SendArguments(session_id=KID, message="Go.", direct=direct)
    )

    waiting = (await desk.ask("listeners")).listeners
    talking = (await desk.ask("relays")).relays
    assert sent.listening is not direct
    assert [(each.caller, each.target) for each in waiting] == ([] if direct else [(EVIL, KID)])
    assert len(talking) == (1 if direct else 0)


@pytest.mark.spec("A10")
async def test_a_part_of_a_name_reads_and_speaks_but_ends_and_decides_nothing(
    desk: Desk,
) -> None:
    await desk.settle("1111", name="web-api")

    assert (await desk.ask("show", session="api")).id == "1111"
    assert (await desk.ask("send", session="api", words="Hello.")).recipient == "1111"
    for operation, more in (("end", {}), ("keys", {"keys": ["1"]}), ("rename", {"name": "x"})):
        with pytest.raises(SessionUnknown, match="Did you mean web-api"):
            await desk.ask(operation, session="api", **more)
    with pytest.raises(RequestUnknown):
        await desk.ask("answer_permission", permission="api", decision="allow")


@pytest.mark.spec("A10")
async def test_a_part_of_a_strangers_name_tells_a_session_nothing(desk: Desk) -> None:
    for word in ("icti", "victi", "victin"):
        with pytest.raises(Forbidden) as refused:
            await desk.ask("show", by=session_caller(EVIL), session=word)
        assert VICTIM not in str(refused.value)


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    "by",
    [session_caller(EVIL), Identity(Scope.OWNER, "tcp")],
)
async def test_only_the_owner_at_this_computer_gives_an_agent_arguments(
    desk: Desk, tmp_path: Path, by: Identity
) -> None:
    order: dict[str, Any] = {"agent": "demo", "arguments": ("--trust-dialog",)}
    order["project"] = str(tmp_path)

    with pytest.raises(Forbidden, match="only the owner may pass arguments"):
        await desk.ask("start", by=by, **order)

    started = await desk.ask("start", **order)
    launch = await desk.database.read(lambda db: sessions.launch_of(db, started.id))
    assert launch["command"] == [PROGRAM, "--trust-dialog"]


@pytest.mark.spec("I5")
async def test_the_default_agent_is_started_if_none_is_named(
    database: ObservedDatabase, clock: FakeClock, tmp_path: Path
) -> None:
    journal = Journal("here", clock, readers={})
    with pytest.raises(BadInput, match="which agent"):
        await Desk(database, journal).ask("start", project=str(tmp_path))

    desk = Desk(database, journal, Settings(default_agent="codex"))
    assert (await desk.ask("start", project=str(tmp_path))).agent == "codex"


@pytest.mark.spec("E7", "D2")
async def test_a_request_that_is_known_does_not_end_a_wait(desk: Desk) -> None:
    asked = facts.InputAsked(VICTIM, "permission", "May it?")
    await desk.database.write(lambda db: desk.journal.append(db, asked))
    since = (await desk.session(VICTIM)).since

    assert (await desk.ask("wait", session=VICTIM)).is_asking
    with anyio.move_on_after(0.05) as waiting:
        await desk.ask("wait", session=VICTIM, known=(since,))
    assert waiting.cancelled_caught
