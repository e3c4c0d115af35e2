"""Whose process made a hook call is read once, and nothing that is remembered lets one pass."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from rookery import processes
from rookery.agents.catalog import AGENTS
from rookery.hook_protocol import Hook
from rookery.model.errors import HookUnreadable
from rookery.model.facts import SessionId
from rookery.permissions.decisions import Permissions
from rookery.permissions.rules_file import RulesFile
from rookery.processes import Process
from rookery.store import sessions, tokens
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.hook_callers import MAX_REMEMBERED_CALLERS, HookCaller, NonAgentCallers
from rookery.tracking.intake import Intake
from tests.support.daemon import no_policy
from tests.support.real.rookery import eventually
from tests.support.rows import make

pytestmark = [pytest.mark.anyio, pytest.mark.spec("C4")]

VICTIM = SessionId("victim")


@contextmanager
def process_called(name: str, script: str = "read line") -> Iterator[subprocess.Popen[bytes]]:
    """Run a shell under the name of an agent; it goes on once a line is written to it."""
    with subprocess.Popen(
        [name, "-c", script], executable="/bin/bash", stdin=subprocess.PIPE
    ) as running:
        eventually(lambda: processes.runs_program(running.pid, name))
        try:
            yield running
        finally:
            running.kill()


def hook(
    pid: int | None, *, agent: str = "claude", key: str = "k", event: str = "Stop"
) -> Hook:
    payload = {"session_id": "n1", "cwd": "/", "hook_event_name": event}
    return Hook(key, agent, None, payload, pid=pid)


@pytest.fixture
def intake(journal: Journal, database: Database) -> Intake:
    rules = RulesFile(database.path.with_name("rules.toml"))
    permissions = Permissions(journal, rules, timedelta(minutes=5))
    return Intake(database, journal, AGENTS, permissions, no_policy(journal))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the files of the kernel that are read from now on."""
    found: list[str] = []
    opened = os.open

    def note(path: str, *flags: int) -> int:
        if str(path).startswith("/proc/"):
            found.append(path)
        return opened(path, *flags)

    monkeypatch.setattr(os, "open", note)
    return found


def test_who_called_is_read_once_for_a_call(reads: list[str]) -> None:
    with process_called("claude") as agent:
        reads.clear()
        caller = HookCaller(hook(agent.pid), AGENTS["claude"])
        caller.look(NonAgentCallers())
        before = len(reads)
        found = caller.process
        is_own = caller.is_of(found.key if found else None)

    assert found == Process(agent.pid, found.started if found else "")
    assert is_own
    assert len(reads) == before


def test_a_non_agent_is_not_looked_at_again(reads: list[str]) -> None:
    non_agents = NonAgentCallers()
    first, second = (HookCaller(hook(os.getpid()), AGENTS["claude"]) for _ in range(2))

    first.look(non_agents)
    reads.clear()
    second.look(non_agents)

    assert reads == [f"/proc/{os.getpid()}/stat"]
    assert second.to_learn is None


def test_another_process_with_the_pid_of_a_non_agent_is_looked_at() -> None:
    non_agents = NonAgentCallers()
    with process_called("claude") as agent:
        non_agents.add((Process(agent.pid, "1"), "claude"))
        caller = HookCaller(hook(agent.pid), AGENTS["claude"])
        caller.look(non_agents)
        found = caller.to_learn

    assert found
    assert found.pid == agent.pid


def test_a_non_agent_to_one_agent_may_be_another(reads: list[str]) -> None:
    non_agents = NonAgentCallers()
    with process_called("claude") as agent:
        HookCaller(hook(agent.pid, agent="gemini"), AGENTS["gemini"]).look(non_agents)
        caller = HookCaller(hook(agent.pid), AGENTS["claude"])
        caller.look(non_agents)

        assert caller.to_learn


def test_a_non_agent_that_has_become_an_agent_is_the_agent() -> None:
    non_agents = NonAgentCallers()
    with process_called("wrapper", "read line; exec -a claude bash -c 'read x'") as process:
        HookCaller(hook(process.pid), AGENTS["claude"]).look(non_agents)
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.flush()
        eventually(lambda: processes.runs_program(process.pid, "claude"))
        own = Process.of(process.pid)
        assert own
        caller = HookCaller(hook(process.pid), AGENTS["claude"])
        caller.look(non_agents)
        caller.look_closely()

        assert caller.is_of(own.key)


def test_no_more_non_agents_are_kept_than_there_is_room_for() -> None:
    non_agents = NonAgentCallers()
    for number in range(MAX_REMEMBERED_CALLERS + 1):
        non_agents.add((Process(number, "1"), "claude"))

    assert (Process(MAX_REMEMBERED_CALLERS, "1"), "claude") in non_agents
    assert (Process(0, "1"), "claude") not in non_agents


async def test_a_non_agent_never_speaks_for_the_session_of_a_process(
    intake: Intake, journal: Journal, database: Database
) -> None:
    with process_called("claude") as agent:
        own = Process.of(agent.pid)
        assert own
        row = make(
            journal,
            VICTIM,
            runtime="headless",
            agent="claude",
            native_id="n1",
            process=own.key,
        )
        await database.write(lambda db: sessions.add(db, row))

        for key in ("1", "2"):  # the second time it is a known non_agent
            with pytest.raises(HookUnreadable, match="another process"):
                await intake.receive(hook(os.getpid(), key=key))
        await intake.receive(hook(agent.pid, key="3"))


async def test_a_badge_is_believed_without_a_look_at_processes(
    intake: Intake, journal: Journal, database: Database, reads: list[str]
) -> None:
    row = make(journal, VICTIM, agent="claude", native_id="n1")
    await database.write(lambda db: sessions.add(db, row))
    badge = await database.write(
        lambda db: tokens.give_badge(db, VICTIM, at=journal.clock.now())
    )
    payload = hook(None).payload

    await intake.receive(Hook("k1", "claude", badge, payload, pid=os.getpid()))
    looked_at = list(reads)
    with pytest.raises(HookUnreadable, match="badge"):
        await intake.receive(hook(os.getpid(), key="k2"))

    assert looked_at == []
