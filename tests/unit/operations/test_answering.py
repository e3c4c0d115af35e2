from __future__ import annotations

import asyncio
import secrets
from functools import partial
from sqlite3 import Connection

import pytest

from rookery.config import PermissionSettings, Settings
from rookery.model.errors import BadInput, CommandRefused, Forbidden, RequestAmbiguous
from rookery.model.facts import SessionId
from rookery.model.permissions import Call, Question, Request, RequestId
from rookery.model.screens import Dialog
from rookery.permissions.screen_dialogs import note
from rookery.store import missed_requests, requests, sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.requests import Asking
from tests.support.fakes.clock import FakeClock
from tests.support.operations import Desk, session_caller

pytestmark = pytest.mark.anyio

WORKER = SessionId("worker")


@pytest.fixture
async def desk(database: Database, clock: FakeClock) -> Desk:
    desk = Desk(database, Journal("here", clock, readers={}))
    await desk.settle(WORKER)
    return desk


async def ask(desk: Desk, command: str, *, is_exact: bool = True) -> RequestId:
    """Have the worker ask for a command; its hook waits for the answer."""
    asking = Asking(desk.journal.clock.now(), None, secrets.token_hex(8))

    def add(db: Connection) -> RequestId:
        call = Call("Bash", {"command": command}, is_exact=is_exact)
        return requests.add(db, WORKER, call, asking)

    return await desk.database.write(add)


@pytest.mark.spec("D2", "D5")
@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_a_session_that_asks_for_several_things_is_no_name_for_one_of_them(
    desk: Desk, decision: str
) -> None:
    first, second = await ask(desk, "touch alpha"), await ask(desk, "rm -rf f1")

    with pytest.raises(RequestAmbiguous) as refused:
        await desk.ask("answer_permission", permission=WORKER, decision=decision)
    done = await desk.ask("answer_permission", permission=second, decision=decision)
    rest = await desk.ask("answer_permission", permission=WORKER, decision=decision)

    for shown in (first, second, "touch alpha", "rm -rf f1"):
        assert shown in str(refused.value)
    assert (done.id, rest.id) == (second, first)


@pytest.mark.spec("D2")
async def test_a_session_that_asks_for_the_same_twice_is_a_name_for_the_first(
    desk: Desk, clock: FakeClock
) -> None:
    first = await ask(desk, "make")
    clock.advance(1)
    await ask(desk, "make")

    done = await desk.ask("answer_permission", permission=WORKER, decision="allow")

    assert done.id == first


@pytest.mark.spec("D2")
async def test_clients_that_wait_for_a_session_hear_that_its_hook_was_told(desk: Desk) -> None:
    request = await ask(desk, "make")
    await desk.ask("answer_permission", permission=request, decision="allow")
    bell = desk.database.bells.of_sessions([WORKER])

    await desk.database.write(partial(desk.context.permissions.note_delivered, request=request))

    async with asyncio.timeout(30):
        await bell.wait()
        found = await desk.ask("permission", permission=request, timeout=600)
    assert found.delivery == "none"


@pytest.mark.spec("D1", "D2")
async def test_that_a_call_is_allowed_this_once_only_is_said(desk: Desk) -> None:
    request = await ask(desk, "cat \ufffd", is_exact=False)

    done = await desk.ask(
        "answer_permission", permission=request, decision="allow", for_session=True
    )

    assert "this once only" in done.note


@pytest.mark.spec("D2", "D5", "B0")
@pytest.mark.parametrize("decision", ["allow", "answer", "deny"])
async def test_a_dialog_known_in_part_only_is_not_allowed_from_elsewhere(
    desk: Desk, decision: str
) -> None:
    shown = Dialog("permission", "w20 w21 Do you want to proceed?", ("Yes", "No"), is_cut=True)

    def see(db: Connection) -> Request:
        note(db, desk.context.permissions, sessions.get(db, WORKER), shown)
        return requests.open_of(db, WORKER)[0]

    seen = await desk.database.write(see)
    asked = desk.ask("answer_permission", permission=seen.id, decision=decision, answers=("1",))

    assert "shows only a part" in seen.message
    if decision == "deny":
        assert (await asked).outcome == "denied"
        return
    with pytest.raises(CommandRefused, match="rookery attach"):
        await asked


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("hook", "how"), [(None, "answer {} NUMBER"), ("hook", "answer {} --text grey")]
)
async def test_free_text_is_suggested_only_where_it_is_taken(
    desk: Desk, hook: str | None, how: str
) -> None:
    asking = Asking(desk.journal.clock.now(), None, hook)
    call = Call("demo", {}, (Question("Which?", ("Red", "Blue")),), by_keys=hook is None)
    request = await desk.database.write(lambda db: requests.add(db, WORKER, call, asking))

    with pytest.raises(BadInput, match=how.format(request)):
        await desk.ask(
            "answer_permission", permission=request, decision="answer", answers=("grey",)
        )
    with pytest.raises(BadInput, match=r"1\. Red, 2\. Blue:  rookery answer .* NUMBER"):
        await desk.ask("answer_permission", permission=request, decision="allow")


