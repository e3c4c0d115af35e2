"""The path of a start: accepted, up, words, turn, answer. Read this first."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from rookery.model.sessions import Turn
from rookery.ports.sightings import FellQuiet
from rookery.store import turns
from tests.support.daemon import World, running
from tests.support.fakes.database import ObservedDatabase
from tests.support.waiting import kinds, steps

pytestmark = pytest.mark.anyio


@pytest.mark.spec("A2", "A3", "B2")
async def test_a_prompt_becomes_a_session_a_turn_and_an_answer(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    world = World(tmp_path)
    async with running(database, world) as context:
        session = await context.start("Build the parser", name="builder")

        known = await context.session(session)
        (turn,) = await database.read(partial(turns.of_session, session=session, last=10))

    now = world.clock.now()
    assert world.runtime.heard == [(session, "Build the parser")]
    assert turn == Turn(4, "Build the parser", "Done.", now, now, "finished")
    assert (known.name, known.status, known.activity) == ("builder", "running", "idle")
    assert known.started_at == now
    assert await database.read(steps) == ["acknowledged"]
    assert await database.read(kinds) == [
        "session-requested",
        "message-written",
        "session-started",
        "turn-started",
        "turn-ended",
    ]


@pytest.mark.spec("A2", "B0", "C8")
async def test_words_wait_while_it_asks_its_person(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    world = World(tmp_path)
    world.agents.answers_at_once = False
    async with running(database, world) as context:
        session = await context.start("Build the parser")
        program = world.runtime.program(session)

        world.agents.hook(session, "PermissionRequest", tool_name="Bash")
        program.dialog = "May it use Bash?"
        await context.send(session, "And test it")
        await context.rest()
        asking = await context.session(session)
        program.dialog = ""
        world.agents.hook(session, "PostToolUse", tool_name="Bash")
        world.agents.hook(session, "Stop", last_assistant_message="Built.")
        await context.rest()

    assert (asking.activity, asking.reason) == ("permission", "May it use Bash?")
    assert world.runtime.heard == [(session, "Build the parser"), (session, "And test it")]
    assert await database.read(steps) == ["acknowledged", "acknowledged"]


@pytest.mark.spec("A3", "A4", "F3")
async def test_any_program_can_be_asked_and_ended(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    world = World(tmp_path)
    async with running(database, world) as context:
        session = await context.start(agent="shell", name="terminal")
        await context.send(session, "ls")
        await context.rest()
        world.runtime.program(session).screen = ["$ ls", "parser.py", "$"]
        world.clock.advance(2)
        world.runtime.see_again(FellQuiet(session))
        await context.rest()
        (turn,) = await database.read(partial(turns.of_session, session=session, last=10))
        await context.end(session)
        await context.rest()

        ended = await context.session(session)

    artifact = world.artifacts / f"{session}.txt"
    assert (turn.prompt, turn.answer) == ("ls", "parser.py")
    assert (ended.status, ended.ended_by) == ("killed", "person")
    assert artifact.read_text() == "$ ls\nparser.py\n$\n"
    assert world.runtime.programs == {}
