"""The five methods that tools for Claude Code already use: their fields and their meaning."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from sqlite3 import Connection

import pytest
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from rookery.api.rpc.catalog import GATEWAY_METHODS
from rookery.model.blocks import Block, BlockKind
from rookery.model.facts import (
    Fact,
    SessionEnded,
    SessionId,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from rookery.operations.foreground import TERMINAL
from rookery.store import blocks
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk
from tests.support.rpc import RpcClient

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I3")]

ANNA = SessionId("anna-1")
NATIVE = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
async def desk(database: ObservedDatabase, journal: Journal, tmp_path: Path) -> Desk:
    desk = Desk(database, journal)
    await desk.settle(
        ANNA,
        tmp_path,
        agent="claude",
        subdir="part",
        model="opus",
        native_id=NATIVE,
        first_prompt="fix\x1b[31m it\nplease",
    )
    return desk


@pytest.fixture
def client(desk: Desk) -> RpcClient:
    return RpcClient(desk)


async def happen(desk: Desk, *facts: Fact) -> None:
    def append(db: Connection) -> None:
        for fact in facts:
            desk.journal.append(db, fact)

    await desk.database.write(append)


async def answer(desk: Desk, *answers: str) -> None:
    for text in answers:
        await happen(desk, TurnStarted(ANNA, "go"), TurnEnded(ANNA, text))


def test_the_methods_and_their_fields_have_the_names_of_the_specification() -> None:
    found = {each.name: fields_of(each.asks) for each in GATEWAY_METHODS}

    assert found == {
        "claude-code.sessions": "status",
        "claude-code.launch": "prompt name workdir model maxBudgetUsd systemPrompt"
        " allowedTools resumeSessionId forkSession multiTurnDisabled originChannel",
        "claude-code.kill": "session id",
        "claude-code.output": "session id lines full",
        "claude-code.stats": "",
    }
    assert {each.name: fields_of(each.answers) for each in GATEWAY_METHODS} == {
        "claude-code.sessions": "sessions count",
        "claude-code.launch": "id name status workdir model",
        "claude-code.kill": "id name status message",
        "claude-code.output": "id name status costUsd durationMs duration lines lineCount"
        " result",
        "claude-code.stats": "totalCostUsd costPerDay sessionsByStatus totalLaunched"
        " averageDurationMs mostExpensive display",
    }


def fields_of(shape: type[BaseModel]) -> str:
    return " ".join(map(to_camel, shape.model_fields))


def test_what_is_required_is_only_a_prompt() -> None:
    asked = {each.name: each.asks.model_fields for each in GATEWAY_METHODS}
    required = {
        (method, name)
        for method, fields in asked.items()
        for name, field in fields.items()
        if field.is_required()
    }

    assert required == {("claude-code.launch", "prompt")}
    assert asked["claude-code.output"]["lines"].default == 50
    assert asked["claude-code.launch"]["origin_channel"].default == "gateway"


async def test_a_session_is_listed_with_all_its_fields(
    desk: Desk, client: RpcClient, clock: FakeClock, tmp_path: Path
) -> None:
    began = clock.now()
    await happen(desk, UsageReported(ANNA, 10, 5, cost=1_250_000))
    await desk.ask("foreground", session=ANNA, channel=TERMINAL)
    clock.advance(125)

    found = await client.result("claude-code.sessions")

    assert found == {
        "sessions": [
            {
                "id": ANNA,
                "name": ANNA,
                "status": "running",
                "prompt": "fix\x1b[31m it\nplease",
                "workdir": f"{tmp_path}/part",
                "model": "opus",
                "costUsd": 1.25,
                "startedAt": int(began.timestamp() * 1000),
                "completedAt": None,
                "durationMs": 125_000,
                "claudeSessionId": NATIVE,
                "foreground": True,
                "multiTurn": True,
                "display": f"anna-1 (anna-1): idle, 2m 5s | $1.25 | {tmp_path}/part"
                " | fix[31m it please",
            }
        ],
        "count": 1,
    }


@pytest.mark.parametrize(
    ("status", "names"),
    [("all", ["anna-1", "bert-1"]), ("running", ["anna-1"]), ("killed", ["bert-1"])],
)
async def test_sessions_are_chosen_by_their_status(
    desk: Desk, client: RpcClient, status: str, names: list[str]
) -> None:
    await desk.settle("bert-1")
    await happen(desk, SessionEnded(SessionId("bert-1"), "", "killed"))

    found = await client.result("claude-code.sessions", status=status)
    wrong = await client.error("claude-code.sessions", status="asleep")

    assert [each["name"] for each in found["sessions"]] == names
    assert found["count"] == len(names)
    assert wrong["code"] == -32602


async def test_the_last_lines_of_all_answers_are_its_output(
    desk: Desk, client: RpcClient, clock: FakeClock
) -> None:
    await answer(desk, "one\ntwo", "\x1b[1mthree\n\nfive")
    clock.advance(3_700)

    last = await client.result("claude-code.output", session=ANNA, lines=2)
    every = await client.result("claude-code.output", id=ANNA, full=True)

    assert last["lines"] == ["", "five"]
    assert last["lineCount"] == 2
    assert every["lines"] == ["one", "two", "[1mthree", "", "five"]
    assert every["result"] == "[1mthree\n\nfive"
    assert (every["durationMs"], every["duration"]) == (3_700_000, "1h 1m")
    assert (every["id"], every["name"], every["status"]) == (ANNA, ANNA, "running")


@pytest.mark.spec("I3", "G4")
async def test_texts_between_tools_are_output_while_the_turn_runs(
    desk: Desk, client: RpcClient, clock: FakeClock
) -> None:
    await answer(desk, "before")
    said = (
        Block(BlockKind.TEXT, "I look."),
        Block(BlockKind.TOOL_CALL, "ls", "Bash", "1"),
        Block(BlockKind.TOOL_RESULT, "a file", "Bash", "1"),
        Block(BlockKind.TEXT, "I have\nlooked."),
    )
    await happen(desk, TurnStarted(ANNA, "look"))
    append = partial(blocks.append, session=ANNA, blocks=said, at=clock.now())
    await desk.database.write(append)

    found = await client.result("claude-code.output", session=ANNA)

    assert found["lines"] == ["before", "I look.", "I have", "looked."]
    assert found["result"] == "before"


@pytest.mark.spec("I3", "G4")
async def test_full_shows_what_the_lines_and_the_last_blocks_leave_out(
    desk: Desk, client: RpcClient, clock: FakeClock
) -> None:
    kept = desk.context.settings.limits.output_blocks
    said = [Block(BlockKind.TEXT, str(number)) for number in range(2 * kept + 1)]
    append = partial(blocks.append, session=ANNA, blocks=said, at=clock.now())
    await desk.database.write(append)

    last = await client.result("claude-code.output", session=ANNA)
    many = await client.result("claude-code.output", session=ANNA, lines=kept + 1)
    every = await client.result("claude-code.output", session=ANNA, full=True)

    assert (last["lineCount"], last["lines"][0]) == (50, str(2 * kept - 49))
    assert (many["lineCount"], many["lines"][0]) == (kept + 1, str(kept))
    assert every["lines"] == [each.text for each in said]
    assert every["lineCount"] == 2 * kept + 1


async def test_50_lines_are_shown_unless_another_number_is_given(
    desk: Desk, client: RpcClient
) -> None:
    await answer(desk, "\n".join(map(str, range(80))))

    found = await client.result("claude-code.output", session=ANNA)

    assert found["lines"] == [str(number) for number in range(30, 80)]


async def test_a_session_without_an_answer_has_no_result(client: RpcClient) -> None:
    found = await client.result("claude-code.output", session=ANNA)

    assert (found["lines"], found["lineCount"], found["result"]) == ([], 0, None)


@pytest.mark.parametrize("params", [{}, {"session": "anna-1", "id": "anna-1"}])
@pytest.mark.parametrize("method", ["claude-code.output", "claude-code.kill"])
async def test_a_session_is_named_once(
    client: RpcClient, method: str, params: dict[str, object]
) -> None:
    error = await client.error(method, **params)

    assert error["code"] == -32602
    assert "either `session` or `id`" in error["message"]


async def test_killing_a_session_ends_it_and_twice_does_nothing(
    desk: Desk, client: RpcClient
) -> None:
    first = await client.result("claude-code.kill", session=ANNA)
    await happen(desk, SessionEnded(ANNA, "", "killed"))
    again = await client.result("claude-code.kill", id=ANNA)

    assert first == {
        "id": ANNA,
        "name": ANNA,
        "status": "closing",
        "message": "anna-1 is being ended.",
    }
    assert (again["status"], again["message"]) == ("killed", "anna-1 has ended (killed).")


@pytest.mark.spec("K5")
async def test_a_part_in_the_middle_of_a_name_is_not_enough_to_kill(client: RpcClient) -> None:
    shown = await client.result("claude-code.output", session="nna")
    error = await client.error("claude-code.kill", session="nna")

    assert shown["id"] == ANNA
    assert error["data"]["code"] == "session-unknown"


async def test_statistics_without_costs_say_that_none_is_known(client: RpcClient) -> None:
    found = await client.result("claude-code.stats")

    assert found == {
        "totalCostUsd": None,
        "costPerDay": {},
        "sessionsByStatus": {"running": 1},
        "totalLaunched": 1,
        "averageDurationMs": None,
        "mostExpensive": None,
        "display": "Launched: 1 session\n  running: 1\nCost: not known",
    }


async def test_statistics_add_up_costs_and_name_the_most_expensive(
    desk: Desk, client: RpcClient, clock: FakeClock
) -> None:
    await desk.settle("bert-1")
    await happen(desk, UsageReported(ANNA, 1, 1, cost=2_000_000))
    await happen(desk, UsageReported(SessionId("bert-1"), 1, 1, cost=500_000))
    clock.advance(60)
    await happen(desk, SessionEnded(SessionId("bert-1"), "", "completed"))

    found = await client.result("claude-code.stats")

    assert found["totalCostUsd"] == 2.5
    assert sum(found["costPerDay"].values()) == 2.5
    assert found["sessionsByStatus"] == {"completed": 1, "running": 1}
    assert (found["totalLaunched"], found["averageDurationMs"]) == (2, 60_000)
    assert found["mostExpensive"] == {
        "id": ANNA,
        "name": ANNA,
        "costUsd": 2.0,
        "prompt": "fix\x1b[31m it\nplease",
    }
    assert found["display"].splitlines()[-2:] == ["Average duration: 1m 0s", "Cost: $2.50"]
