"""Headless agents whose processes are gone are over; and hooks bring only so many."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from functools import partial
from sqlite3 import Connection

import anyio
import pytest

from rookery.agents.catalog import AGENTS
from rookery.hook_protocol import Hook
from rookery.model import facts
from rookery.model.errors import HookUnreadable
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity, Status
from rookery.model.permissions import Outcome, Verdict
from rookery.model.sessions import Session
from rookery.operations.maintenance import find_trouble
from rookery.permissions.decisions import Permissions, WaitForAnswer
from rookery.permissions.rules_file import RulesFile
from rookery.processes import Process
from rookery.processes.lineage import read_lineage
from rookery.sessions import record_end
from rookery.sessions.headless import HeadlessWatch
from rookery.store import audit, flags, message_limits, requests, sessions
from rookery.store.journal import Journal
from rookery.tracking.hook_callers import MAX_UNIDENTIFIED
from rookery.tracking.intake import Intake
from tests.support.daemon import no_policy
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk

pytestmark = [pytest.mark.anyio, pytest.mark.spec("A4", "A8")]

AGENT = SessionId("agent")


@pytest.fixture
def running() -> set[str]:
    """Give the processes that run, as words."""
    return {"7:1"}


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock) -> Desk:
    desk = Desk(database, Journal("here", clock, readers={}))
    await desk.settle(AGENT, runtime="headless", process="7:1", agent="opencode")
    return desk


@pytest.fixture
def watch(desk: Desk, running: set[str]) -> HeadlessWatch:
    def runs(process: Process) -> bool:
        return process.key in running

    return HeadlessWatch(desk.database, desk.journal, runs)


async def happen(desk: Desk, *happened: facts.Fact) -> None:
    await desk.database.write(lambda db: desk.journal.append(db, *happened))


async def test_one_whose_process_is_missed_twice_is_over(
    desk: Desk, watch: HeadlessWatch, running: set[str]
) -> None:
    await watch.look()
    running.clear()

    await watch.look()
    once = (await desk.session(AGENT)).status
    await watch.look()

    assert once is Status.RUNNING
    ended = await desk.session(AGENT)
    assert (ended.status, ended.reason) == (Status.COMPLETED, "its program ended")


async def test_one_that_ended_in_the_middle_of_a_turn_has_failed(
    desk: Desk, watch: HeadlessWatch, running: set[str]
) -> None:
    await happen(desk, facts.TurnStarted(AGENT, "go"))
    running.clear()

    await watch.look()
    await watch.look()

    ended = await desk.session(AGENT)
    assert (ended.status, ended.ended_by) == (Status.FAILED, "itself")
    assert "in the middle of a turn" in ended.reason


async def test_one_that_is_back_at_the_second_look_lives(
    desk: Desk, watch: HeadlessWatch, running: set[str]
) -> None:
    running.clear()
    await watch.look()
    running.add("7:1")
    await watch.look()
    running.clear()

    await watch.look()

    assert (await desk.session(AGENT)).status is Status.RUNNING


async def test_only_headless_sessions_with_a_known_process_are_looked_at(
    desk: Desk, watch: HeadlessWatch
) -> None:
    await desk.settle("unknown", runtime="headless")
    await desk.settle("seen", runtime="observed", process="8:1")
    await desk.settle("ours", process="9:1")

    await watch.look()
    await watch.look()

    live = await desk.database.read(sessions.live)
    assert {each.id for each in live} == {"agent", "unknown", "seen", "ours"}


async def test_one_that_sits_in_a_pane_meanwhile_is_left_to_its_runtime(
    desk: Desk, watch: HeadlessWatch, running: set[str]
) -> None:
    running.clear()
    await watch.look()
    seat = "update sessions set runtime = 'observed' where id = 'agent'"
    await desk.database.write(lambda db: db.execute(seat) and None)

    await watch.look()

    assert (await desk.session(AGENT)).status is Status.RUNNING


async def test_it_looks_again_and_again(
    desk: Desk, watch: HeadlessWatch, running: set[str], clock: FakeClock
) -> None:
    running.clear()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.watch)
            while not (await desk.session(AGENT)).status.is_over:
                await clock.someone_sleeps()
                clock.skip()
            tasks.cancel_scope.cancel()


def spooled(event: str, native_id: str, *named: Process, **more: object) -> Hook:
    payload = {"session_id": native_id, "cwd": "/x", "hook_event_name": event, **more}
    return Hook(f"{event}-{native_id}", "claude", None, payload, named=named)


@pytest.fixture
def intake(desk: Desk) -> Intake:
    rules = RulesFile(desk.database.path.with_name("rules.toml"))
    permissions = Permissions(desk.journal, rules, timedelta(minutes=5))
    stops = no_policy(desk.journal)
    return Intake(desk.database, desk.journal, AGENTS, permissions, stops)


@pytest.mark.spec("C4")
async def test_a_spooled_call_for_a_running_agent_names_its_process(
    desk: Desk, intake: Intake
) -> None:
    own = Process.of(os.getpid())
    assert own
    known = {"runtime": "headless", "agent": "claude", "native_id": "n-1"}
    await desk.settle("victim", process=own.key, **known)
    other = Process(own.pid, f"{own.started}0")

    for named in ((), (other,), (Process(1, "1"), other)):
        with pytest.raises(HookUnreadable, match="another process"):
            await intake.receive(
                intake.with_process(spooled("UserPromptSubmit", "n-1", *named, prompt="forged"))
            )
    untouched = (await desk.session(SessionId("victim"))).activity
    await intake.receive(
        intake.with_process(spooled("UserPromptSubmit", "n-1", other, own, prompt="go"))
    )

    assert untouched is Activity.IDLE
    assert (await desk.session(SessionId("victim"))).activity is Activity.WORKING


@pytest.mark.spec("C4")
async def test_no_spooled_call_takes_over_the_session_of_a_process(
    desk: Desk, intake: Intake
) -> None:
    own = Process.of(os.getpid())
    assert own
    known = {"runtime": "headless", "agent": "claude", "native_id": "n-1"}
    await desk.settle("victim", process=own.key, **known)

    await intake.receive(intake.with_process(spooled("SessionStart", "n-2", own)))

    victim = await desk.session(SessionId("victim"))
    assert (victim.native_id, victim.process) == ("n-1", own.key)


async def test_one_that_died_before_its_calls_were_read_is_over_soon(
    desk: Desk, intake: Intake, watch: HeadlessWatch
) -> None:
    gone = (Process(2**22 + 1, "5"), Process(2**22 + 2, "4"))
    await intake.receive(intake.with_process(spooled("SessionStart", "n-1", *gone)))
    await intake.receive(
        intake.with_process(spooled("UserPromptSubmit", "n-1", *gone, prompt="go"))
    )
    session = await desk.ask("show", session="n-1")

    await watch.look()
    await watch.look()

    assert session.process == gone[1].key
    assert (await desk.session(session.id)).status is Status.FAILED


@pytest.mark.spec("K5")
async def test_hooks_bring_only_so_many_sessions(desk: Desk, intake: Intake) -> None:
    limit = message_limits.StoredLimits(headless_sessions=3)
    await desk.database.write(partial(message_limits.put, limits=limit))
    for number in range(2):
        await intake.receive(intake.with_process(spooled("SessionStart", f"n-{number}")))

    with pytest.raises(HookUnreadable, match="as many headless sessions"):
        await intake.receive(intake.with_process(spooled("SessionStart", "n-2")))

    assert len(await desk.database.read(sessions.live)) == 3


def live(event: str, native_id: str, **more: object) -> Hook:
    """Return a call that this very process makes, which is no agent."""
    payload = {"session_id": native_id, "cwd": "/x", "hook_event_name": event, **more}
    return Hook(f"{event}-{native_id}-live", "claude", None, payload, pid=os.getpid())


@pytest.mark.spec("K5")
async def test_one_caller_brings_only_a_few_sessions_of_unknown_processes(
    desk: Desk, intake: Intake
) -> None:
    for number in range(MAX_UNIDENTIFIED):
        await intake.receive(live("SessionStart", f"n-{number}"))

    with pytest.raises(HookUnreadable, match="the caller has already created 20 sessions"):
        await intake.receive(live("SessionStart", "one-more"))

    # A session that ends makes room.
    ended = (await desk.ask("show", session="n-0")).id
    end = partial(record_end.end, journal=desk.journal, session=ended)
    await desk.database.write(partial(end, outcome="completed", reason="x"))
    await intake.receive(live("SessionStart", "one-more"))


@pytest.mark.spec("K5")
async def test_sessions_of_unknown_processes_leave_room_for_agents(
    desk: Desk, intake: Intake
) -> None:
    limit = message_limits.StoredLimits(headless_sessions=4)
    await desk.database.write(partial(message_limits.put, limits=limit))
    for number in range(2):
        await intake.receive(intake.with_process(spooled("SessionStart", f"n-{number}")))

    with pytest.raises(HookUnreadable, match="sessions of unknown processes"):
        await intake.receive(intake.with_process(spooled("SessionStart", "n-2")))
    gone = (Process(2**22 + 1, "5"), Process(2**22 + 2, "4"))
    await intake.receive(intake.with_process(spooled("SessionStart", "real-one", *gone)))

    assert (await desk.ask("show", session="real-one")).process == gone[1].key


@pytest.mark.spec("K5", "D1", "D4")
async def test_a_denied_call_stays_denied_where_the_limit_is_reached(
    desk: Desk, intake: Intake
) -> None:
    limit = message_limits.StoredLimits(headless_sessions=1)
    await desk.database.write(partial(message_limits.put, limits=limit))
    rules = '[[deny]]\nname = "no rm"\ninput.command = { regex = "rm" }\n'
    desk.database.path.with_name("rules.toml").write_text(rules)
    remove = {"tool_name": "Bash", "tool_input": {"command": "rm -rf x"}}

    verdict = await intake.receive(live("PreToolUse", "n-1", **remove))
    again = await intake.receive(live("PreToolUse", "n-1", **remove))

    assert isinstance(verdict, Verdict)
    assert verdict.outcome is Outcome.DENIED
    assert again == verdict
    kept = await desk.database.read(partial(audit.decided, limit=10))
    assert {(each.session, each.decision, each.rule) for each in kept} == {
        ("n-1", "denied", "no rm")
    }
    with pytest.raises(HookUnreadable, match="as many headless sessions"):
        await intake.receive(live("PreToolUse", "n-2", tool_name="Read", tool_input={}))


@pytest.mark.spec("D1", "K3")
async def test_a_call_that_comes_again_is_denied_again(desk: Desk, intake: Intake) -> None:
    rules = '[[deny]]\nname = "no rm"\ninput.command = { regex = "rm" }\n'
    desk.database.path.with_name("rules.toml").write_text(rules)
    remove = {"tool_name": "Bash", "tool_input": {"command": "rm -rf x"}}

    first = await intake.receive(live("PreToolUse", "n-1", **remove))
    again = await intake.receive(live("PreToolUse", "n-1", **remove))

    assert isinstance(first, Verdict)
    assert again == first
    kept = await desk.database.read(partial(audit.decided, limit=10))
    assert len(kept) == 1


@pytest.mark.spec("K5", "I5")
@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (1, "1 headless sessions live (limits.headless_sessions)"),
        (4, "2 headless sessions live (limits.headless_sessions)"),
        (100, ""),
    ],
)
async def test_it_is_said_that_the_limit_is_reached(desk: Desk, limit: int, said: str) -> None:
    await desk.settle("one", runtime="headless")
    await desk.settle("two", runtime="headless")
    kept = message_limits.StoredLimits(headless_sessions=limit)
    await desk.database.write(partial(message_limits.put, limits=kept))

    trouble = await desk.database.read(find_trouble)

    assert trouble.headless.startswith(said)
    assert bool(trouble.headless) is bool(said)


def test_what_a_hook_names_is_read_whatever_stands_there() -> None:
    assert read_lineage("12:34,5:6") == (Process(12, "34"), Process(5, "6"))
    assert [read_lineage(word) for word in ("-", "", "123", "a:b", "1:2:3")] == [()] * 5


#: The first event that is heard of an agent, what it asks for, and how it tells that it ran.
CLAUDE_CALL = {"tool_name": "Bash", "tool_input": {"command": "touch made"}}
GEMINI_CALL = {"tool_name": "run_shell_command", "tool_input": {"command": "touch made"}}
FIRST_HEARD = [
    pytest.param("claude", "UserPromptSubmit", CLAUDE_CALL, id="claude-prompt"),
    pytest.param("claude", "PreToolUse", CLAUDE_CALL, id="claude-tool"),
    pytest.param("claude", "PermissionRequest", CLAUDE_CALL, id="claude-request"),
    pytest.param("codex", "UserPromptSubmit", CLAUDE_CALL, id="codex-prompt"),
    pytest.param("codex", "PermissionRequest", CLAUDE_CALL, id="codex-request"),
    pytest.param("gemini", "BeforeAgent", GEMINI_CALL, id="gemini-prompt"),
    pytest.param("gemini", "BeforeTool", GEMINI_CALL, id="gemini-tool"),
]


def newcomers(db: Connection) -> list[Session]:
    return [each for each in sessions.live(db) if each.id != AGENT]


@pytest.mark.spec("C1", "D1")
@pytest.mark.parametrize(("agent", "event", "call"), FIRST_HEARD)
async def test_an_agent_whose_start_was_not_heard_is_up_with_its_first_hook(
    desk: Desk, intake: Intake, agent: str, event: str, call: dict[str, object]
) -> None:
    hook = live(event, "n1", prompt="go", turn_id="t1", **call)

    await intake.receive(replace(hook, agent=agent))

    (session,) = await desk.database.read(newcomers)
    assert session.started_at is not None
    assert session.status == "running"


@pytest.mark.spec("C1", "D1")
async def test_what_such_an_agent_asks_is_settled_once_it_is_answered(
    desk: Desk, intake: Intake
) -> None:
    await desk.database.write(lambda db: flags.set_mode(db, "remote"))
    await intake.receive(live("UserPromptSubmit", "n1", prompt="go"))
    ruling = await intake.receive(live("PermissionRequest", "n1", **CLAUDE_CALL))
    (asking,) = await desk.database.read(newcomers)
    (request,) = await desk.database.read(partial(requests.open_of, session=asking.id))

    await desk.ask("answer_permission", permission=request.id, decision="allow")

    (session,) = await desk.database.read(newcomers)
    assert isinstance(ruling, WaitForAnswer)
    assert (asking.activity, session.activity) == ("permission", "working")
