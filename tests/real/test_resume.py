"""Conversations that go on: the real Claude Code and Codex know what was said before."""

from __future__ import annotations

import pytest

from tests.support.paths import PROGRAMS
from tests.support.real.agents import configure
from tests.support.real.resumed import KNOWN, SECRET, last_answer
from tests.support.real.rookery import Rookery
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.agents, pytest.mark.timeout(300)]

#: What was said in a branch.
ASIDE, OVERHEARD = "the aside is plover", "saw: aside is pl[o]ver"


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    configure(cold, models.url)
    cold.up()
    return cold


@pytest.fixture(params=["claude", "codex"])
def agent(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    assert (PROGRAMS / found).exists(), "make agents installs it"
    return found


def knows(rookery: Rookery, name: str, question: str) -> bool:
    return rookery.ask(name, question).endswith(": yes")


@pytest.mark.spec("A10", "I5")
def test_a_resumed_conversation_knows_what_was_said_before(
    rookery: Rookery, agent: str
) -> None:
    rookery.start("it", agent=agent)
    rookery.ask("it", f"say: {SECRET}")
    rookery.run("end", "it")
    old = rookery.session("it")

    new = rookery.json("resume", "it", "--wait", KNOWN)
    said = last_answer(rookery, "it")

    assert (new["continues"], new["native_id"]) == (old["id"], old["native_id"])
    assert (new["name"], new["agent"], new["id"] != old["id"]) == ("it", agent, True)
    assert said.endswith(": yes")
    assert not knows(rookery, "it", OVERHEARD)


@pytest.mark.spec("A10", "I5")
def test_a_branch_of_a_live_conversation_knows_the_past_and_its_stem_knows_nothing_of_it(
    rookery: Rookery, agent: str
) -> None:
    rookery.start("it", agent=agent)
    rookery.ask("it", f"say: {SECRET}")

    refused = rookery.run("resume", "it")
    branch = rookery.json("fork", "it", "--name", "branch", "--wait", KNOWN)
    known = last_answer(rookery, "branch")
    rookery.ask("branch", f"say: {ASIDE}")

    stem = rookery.session("it")
    assert refused.returncode == 1
    assert "rookery fork it" in refused.stderr
    assert branch["continues"] == stem["id"]
    assert rookery.session("branch")["native_id"] not in {None, stem["native_id"]}
    assert known.endswith(": yes")
    assert knows(rookery, "branch", OVERHEARD)
    assert not knows(rookery, "it", OVERHEARD)
    assert knows(rookery, "it", KNOWN)


@pytest.mark.spec("A10")
def test_a_conversation_that_rookery_never_saw_is_handed_to_its_agent(
    rookery: Rookery, agent: str
) -> None:
    rookery.start("it", agent=agent)
    rookery.ask("it", f"say: {SECRET}")
    rookery.run("end", "it")
    native_id = rookery.session("it")["native_id"]
    rookery.stop()
    rookery.home.database.unlink()
    rookery.up()

    where = ("--agent", agent, "--project", str(rookery.project))
    rookery.json("resume", native_id, *where, "--name", "again", "--wait", KNOWN)

    assert last_answer(rookery, "again").endswith(": yes")
