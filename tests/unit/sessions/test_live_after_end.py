"""Rules hold for an agent that lives, also after its record has ended."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from itertools import count
from sqlite3 import Connection

import pytest

from rookery.agents.catalog import AGENTS
from rookery.hook_protocol import Hook
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Status
from rookery.model.permissions import Outcome, Verdict
from rookery.model.sessions import Session
from rookery.permissions.decisions import Permissions
from rookery.permissions.rules_file import RulesFile
from rookery.processes import Process
from rookery.sessions import record_end
from rookery.store import audit, sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.intake import Intake
from tests.support.daemon import no_policy

pytestmark = [pytest.mark.anyio, pytest.mark.spec("A9", "D1")]

RULES = '[[deny]]\nname = "no rm"\ntool = "Bash"\ninput.command = { regex = "rm" }\n'

REMOVE = {"tool_name": "Bash", "tool_input": {"command": "rm -rf x"}}


class Agent:
    """An agent that its user has started, its hooks, and the record that has ended."""

    def __init__(self, database: Database, journal: Journal, pid: int) -> None:
        self.database, self.journal, self.pid = database, journal, pid
        rules = database.path.with_name("rules.toml")
        rules.write_text(RULES)
        permissions = Permissions(journal, RulesFile(rules), timedelta(minutes=5))
        policy = no_policy(journal)
        self.intake = Intake(database, journal, AGENTS, permissions, policy)
        self._keys = count()

    async def tell(self, event: str, **more: object) -> object:
        return await self._call(self.pid, event, more)

    async def tell_late(self, event: str, **more: object) -> None:
        """Call out of the spool."""
        await self._call(None, event, more)

    async def _call(self, pid: int | None, event: str, more: Mapping[str, object]) -> object:
        told = {"session_id": "n-1", "cwd": "/code/api", "hook_event_name": event, **more}
        hook = Hook(str(next(self._keys)), "claude", None, told, pid=pid)
        return await self.intake.receive(hook)

    async def end_record(self) -> SessionId:
        (session,) = await self.all()
        end = partial(record_end.end, journal=self.journal, session=session.id)
        reason = "it reported nothing for 72 h"
        await self.database.write(partial(end, outcome="completed", reason=reason))
        return session.id

    async def all(self) -> list[Session]:
        return await self.database.read(_all)

    async def audit(self) -> list[tuple[SessionId, str, str]]:
        kept = await self.database.read(partial(audit.decided, limit=100))
        return [(each.session, each.decision, each.rule) for each in kept]


def _all(db: Connection) -> list[Session]:
    rows = db.execute("select * from sessions order by ended_at is null, created_at")
    return [sessions.read_session(row) for row in rows]


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that is called like an agent's."""
    with subprocess.Popen(("claude", "1000"), executable="/bin/sleep") as running:
        yield running
        running.kill()


@pytest.fixture
def agent(database: Database, journal: Journal, program: subprocess.Popen[bytes]) -> Agent:
    return Agent(database, journal, program.pid)


@pytest.mark.spec("D4")
async def test_a_denied_call_stays_denied_and_is_in_the_audit(agent: Agent) -> None:
    await agent.tell("SessionStart")
    ended = await agent.end_record()

    verdict = await agent.tell("PreToolUse", **REMOVE)

    _, now = await agent.all()
    assert isinstance(verdict, Verdict)
    assert verdict.outcome is Outcome.DENIED
    assert await agent.audit() == [(now.id, "denied", "no rm")]
    assert now.id != ended


async def test_a_call_makes_the_agent_a_session_again(agent: Agent) -> None:
    await agent.tell("SessionStart")
    ended = await agent.end_record()

    await agent.tell("PreToolUse", **REMOVE)
    await agent.tell("Stop", last_assistant_message="no")

    before, now = await agent.all()
    own = Process.of(agent.pid)
    assert (before.id, before.status) == (ended, Status.COMPLETED)
    assert (now.status, now.native_id, now.continues) == (Status.RUNNING, "n-1", ended)
    assert now.name == before.name == "api"
    assert own is not None
    assert now.process == own.key


async def test_a_prompt_makes_the_agent_a_session_again(agent: Agent) -> None:
    await agent.tell("SessionStart")
    ended = await agent.end_record()

    await agent.tell("UserPromptSubmit", prompt="go on")

    assert [each.continues for each in await agent.all()] == [None, ended]


async def test_rules_hold_where_the_process_of_the_agent_is_not_found(
    database: Database, journal: Journal
) -> None:
    agent = Agent(database, journal, os.getpid())
    await agent.tell("SessionStart")
    await agent.end_record()

    verdict = await agent.tell("PreToolUse", **REMOVE)

    assert isinstance(verdict, Verdict)
    assert verdict.outcome is Outcome.DENIED


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    ("event", "told"),
    [
        ("PreToolUse", REMOVE),
        ("PermissionRequest", REMOVE),
        ("UserPromptSubmit", {"prompt": "go"}),
        ("Stop", {}),
    ],
)
async def test_a_spooled_call_of_an_ended_session_changes_nothing(
    agent: Agent, event: str, told: Mapping[str, object]
) -> None:
    await agent.tell("SessionStart")
    await agent.end_record()
    before = await agent.all()

    await agent.tell_late(event, **told)

    assert await agent.all() == before
    assert await agent.audit() == []


@pytest.mark.spec("A2")
@pytest.mark.parametrize("event", ["Stop", "SessionEnd", "PostToolUse", "Notification"])
async def test_the_last_words_of_an_ended_session_make_no_new_one(
    agent: Agent, event: str
) -> None:
    await agent.tell("SessionStart")
    await agent.end_record()

    await agent.tell(event, tool_name="Bash", tool_input={}, message="x", reason="other")

    assert [each.status for each in await agent.all()] == [Status.COMPLETED]
