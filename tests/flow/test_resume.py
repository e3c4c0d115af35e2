"""Conversations that are taken up again: what is asked, kept, and put on a command line."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import pytest

from rookery.agents.catalog import AGENTS
from rookery.model import facts
from rookery.model.errors import CommandRefused
from rookery.model.sessions import NativeId, Session
from rookery.ports.agent import LaunchSpec
from rookery.sessions import starts
from rookery.sessions.commands import MessageSender
from rookery.sessions.start_plans import Conversation, StartPlan, StartRequest, plan
from rookery.sessions.starts import accept
from rookery.store import sessions as known
from rookery.store.journal import Journal
from tests.support.daemon import PROGRAM, World, passing_time, running
from tests.support.fakes.database import ObservedDatabase
from tests.support.rows import WORKER, make

TALK = NativeId("n1")
SPEC = LaunchSpec(("program",), NativeId("n2"), "", "", "hook", Path("/s"))


def over(db: Connection, journal: Journal, **more: str) -> Session:
    """Have a worker that talked, and is over."""
    known.add(db, make(journal, WORKER, native_id=TALK, **more))
    journal.append(db, facts.SessionStarted(WORKER), facts.SessionEnded(WORKER, "exit"))
    return known.get(db, WORKER)


def planned(folder: Path, *, agent: str = "claude", is_branch: bool = False) -> StartPlan:
    wanted = Conversation(native_id=TALK, is_branch=is_branch, session=WORKER, name="worker")
    start = StartRequest(agent=agent, project=str(folder), conversation=wanted)
    return plan(start, AGENTS, command=PROGRAM, path="", limit=100)


def accepted(db: Connection, journal: Journal, plan: StartPlan) -> Session:
    return accept(db, journal, plan, speaker=MessageSender("anna"))


@pytest.mark.spec("A10")
def test_who_goes_on_has_the_conversation_and_the_name_of_the_old_one(
    db: Connection, journal: Journal, tmp_path: Path
) -> None:
    old = over(db, journal, agent="claude")

    new = accepted(db, journal, planned(tmp_path))

    assert new.id != old.id
    assert (new.continues, new.native_id, new.name) == (old.id, TALK, "worker")
    assert known.launch_of(db, new.id)["resumes"] is True


@pytest.mark.spec("A10")
@pytest.mark.parametrize(("agent", "chooses"), [("claude", True), ("codex", False)])
def test_a_branch_is_a_conversation_of_its_own(
    db: Connection, journal: Journal, tmp_path: Path, *, agent: str, chooses: bool
) -> None:
    over(db, journal, agent=agent)

    new = accepted(db, journal, planned(tmp_path, agent=agent, is_branch=True))

    assert new.continues == WORKER
    assert new.native_id == (NativeId(new.id) if chooses else None)
    assert known.launch_of(db, new.id)["forks"] == TALK


@pytest.mark.spec("A10")
def test_what_lives_can_only_be_branched(
    db: Connection, journal: Journal, tmp_path: Path
) -> None:
    over(db, journal, agent="claude")
    again = accepted(db, journal, planned(tmp_path))

    with pytest.raises(
        CommandRefused, match=r"worker is still running in .* rookery fork worker"
    ):
        accepted(db, journal, planned(tmp_path))
    branch = accepted(db, journal, planned(tmp_path, is_branch=True))

    assert (again.name, branch.name) == ("worker", "worker-2")


@pytest.mark.spec("A10")
def test_what_lives_and_cannot_be_branched_has_to_end_first(
    db: Connection, journal: Journal, tmp_path: Path
) -> None:
    over(db, journal)
    accepted(db, journal, planned(tmp_path, agent="demo"))

    with pytest.raises(CommandRefused, match="rookery end worker"):
        accepted(db, journal, planned(tmp_path, agent="demo"))


@pytest.mark.spec("A10")
@pytest.mark.parametrize(
    ("agent", "is_branch", "told"),
    [
        ("shell", False, "shell cannot continue"),
        ("shell", True, "shell cannot branch"),
        ("gemini", True, "gemini cannot branch"),
        ("opencode", True, "opencode cannot branch"),
        ("demo", True, "demo cannot branch"),
    ],
)
def test_an_agent_that_cannot_is_refused(
    tmp_path: Path, *, agent: str, is_branch: bool, told: str
) -> None:
    with pytest.raises(CommandRefused, match=told):
        planned(tmp_path, agent=agent, is_branch=is_branch)


@pytest.mark.spec("A10")
@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("claude", ["--session-id", "n2", "--resume", "n1", "--fork-session"]),
        ("codex", ["fork", "n1"]),
    ],
)
def test_a_branch_is_asked_for_in_each_agents_own_words(agent: str, words: list[str]) -> None:
    argv = AGENTS[agent].command_line(replace(SPEC, forks=TALK)).argv

    assert " ".join(words) in " ".join(argv)


@pytest.mark.spec("A10")
@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("claude", "--resume n2"),
        ("codex", "resume n2"),
        ("demo", "--resume n2"),
        ("gemini", "--resume n2"),
        ("opencode", "--session n2"),
    ],
)
def test_whoever_can_go_on_is_told_with_what(agent: str, words: str) -> None:
    argv = AGENTS[agent].command_line(replace(SPEC, resumes=True)).argv

    assert AGENTS[agent].abilities.can_resume
    assert words in " ".join(argv)


@pytest.mark.anyio
@pytest.mark.spec("A7", "A10")
async def test_what_was_to_go_on_goes_on_after_a_crash(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    world = World(tmp_path)
    journal = Journal("here", world.clock, {})
    wanted = planned(world.project, agent="demo")
    await database.write(partial(over, journal=journal))
    accept = partial(starts.accept, journal=journal, plan=wanted, speaker=MessageSender("anna"))
    session = await database.write(accept)

    async with passing_time(database, world.clock), running(database, world) as context:
        await context.rest()
        up = await context.session(session.id)

    (launch,) = world.runtime.started
    assert launch.argv[1:3] == ("--resume", TALK)
    assert (up.status, up.native_id) == ("running", TALK)
