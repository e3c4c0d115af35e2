"""Launching a session for tools of others: driven if that is possible, else in a terminal."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from rookery.api.rpc import launching
from rookery.model.facts import SessionEnded, SessionId
from rookery.model.scopes import Identity, Scope
from rookery.model.sessions import Session
from rookery.ports.agent import CommandLine, DriverLine, LaunchSpec
from rookery.store import sessions
from rookery.store.journal import Journal
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk, session_caller
from tests.support.rpc import RpcClient

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I3")]

NATIVE = "11111111-2222-3333-4444-555555555555"
UNKNOWN = "99999999-2222-3333-4444-555555555555"

DRIVING: dict[str, object] = {
    "maxBudgetUsd": 0.5,
    "systemPrompt": "Be brief.",
    "allowedTools": ["Read"],
    "multiTurnDisabled": True,
}


def driver_line(spec: LaunchSpec) -> DriverLine:
    return DriverLine("sdk", CommandLine((), {}, {}), {})


@pytest.fixture
def desk(database: ObservedDatabase, journal: Journal, tmp_path: Path) -> Desk:
    """Give a daemon that can drive Claude Code, and whose user has a home folder."""
    desk = Desk(database, journal)
    agents = desk.context.agents
    claude = replace(agents["claude"], driven={"sdk": driver_line})
    login = {**desk.context.login, "HOME": str(tmp_path)}
    desk.context = replace(desk.context, agents={**agents, "claude": claude}, login=login)
    return desk


@pytest.fixture
def client(desk: Desk) -> RpcClient:
    return RpcClient(desk)


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "SDK_PACKAGE", "no_such_package")


async def stored(desk: Desk, session: str) -> tuple[Session, dict[str, object]]:
    """Return a session and what is only for driven ones in its launch."""
    launch = await desk.database.read(partial(sessions.launch_of, session=SessionId(session)))
    return await desk.session(SessionId(session)), launch.get("driving", {})


async def test_a_session_is_driven_with_all_that_was_asked(
    desk: Desk, client: RpcClient, tmp_path: Path
) -> None:
    launched = await client.result(
        "claude-code.launch",
        prompt="go",
        name="worker",
        workdir=str(tmp_path),
        model="opus",
        originChannel="telegram|12345",
        **DRIVING,
    )
    session, driving = await stored(desk, launched["id"])
    listed = await client.result("claude-code.sessions")

    assert launched == {
        "id": session.id,
        "name": "worker",
        "status": "starting",
        "workdir": str(tmp_path),
        "model": "opus",
    }
    assert (session.agent, session.runtime) == ("claude", "sdk")
    assert (session.first_prompt, session.origin) == ("go", "telegram|12345")
    assert session.budget == 500_000
    assert driving["system_prompt"] == "Be brief."
    assert driving["allowed_tools"] == ["Read"]
    assert driving["single_turn"] is True
    assert [each["multiTurn"] for each in listed["sessions"]] == [False]


async def test_only_a_prompt_is_needed(desk: Desk, client: RpcClient, tmp_path: Path) -> None:
    launched = await client.result("claude-code.launch", prompt="fix the tests")
    session, driving = await stored(desk, launched["id"])
    without = await client.error("claude-code.launch")

    assert launched["workdir"] == str(tmp_path)
    assert launched["model"] is None
    assert (session.origin, session.budget) == ("gateway", 5_000_000)
    assert driving["single_turn"] is False
    assert without["code"] == -32602


@pytest.mark.usefixtures("without_package")
async def test_without_the_package_a_session_is_in_a_terminal(
    desk: Desk, client: RpcClient
) -> None:
    launched = await client.result("claude-code.launch", prompt="go")

    assert (await desk.session(SessionId(launched["id"]))).runtime == "tmux"


@pytest.mark.usefixtures("without_package")
@pytest.mark.parametrize("name", DRIVING)
async def test_what_a_terminal_cannot_do_is_refused_by_name(
    client: RpcClient, name: str
) -> None:
    error = await client.error("claude-code.launch", prompt="go", **{name: DRIVING[name]})

    assert error["code"] == -32602
    assert f"cannot have {name}." in error["message"]
    assert "[tui,sdk]" in error["message"]


async def test_a_conversation_goes_on_with_another_prompt(
    desk: Desk, client: RpcClient, tmp_path: Path
) -> None:
    old = await desk.settle("anna-1", tmp_path, agent="claude", native_id=NATIVE)
    ended = SessionEnded(old, "", "completed")
    await desk.database.write(lambda db: desk.journal.append(db, ended))

    launched = await client.result(
        "claude-code.launch", prompt="go on", resumeSessionId=NATIVE, **DRIVING
    )
    session, driving = await stored(desk, launched["id"])

    assert (session.continues, session.native_id) == (old, NATIVE)
    assert (session.runtime, session.budget) == ("sdk", 500_000)
    assert driving["single_turn"] is True


async def test_a_live_session_is_branched_and_not_resumed(
    desk: Desk, client: RpcClient, tmp_path: Path
) -> None:
    old = await desk.settle("anna-1", tmp_path, agent="claude", native_id=NATIVE)

    refused = await client.error("claude-code.launch", prompt="go", resumeSessionId=old)
    launched = await client.result(
        "claude-code.launch", prompt="go", resumeSessionId=old, forkSession=True
    )
    session, _ = await stored(desk, launched["id"])

    assert refused["code"] == -32000
    assert session.continues == old
    assert session.native_id != NATIVE


async def test_a_conversation_that_is_not_known_is_passed_to_the_agent(
    desk: Desk, client: RpcClient, tmp_path: Path
) -> None:
    launched = await client.result(
        "claude-code.launch", prompt="go", resumeSessionId=UNKNOWN, workdir=str(tmp_path)
    )
    odd = await client.error("claude-code.launch", prompt="go", resumeSessionId="nobody")

    assert (await desk.session(SessionId(launched["id"]))).native_id == UNKNOWN
    assert odd["data"]["code"] == "session-unknown"


async def test_a_fork_needs_what_it_branches_off(client: RpcClient) -> None:
    error = await client.error("claude-code.launch", prompt="go", forkSession=True)

    assert "resume_session_id" in error["message"]


async def test_a_conversation_does_not_move_to_another_folder(
    desk: Desk, client: RpcClient, tmp_path: Path
) -> None:
    old = await desk.settle("anna-1", tmp_path, agent="claude", native_id=NATIVE)

    error = await client.error(
        "claude-code.launch", prompt="go", resumeSessionId=old, workdir="/", forkSession=True
    )

    assert (error["code"], str(tmp_path) in error["message"]) == (-32602, True)


@pytest.mark.spec("A3")
async def test_a_launch_is_carried_out_once_under_its_key(client: RpcClient) -> None:
    first, again = [
        await client.result("claude-code.launch", prompt="go", idempotencyKey="k")
        for _ in range(2)
    ]

    assert first == again


@pytest.mark.spec("K5")
async def test_a_session_launches_a_child_in_its_own_folder(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    own = await desk.settle("anna-1", folder, agent="claude")
    client = RpcClient(desk, session_caller(own))

    launched = await client.result("claude-code.launch", prompt="go")
    tools = await client.error("claude-code.launch", prompt="go", allowedTools=["Bash"])

    session = await desk.session(SessionId(launched["id"]))
    assert (session.parent, session.project_path) == (own, str(folder))
    assert tools["code"] == -32003


@pytest.mark.spec("K5")
async def test_a_reader_launches_nothing(desk: Desk) -> None:
    client = RpcClient(desk, Identity(Scope.READER, "tcp"))

    assert (await client.error("claude-code.launch", prompt="go"))["code"] == -32003
