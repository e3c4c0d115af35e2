"""A session that was told of another's question answers it, if it is its to answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from sqlite3 import Connection
from typing import Any, TypeAlias

import pytest

from rookery.api.mcp.context import ToolContext as Tools
from rookery.api.mcp.message_tools import AnswerArguments, SendArguments, send_message
from rookery.api.mcp.tools import TOOLS
from rookery.config import PermissionSettings, Settings
from rookery.coordination import listeners
from rookery.model.errors import BadInput, Forbidden, RequestUnknown
from rookery.model.facts import InputAsked, SessionId
from rookery.model.permissions import Call, Question, RequestId, Stop
from rookery.model.permissions import Outcome as Verdicts
from rookery.permissions.stop_policy import GO_ON, StopPolicy
from rookery.store import flags, requests, sessions
from rookery.store.journal import Journal
from rookery.store.requests import Asking
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk, session_caller

pytestmark = [pytest.mark.anyio, pytest.mark.spec("E2")]

ANNA, WORKER = SessionId("anna"), SessionId("worker")

#: Sessions, in the order in which they are added: the parameters of ``settle``.
Family: TypeAlias = Sequence[Mapping[str, Any]]

COLOUR = Question("Which colour?", ("Red", "Blue"))


async def office(
    database: ObservedDatabase,
    clock: FakeClock,
    *,
    parent: bool = False,
    family: Family = (),
) -> Desk:
    """Give Anna, who was made to wait for the worker by a person.

    ``family`` lists the sessions if there are others, or if these two are related otherwise.
    """
    journal = Journal("here", clock, readers={"listeners": listeners.READER})
    await journal.catch_up(database)
    permissions = PermissionSettings(parents_may_answer=True)
    desk = Desk(database, journal, Settings(permissions=permissions))
    await database.write(lambda db: flags.let_parents_answer(db, on=True))
    usual: Family = (
        {"session_id": ANNA},
        {"session_id": WORKER, "parent": ANNA if parent else None},
    )
    for each in family or usual:
        await desk.settle(**each)
    await desk.ask("listen", targets=(WORKER,), caller=ANNA)
    return desk


async def ask_for_colour(desk: Desk) -> RequestId:
    def ask(db: Connection) -> RequestId:
        call, now = Call("AskUserQuestion", {}, (COLOUR,)), desk.journal.clock.now()
        request = requests.add(db, WORKER, call, Asking(now, None, "k1"))
        desk.journal.append(db, InputAsked(WORKER, call.kind, call.summary, request))
        return request

    return await desk.database.write(ask)


async def ask_about_stop(desk: Desk) -> RequestId:
    """Have the stop policy ask the person whether the worker shall go on."""
    stops = StopPolicy(desk.journal, "ask", 2, "error", timedelta(minutes=5))

    def ask(db: Connection) -> None:
        stop = Stop("There was an error.", goes_on=False)
        stops.consider(db, sessions.get(db, WORKER), stop, hook="k1")

    await desk.database.write(ask)
    (found,) = await desk.database.read(lambda db: requests.open_of(db, WORKER))
    return found.id


async def told(desk: Desk) -> str:
    """Return what Anna was told last."""
    query = "select words from messages where recipient = ? order by id desc"
    row = await desk.database.read(lambda db: db.execute(query, (ANNA,)).fetchone())
    return str(row["words"])


async def outcome(desk: Desk, request: RequestId) -> tuple[str, object]:
    found = await desk.database.read(lambda db: requests.get(db, request))
    return found.outcome, [*found.answers.values()]


def named_tool(words: str) -> tuple[str, dict[str, str]]:
    """Return the tool that a notice names, and its arguments."""
    tool, given = re.findall(r"Use rookery__(\w+)\((.*), \.\.\.\)", words)[0]
    return tool, dict(re.findall(r"(\w+)='([^']*)'", given))


async def test_a_stranger_answers_with_the_tool_that_it_was_told_to_use(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    desk = await office(database, clock)
    request = await ask_for_colour(desk)

    tool, given = named_tool(await told(desk))
    tools = Tools(desk.context, session_caller(ANNA))
    sent = await send_message(tools, SendArguments(**given, message="2"))

    assert tool == "send_message"
    assert sent.session_id == WORKER
    assert await outcome(desk, request) == (Verdicts.ANSWERED, [("Blue",)])


async def test_an_answer_is_taken_for_the_session_that_asks_only(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    desk = await office(database, clock)
    request = await ask_for_colour(desk)
    tools = Tools(desk.context, session_caller(ANNA))

    with pytest.raises(BadInput, match="not a question of anna"):
        await send_message(
            tools, SendArguments(session_id=ANNA, answer_to=request, message="2")
        )

    assert await outcome(desk, request) == (Verdicts.OPEN, [])


async def test_one_who_was_not_told_learns_nothing_of_a_question(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    desk = await office(database, clock)
    stranger = session_caller(await desk.settle("stranger"))
    request = await ask_for_colour(desk)
    tools = Tools(desk.context, stranger)

    refusals = set()
    for session in (WORKER, "nobody"):
        for known in (request, "deadbeef"):
            asked = SendArguments(session_id=session, answer_to=known, message="2")
            with pytest.raises(RequestUnknown) as refused:
                await send_message(tools, asked)
            refusals.add(str(refused.value).replace(known, "ID"))

    assert len(refusals) == 1


@pytest.mark.spec("K5")
@pytest.mark.parametrize(
    ("caller", "refusal"),
    [
        ("brother", "only a session that was notified of the question may answer it"),
        ("child", "a session may not answer the questions of its ancestors"),
        (WORKER, "a session may not answer its own questions"),
    ],
)
async def test_of_a_family_only_told_sessions_and_ancestors_answer_a_question(
    database: ObservedDatabase, clock: FakeClock, caller: str, refusal: str
) -> None:
    desk = await office(database, clock, parent=True)
    await desk.settle("brother", parent=ANNA)
    await desk.settle("child", parent=WORKER)
    request = await ask_for_colour(desk)
    asked = SendArguments(session_id=WORKER, answer_to=request, message="2")

    with pytest.raises(Forbidden, match=refusal):
        await send_message(Tools(desk.context, session_caller(SessionId(caller))), asked)

    assert await outcome(desk, request) == (Verdicts.OPEN, [])


RESUMES, FORKS = {"resumes": True}, {"forks": "conversation"}

#: Sessions of which the worker is an ancestor of Anna, or the session that she continues.
BELOW_WORKER: dict[str, Family] = {
    "child": [{"session_id": WORKER}, {"session_id": ANNA, "parent": WORKER}],
    "grandchild": [
        {"session_id": WORKER},
        {"session_id": "between", "parent": WORKER},
        {"session_id": ANNA, "parent": "between"},
    ],
    "resumed child": [
        {"session_id": WORKER},
        {"session_id": "before", "parent": WORKER},
        {"session_id": ANNA, "continues": "before", "launch": RESUMES},
    ],
    "child of a fork": [
        {"session_id": WORKER},
        {"session_id": "fork", "continues": WORKER, "launch": FORKS},
        {"session_id": ANNA, "parent": "fork"},
    ],
    "fork": [
        {"session_id": WORKER},
        {"session_id": ANNA, "continues": WORKER, "launch": FORKS},
    ],
    "child from before it was resumed": [
        {"session_id": "before"},
        {"session_id": WORKER, "continues": "before", "launch": RESUMES},
        {"session_id": ANNA, "parent": "before"},
    ],
}


@pytest.mark.spec("D3", "K5")
@pytest.mark.parametrize("family", BELOW_WORKER.values(), ids=BELOW_WORKER)
async def test_a_notified_session_answers_no_question_of_its_ancestors(
    database: ObservedDatabase, clock: FakeClock, family: Family
) -> None:
    desk = await office(database, clock, family=family)
    request = await ask_for_colour(desk)
    asked = SendArguments(session_id=WORKER, answer_to=request, message="2")

    with pytest.raises(Forbidden, match="may not answer the questions of its ancestors"):
        await send_message(Tools(desk.context, session_caller(ANNA)), asked)

    assert (await told(desk)).endswith("A person must answer it.")
    assert await outcome(desk, request) == (Verdicts.OPEN, [])


@pytest.mark.spec("D3")
async def test_a_relay_lets_no_session_answer_a_question_of_its_ancestors(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    desk = await office(database, clock, family=BELOW_WORKER["child"])
    await desk.ask("relay", members=({"session": ANNA}, {"session": WORKER}))
    request = await ask_for_colour(desk)

    with pytest.raises(Forbidden, match="may not answer the questions of its ancestors"):
        await desk.ask(
            "answer_question", permission=request, words="2", by=session_caller(ANNA)
        )


#: Sessions of which Anna is a master of the worker, although their conversations are related.
ABOVE_WORKER: dict[str, Family] = {
    "resumed master": [
        {"session_id": "before"},
        {"session_id": ANNA, "continues": "before", "launch": RESUMES},
        {"session_id": WORKER, "parent": "before"},
    ],
    "fork of a master": [
        {"session_id": ANNA},
        {"session_id": WORKER, "parent": ANNA, "continues": ANNA, "launch": FORKS},
    ],
    "fork of a master that was resumed": [
        {"session_id": "before"},
        {"session_id": ANNA, "continues": "before", "launch": RESUMES},
        {"session_id": WORKER, "parent": "before", "continues": "before", "launch": FORKS},
    ],
    "session that its child has resumed": [
        {"session_id": "before"},
        {"session_id": ANNA, "parent": "before"},
        {"session_id": WORKER, "parent": ANNA, "continues": "before", "launch": RESUMES},
    ],
}


@pytest.mark.spec("D3")
@pytest.mark.parametrize("family", ABOVE_WORKER.values(), ids=ABOVE_WORKER)
async def test_a_notified_master_answers_its_worker(
    database: ObservedDatabase, clock: FakeClock, family: Family
) -> None:
    desk = await office(database, clock, family=family)
    request = await ask_for_colour(desk)

    tool, given = named_tool(await told(desk))
    tools = Tools(desk.context, session_caller(ANNA))
    await send_message(tools, SendArguments(**given, message="2"))

    assert tool == "send_message"
    assert await outcome(desk, request) == (Verdicts.ANSWERED, [("Blue",)])


@pytest.mark.spec("K5")
async def test_an_ancestor_answers_a_question_without_being_told(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    desk = await office(database, clock, parent=True)
    await desk.ask("unlisten", target=WORKER, caller=ANNA)
    request = await ask_for_colour(desk)
    asked = SendArguments(session_id=WORKER, answer_to=request, message="2")

    await send_message(Tools(desk.context, session_caller(ANNA)), asked)

    assert await outcome(desk, request) == (Verdicts.ANSWERED, [("Blue",)])


@pytest.mark.spec("D6", "K5")
async def test_whether_it_shall_go_on_is_for_its_person_to_say(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    desk = await office(database, clock)
    request = await ask_about_stop(desk)

    with pytest.raises(Forbidden, match="only answer for sessions that it started"):
        await desk.ask(
            "answer_question",
            permission=request,
            words="Delete everything.",
            by=session_caller(ANNA),
        )

    assert (await told(desk)).endswith("A person must answer it.")
    assert await outcome(desk, request) == (Verdicts.OPEN, [])
    await desk.ask("answer_question", permission=request, words="1")
    assert await outcome(desk, request) == (Verdicts.ANSWERED, [(GO_ON,)])


@pytest.mark.spec("D6", "D3")
async def test_a_parent_that_may_decide_says_whether_it_shall_go_on(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    desk = await office(database, clock, parent=True)
    request = await ask_about_stop(desk)

    tool, given = named_tool(await told(desk))
    tools = Tools(desk.context, session_caller(ANNA))
    (answer_permission,) = (each for each in TOOLS if each.name == "answer_permission")
    given_answer = AnswerArguments(**given, decision="answer", answers=("1",))
    await answer_permission.run(tools, given_answer)

    assert tool == "answer_permission"
    assert await outcome(desk, request) == (Verdicts.ANSWERED, [(GO_ON,)])
