"""Allow always: the rule is on disk and in force before the request is answered."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from sqlite3 import Connection

import pytest

from rookery.model.errors import CommandRefused, Forbidden, RequestClosed
from rookery.model.facts import SessionId
from rookery.model.permissions import Call, Outcome, Question, Request, RequestId
from rookery.operations import always_allow
from rookery.operations.always_allow import AlwaysAllowed
from rookery.permissions.decisions import Permissions
from rookery.permissions.rules_file import RulesFile
from rookery.store import requests
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.requests import Asking
from tests.support.fakes.clock import FakeClock
from tests.support.operations import Desk, session_caller

pytestmark = [pytest.mark.anyio, pytest.mark.spec("D1", "D2")]

WORKER = SessionId("worker")
LS = Call("Bash", {"command": "ls *"})


@pytest.fixture
async def desk(database: Database, clock: FakeClock, tmp_path: Path) -> Desk:
    """Give a session in a folder, and a rules file that does not exist yet."""
    desk = Desk(database, Journal("here", clock, readers={}))
    rules = RulesFile(tmp_path / "rules.toml")
    permissions = Permissions(desk.journal, rules, timedelta(minutes=5))
    desk.context = replace(desk.context, permissions=permissions)
    await desk.settle(WORKER, tmp_path)
    return desk


async def ask(desk: Desk, call: Call = LS) -> RequestId:
    asking = Asking(desk.journal.clock.now(), None, secrets.token_hex(8))

    def add(db: Connection) -> RequestId:
        return requests.add(db, WORKER, call, asking)

    return await desk.database.write(add)


async def request_of(desk: Desk, request: RequestId) -> Request:
    return await desk.database.read(lambda db: requests.get(db, request))


def rules(desk: Desk) -> str:
    file = desk.context.permissions.rules_file.path
    return file.read_text() if file.exists() else ""


async def test_the_rule_is_in_force_and_the_request_is_allowed(desk: Desk) -> None:
    request = await ask(desk)

    done: AlwaysAllowed = await desk.ask("allow_always", permission=request)

    assert done.request.outcome is Outcome.ALLOWED
    assert done.is_new
    assert done.rule == rules(desk)
    (rule,) = desk.context.permissions.rules_file.rules
    assert rule.name == f"always {request}"
    tested = await desk.ask(
        "test_rules",
        tool="Bash",
        input={"command": "ls *"},
        agent="demo",
        project=str(desk.context.permissions.rules_file.path.parent),
    )
    assert (tested.decision, tested.rule) == ("allow", rule.name)


async def test_a_preview_changes_nothing(desk: Desk) -> None:
    request = await ask(desk, Call("Bash", {"command": "git status"}))

    preview = await desk.ask("preview_rule", permission=request)

    assert 'input.command = { literal = "git status" }' in preview.rule
    assert preview.pattern == "Bash git status*"
    assert rules(desk) == ""
    assert (await request_of(desk, request)).outcome is Outcome.OPEN


async def test_a_daemon_that_dies_after_the_rule_leaves_the_request_open_for_a_repeat(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = await ask(desk)

    async def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(always_allow, "once", die)
        with pytest.raises(KeyboardInterrupt):
            await desk.ask("allow_always", permission=request, idempotency_key="k")
    written = rules(desk)
    is_open = (await request_of(desk, request)).outcome is Outcome.OPEN

    done = await desk.ask("allow_always", permission=request, idempotency_key="k")

    assert written
    assert is_open
    assert done.request.outcome is Outcome.ALLOWED
    assert not done.is_new
    assert rules(desk) == written


async def test_an_answered_request_makes_no_rule(desk: Desk) -> None:
    request = await ask(desk)
    await desk.ask("answer_permission", permission=request, decision="deny")

    with pytest.raises(RequestClosed):
        await desk.ask("allow_always", permission=request)

    assert rules(desk) == ""


@pytest.mark.parametrize(
    "call",
    [
        replace(LS, is_exact=False),
        Call("AskUserQuestion", {}, questions=(Question("Which?", ("a", "b")),)),
        Call("ExitPlanMode", {"plan": "Do it."}),
        Call("dialog", {"text": "Trust this folder?"}, shown="permission"),
    ],
)
async def test_what_is_no_exact_tool_call_is_refused(desk: Desk, call: Call) -> None:
    request = await ask(desk, call)

    with pytest.raises(CommandRefused):
        await desk.ask("allow_always", permission=request)

    assert rules(desk) == ""
    assert (await request_of(desk, request)).outcome is Outcome.OPEN


def _broken(file: Path) -> None:
    file.write_text("[[deny]\n")


def _missing(file: Path) -> None:
    file.unlink()


def _of_others(file: Path) -> None:
    file.chmod(0o666)


@pytest.mark.parametrize("damage", [_broken, _missing, _of_others])
async def test_nothing_is_added_to_a_file_that_is_not_in_force(
    desk: Desk, damage: Callable[[Path], None]
) -> None:
    request, file = await ask(desk), desk.context.permissions.rules_file.path
    file.write_text('[[deny]]\ntool = "Write"\n')
    await desk.ask("permissions")
    damage(file)
    before = rules(desk)

    with pytest.raises(CommandRefused, match="was not added"):
        await desk.ask("allow_always", permission=request)

    assert rules(desk) == before
    assert (await request_of(desk, request)).outcome is Outcome.OPEN


@pytest.mark.spec("K5")
@pytest.mark.parametrize("operation", ["allow_always", "preview_rule"])
async def test_no_session_makes_rules(desk: Desk, operation: str) -> None:
    request = await ask(desk)

    with pytest.raises(Forbidden):
        await desk.ask(operation, by=session_caller(WORKER), permission=request)

    assert rules(desk) == ""


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "a rule would also allow other calls"),
        ("Bash ls *", "it cannot be checked that the pattern matches"),
    ],
)
async def test_the_refusal_of_a_pattern_speaks_of_the_pattern(
    desk: Desk, pattern: str, why: str
) -> None:
    request = await ask(desk, replace(LS, is_exact=False))

    with pytest.raises(CommandRefused, match=why):
        await desk.ask("allow_always", permission=request, pattern=pattern)