@pytest.mark.spec("D3")
@pytest.mark.parametrize("source", ["hook", "screen"])
async def test_the_answer_to_a_call_that_was_missed_counts_as_having_seen_it(
    desk: Desk, source: str
) -> None:
    missed, other = await ask(desk, "make"), await ask(desk, "make clean")

    def leave_to_its_dialog(db: Connection) -> None:
        for each in (missed, other):
            missed_requests.mark(db, each)
            desk.context.permissions.withdraw(db, each)
        if source == "screen":
            shown = Dialog("permission", "Bash make", ("Yes", "No"), subjects=("make",))
            note(db, desk.context.permissions, sessions.get(db, WORKER), shown)

    await desk.database.write(leave_to_its_dialog)
    if source == "hook":
        await ask(desk, "make")
    await desk.ask("answer_permission", permission=WORKER, decision="deny")

    assert await desk.database.read(missed_requests.listed) == [other]


@pytest.mark.spec("D5")
@pytest.mark.parametrize(("agent", "is_taken"), [("claude", True), ("opencode", False)])
async def test_it_is_known_which_dialogs_with_several_questions_take_answers(
    desk: Desk, *, agent: str, is_taken: bool
) -> None:
    questions = tuple(Question(text, ("P", "S")) for text in ("Which?", "And then?"))
    call = Call("question", {}, questions, by_keys=True)
    asking = Asking(desk.journal.clock.now(), None, None)

    def add(db: Connection) -> RequestId:
        db.execute("update sessions set agent = ? where id = ?", (agent, WORKER))
        return requests.add(db, WORKER, call, asking)

    request = await desk.database.write(add)
    shown = await desk.ask("permission", permission=request)

    assert shown.takes_options is is_taken
    if not is_taken:
        answer = partial(desk.ask, "answer_permission", permission=request)
        with pytest.raises(CommandRefused, match="key by key:  rookery keys worker KEY"):
            await answer(decision="answer", answers=["S", "P"])


@pytest.mark.spec("D5")
@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_a_dialog_in_a_terminal_out_of_reach_is_answered_where_it_is(
    desk: Desk, decision: str
) -> None:
    await desk.settle("loner", runtime="headless")
    asking = Asking(desk.journal.clock.now(), None, None)
    call = Call("Bash", {"command": "ls"})
    request = await desk.database.write(
        lambda db: requests.add(db, SessionId("loner"), call, asking)
    )

    with pytest.raises(CommandRefused, match="loner asks in a terminal that Rookery cannot"):
        await desk.ask("answer_permission", permission=request, decision=decision)

    assert (await desk.ask("permission", permission=request)).outcome == "open"


@pytest.mark.spec("D3", "K5")
@pytest.mark.parametrize(
    ("caller", "parents_may_answer", "refusal"),
    [
        ("parent", True, ""),
        ("grandparent", True, ""),
        ("parent", False, "sessions may not answer requests"),
        (WORKER, True, "only answer for sessions that it started"),
        ("child", True, "only answer for sessions that it started"),
        ("sibling", True, "only answer for sessions that it started"),
    ],
)
async def test_a_session_never_answers_for_itself_or_an_ancestor_and_for_others_only_if_it_may(
    database: Database,
    clock: FakeClock,
    caller: str,
    *,
    parents_may_answer: bool,
    refusal: str,
) -> None:
    permissions = PermissionSettings(parents_may_answer=parents_may_answer)
    settings = Settings(permissions=permissions)
    desk = Desk(database, Journal("here", clock, readers={}), settings)
    await desk.settle("grandparent")
    await desk.settle("parent", parent=SessionId("grandparent"))
    await desk.settle(WORKER, parent=SessionId("parent"))
    await desk.settle("sibling", parent=SessionId("parent"))
    await desk.settle("child", parent=WORKER)
    request = await ask(desk, "make")
    answer = partial(
        desk.ask,
        "answer_permission",
        by=session_caller(SessionId(caller)),
        permission=request,
        decision="allow",
    )

    if refusal:
        with pytest.raises(Forbidden, match=refusal):
            await answer()
    else:
        await answer()

    found = await database.read(partial(requests.get, request=request))
    assert found.outcome == ("open" if refusal else "allowed")


async def ask_in_its_dialog(desk: Desk, agent: str) -> RequestId:
    """Have an agent ask for a command in its own terminal."""
    asking = Asking(desk.journal.clock.now(), None, None)
    call = Call("Bash", {"command": "ls"}, by_keys=True)

    def add(db: Connection) -> RequestId:
        db.execute("update sessions set agent = ? where id = ?", (agent, WORKER))
        return requests.add(db, WORKER, call, asking)

    return await desk.database.write(add)


@pytest.mark.spec("D2")
@pytest.mark.parametrize(("agent", "is_taken"), [("claude", True), ("gemini", False)])
async def test_it_is_known_which_dialogs_take_the_reason_of_a_denial(
    desk: Desk, *, agent: str, is_taken: bool
) -> None:
    by_keys = await ask_in_its_dialog(desk, agent)
    by_hook = await ask(desk, "make")

    listed = (await desk.ask("permissions")).requests

    taken = {each.id: each.takes_reason for each in listed}
    assert taken == {by_keys: is_taken, by_hook: True}


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("agent", "reason", "ends_turn"),
    [("claude", "", True), ("claude", "not now", False), ("codex", "not now", True)],
)
async def test_a_person_is_told_that_a_denial_ends_the_turn(
    desk: Desk, agent: str, reason: str, *, ends_turn: bool
) -> None:
    request = await ask_in_its_dialog(desk, agent)

    denied = await desk.ask(
        "answer_permission", permission=request, decision="deny", reason=reason
    )

    assert ("ends its turn" in denied.note) is ends_turn


async def test_a_denial_that_a_hook_returns_is_not_said_to_end_the_turn(desk: Desk) -> None:
    request = await ask(desk, "make")

    denied = await desk.ask("answer_permission", permission=request, decision="deny")

    assert denied.note == ""
