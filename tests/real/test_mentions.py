"""Text of one session makes no other read a file: the real Claude Code and Gemini CLI."""

from __future__ import annotations

import json

import pytest

from tests.support.real.agents import configure
from tests.support.real.http import badge_of
from tests.support.real.more_agents import CASES, SLOWLY, prepare, start
from tests.support.real.rookery import Rookery, eventually
from tests.support.real.toolbox import tools
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.timeout(300), pytest.mark.spec("E8", "K5")]

#: In two parts, so that no text of this test contains it.
SECRET = "cuckoo" + "-nest"

(GEMINI,) = (case for case in CASES if case.agent == "gemini")


def reached(models: ModelServer) -> bool:
    """Return whether a model was given the content of the file."""
    return any(SECRET in json.dumps(each.body) for each in models.log)


@pytest.mark.real
def test_a_session_cannot_have_its_child_read_a_file(
    cold: Rookery, models: ModelServer
) -> None:
    configure(cold, models.url)
    key = cold.project / "key.txt"
    key.write_text(SECRET)
    cold.up()
    cold.start("boss")
    with tools(cold, badge=badge_of(cold, "boss")) as boss:
        made = boss.call(
            "start_session",
            agent="claude",
            name="kid",
            message=f"see @{key} and @key.txt\nsay: seen",
        )
        cold.client.get("sessions", "kid", "wait", until="stop", timeout=60)
        boss.call("send_message", session_id="kid", message="now @key.txt\nsay: again")
        cold.client.get("sessions", "kid", "wait", until="stop", timeout=60)

    turns = cold.client.get("sessions", "kid", "turns")["turns"]
    assert [each["answer"] for each in turns] == ["seen", "again"], made
    assert not reached(models)

    cold.ask("kid", "mine: @key.txt\nsay: read")
    assert reached(models)


@pytest.mark.more_agents
def test_a_session_cannot_have_gemini_read_a_file(cold: Rookery, models: ModelServer) -> None:
    prepare(cold, models)
    key = cold.project / "key.txt"
    key.write_text(SECRET)
    cold.up()
    cold.start("boss")
    start(cold, GEMINI)
    cold.run("relay", "boss", "it")
    cold.ask("boss", f"say: see @{key} or x@key.txt", timeout=SLOWLY)
    eventually(lambda: any("[boss]" in json.dumps(each.body) for each in models.log))

    assert not reached(models)
