"""Rules for sessions that sessions have started, from the start to the decision."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import pytest

from rookery.agents.catalog import AGENTS
from rookery.model.facts import SessionId
from rookery.model.permissions import Call, Outcome, Verdict
from rookery.model.sessions import HEADLESS
from rookery.permissions.decisions import Pass, Permissions
from rookery.permissions.offline_answers import OfflineAnswers, situation
from rookery.permissions.rules_file import RulesFile
from rookery.store import session_families, sessions
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk, session_caller

pytestmark = pytest.mark.anyio

BASH = Call("Bash", {"command": "ls"}, is_asked=False)
WRITE = Call("Write", {"file_path": "x"}, is_asked=False)


class Court:
    """A desk with rules, of which sessions start others."""

    def __init__(self, desk: Desk, folder: Path) -> None:
        self.rules = folder / "rules.toml"
        self.book = RulesFile(self.rules)
        permissions = Permissions(desk.journal, self.book, timedelta(minutes=5))
        self.permissions = permissions
        desk.context = replace(desk.context, permissions=permissions)
        self.desk = desk

    def rule(self, text: str) -> None:
        self.rules.write_text(text)
        if reading := self.book.look():
            self.book.adopt(reading)

    async def start(self, name: str, folder: Path, *, by: SessionId) -> SessionId:
        words = {"agent": "demo", "name": name, "project": str(folder)}
        made = await self.desk.ask("start", by=session_caller(by), **words)
        return SessionId(made.id)

    async def outcome(self, session: SessionId, call: Call) -> Outcome | None:
        """Return what the rules make of a call; nothing if the agent itself decides."""

        def consider(db: Connection) -> Outcome | None:
            known = sessions.get(db, session)
            ruling = self.permissions.consider(db, known, call, hook="k", can_ask=True)
            assert self.permissions.repeat(db, known, call) == ruling
            assert isinstance(ruling, Verdict | Pass)
            return ruling.outcome if isinstance(ruling, Verdict) else None

        return await self.desk.database.write(consider)


@pytest.fixture
async def court(database: ObservedDatabase, clock: FakeClock, tmp_path: Path) -> Court:
    return Court(Desk(database, Journal("here", clock, readers={})), tmp_path)


@pytest.mark.spec("D1", "K5")
async def test_a_session_gains_no_rule_by_the_name_that_it_gives_to_a_child(
    court: Court, tmp_path: Path
) -> None:
    court.rule('[[allow]]\ntool = "Bash"\nsession = "ci-*"\n')
    parent = await court.desk.settle("pa", tmp_path)
    child = await court.start("ci-evil", tmp_path, by=parent)
    trusted = await court.desk.settle("ci-1", tmp_path)
    heir = await court.start("ci-2", tmp_path, by=trusted)

    assert await court.outcome(child, BASH) is None
    assert await court.outcome(trusted, BASH) is Outcome.ALLOWED
    assert await court.outcome(heir, BASH) is Outcome.ALLOWED


@pytest.mark.spec("D1", "K5")
async def test_what_is_denied_to_a_session_is_denied_to_its_children_whatever_their_names(
    court: Court, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    court.rule(
        f'[[deny]]\ntool = "Bash"\nsession = "pa*"\n'
        f'[[deny]]\ntool = "Write"\nproject = "{tmp_path}"\n'
    )
    parent = await court.desk.settle("pa", tmp_path)
    child = await court.start("zz", tmp_path / "sub", by=parent)
    grandchild = await court.start("zzz", tmp_path / "sub", by=child)

    for session in (child, grandchild):
        assert await court.outcome(session, BASH) is Outcome.DENIED
        assert await court.outcome(session, WRITE) is Outcome.DENIED


@pytest.mark.spec("D1", "K5")
async def test_a_conversation_that_a_session_began_stays_bound_when_it_is_resumed(
    court: Court, tmp_path: Path
) -> None:
    court.rule('[[deny]]\ntool = "Bash"\nsession = "pa*"\n')
    parent = await court.desk.settle("pa", tmp_path)
    first = await court.desk.settle("zz", tmp_path, parent=parent)
    resumed = await court.desk.settle("zz-2", tmp_path, continues=first)
    again = await court.desk.settle("zz-3", tmp_path, continues=resumed)

    assert await court.outcome(again, BASH) is Outcome.DENIED


@pytest.mark.spec("D1")
async def test_a_person_who_resumes_a_session_under_another_name_leaves_its_rules(
    court: Court, tmp_path: Path
) -> None:
    court.rule('[[deny]]\ntool = "Bash"\nsession = "old"\n')
    old = await court.desk.settle("old", tmp_path)
    new = await court.desk.settle("new", tmp_path, continues=old)

    assert await court.outcome(new, BASH) is None


@pytest.mark.spec("D1")
async def test_rules_are_tested_with_the_ancestors_of_the_session_that_is_named(
    court: Court, tmp_path: Path
) -> None:
    court.rule('[[deny]]\nname = "no pa"\ntool = "Bash"\nsession = "pa"\n')
    await court.start("zz", tmp_path, by=await court.desk.settle("pa", tmp_path))

    bound = await court.desk.ask("test_rules", tool="Bash", session="zz")
    free = await court.desk.ask("test_rules", tool="Bash", session="yy")

    assert (bound.decision, bound.rule) == ("deny", "no pa")
    assert (free.decision, free.rule) == ("ask", "")


@pytest.mark.spec("D1", "D3")
async def test_while_no_daemon_runs_a_child_is_told_of_the_rules_for_its_parents_agent(
    court: Court, tmp_path: Path
) -> None:
    court.rule('[[deny]]\ntool = "Bash"\nagent = "claude"\n')
    offline_answers = OfflineAnswers(tmp_path / "absence.json", AGENTS, court.book, "ask")

    async def told() -> set[str]:
        return set(
            json.loads(offline_answers.as_json(await court.desk.database.read(situation)))
        )

    before = await told()
    parent = await court.desk.settle("pa", tmp_path, agent="claude")
    await court.start("zz", tmp_path, by=parent)

    assert before == {"claude"}
    assert await told() == {"claude", "demo"}


LOADING = ["Agent", "CronCreate", "ScheduleWakeup", "Skill", "SlashCommand", "Task", "Workflow"]


@pytest.mark.spec("D1", "D3")
@pytest.mark.parametrize(
    ("tool", "tools"), [("Bash", sorted(["Bash", *LOADING])), ("Write", ["Write"])]
)
async def test_while_no_daemon_runs_skills_that_may_run_restricted_commands_do_not_pass(
    court: Court, tmp_path: Path, tool: str, tools: list[str]
) -> None:
    court.rule(f'[[deny]]\ntool = "{tool}"\n')
    offline_answers = OfflineAnswers(tmp_path / "absence.json", AGENTS, court.book, "ask")

    told = json.loads(offline_answers.as_json(await court.desk.database.read(situation)))

    assert told["claude"][0]["tools"] == tools
    assert told["codex"][0]["tools"] == [tool]


async def test_the_ancestors_of_a_session_are_listed_whoever_ended(
    court: Court, tmp_path: Path
) -> None:
    parent = await court.desk.settle("pa", tmp_path)
    child = await court.start("zz", tmp_path, by=parent)
    grandchild = await court.start("zzz", tmp_path, by=child)
    await court.desk.ask("end", session=parent)

    known = await court.desk.session(grandchild)
    where = await court.desk.database.read(
        partial(session_families.circumstances, session=known)
    )

    assert {each.session for each in where.ancestors} == {"pa", "zz"}


@pytest.mark.spec("D1", "K5")
@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_a_name_that_an_agent_can_choose_wins_no_rule(
    court: Court, tmp_path: Path, decision: str
) -> None:
    court.rule(f'[[{decision}]]\ntool = "Bash"\nsession = "ci-*"\n')
    ours = await court.desk.settle("ci-1", tmp_path)
    by_hand = await court.desk.settle("ci-2", tmp_path, runtime=HEADLESS)

    expected = {"allow": Outcome.ALLOWED, "deny": Outcome.DENIED}[decision]
    assert await court.outcome(ours, BASH) is expected
    assert await court.outcome(by_hand, BASH) is (None if decision == "allow" else expected)
    tested = await court.desk.ask("test_rules", tool="Bash", session="ci-2")
    assert tested.decision == ("ask" if decision == "allow" else "deny")


@pytest.mark.spec("D1")
async def test_without_a_daemon_a_restricted_tool_is_known_by_each_of_its_names(
    court: Court, tmp_path: Path
) -> None:
    court.rule('[[deny]]\ntool = "grep_search"\nagent = "gemini"\n')
    offline_answers = OfflineAnswers(tmp_path / "absence.json", AGENTS, court.book, "ask")

    stored = json.loads(offline_answers.as_json(await court.desk.database.read(situation)))

    assert stored["gemini"][0]["tools"] == ["grep_search", "search_file_content"]
