"""What hooks report as used: counted once, and priced if the agent names no cost."""

from __future__ import annotations

from datetime import timedelta
from sqlite3 import Connection

import pytest

from rookery.agents.catalog import AGENTS
from rookery.config import Price
from rookery.hook_protocol import Hook
from rookery.model.facts import SessionId
from rookery.model.sessions import NativeId, Session
from rookery.permissions.decisions import Permissions
from rookery.permissions.rules_file import RulesFile
from rookery.store import sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.intake import Intake
from tests.support.daemon import no_policy
from tests.support.rows import make

pytestmark = pytest.mark.anyio

WORKER = SessionId("worker")
PRICES = {"anthropic/*": Price(input=2, output=10, cache_read=0.2)}


@pytest.fixture
async def intake(journal: Journal, database: Database) -> Intake:
    def prepare(db: Connection) -> None:
        known = {"agent": "opencode", "model": "anthropic/opus"}
        sessions.add(db, make(journal, WORKER, native_id=NativeId("n1"), **known))

    await database.write(prepare)
    permissions = Permissions(
        journal, RulesFile(database.path.with_name("rules.toml")), timedelta(minutes=5)
    )
    policy = no_policy(journal)
    return Intake(database, journal, AGENTS, permissions, policy, prices=PRICES)


async def report(intake: Intake, key: str, cost: float) -> Session:
    cache = {"read": 900, "write": 0}
    tokens = {"input": 100, "output": 10, "reasoning": 0, "cache": cache}
    payload = {"hook_event_name": "Usage", "session_id": "n1", "cwd": "/"}
    given = {**payload, "tokens": tokens, "cost": cost, "message_id": key}
    await intake.receive(Hook(key, "opencode", None, given))
    return await intake.database.read(lambda db: sessions.get(db, WORKER))


@pytest.mark.spec("G6")
async def test_a_report_without_a_cost_is_priced_and_marked(intake: Intake) -> None:
    found = await report(intake, "1", cost=0)

    assert (found.cost, found.estimated_cost) == (200 + 180 + 100, 480)


@pytest.mark.spec("G6")
async def test_a_reported_cost_is_kept_and_not_marked(intake: Intake) -> None:
    found = await report(intake, "1", cost=0.5)

    assert (found.cost, found.estimated_cost) == (500_000, 0)


@pytest.mark.spec("G6", "A11")
async def test_a_report_that_comes_again_is_counted_once(intake: Intake) -> None:
    await report(intake, "1", cost=0.5)

    found = await report(intake, "1", cost=0.5)

    assert (found.cost, found.input_tokens) == (500_000, 1_000)
