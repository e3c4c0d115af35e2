"""The real Claude Code and Codex ask; rules, persons, the clock and the keyboard answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.real.agent_cases import CASES, Case, answer
from tests.support.real.agents import configure
from tests.support.real.driven_claude import add_asking_server
from tests.support.real.rookery import SOON, Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


@pytest.fixture(params=CASES, ids=[case.agent for case in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture
def rookery(cold: Rookery) -> Iterator[Rookery]:
    with ModelServer() as models:
        configure(cold, models.url)
        cold.up()
        yield cold


def asked(rookery: Rookery) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rookery.client.get("permissions")["requests"]
    return found


def ask(rookery: Rookery, case: Case) -> dict[str, Any]:
    """Have it ask for the tool call of its case, and wait until that is known."""
    rookery.send("it", case.asking)
    eventually(lambda: asked(rookery))
    (request,) = asked(rookery)
    return request


def last_turn(rookery: Rookery) -> dict[str, Any]:
    eventually(lambda: rookery.session("it")["activity"] == "idle")
    turn: dict[str, Any] = rookery.json("output", "it")["turns"][-1]
    return turn


def is_made(rookery: Rookery) -> bool:
    return (rookery.project / "made").exists()


def told_model(rookery: Rookery) -> str:
    """Return all that the agent has told its model so far, as its transcript has it."""
    with open(rookery.session("it")["transcript_path"], encoding="utf-8") as file:  # noqa: PTH123
        return file.read()


@pytest.mark.spec("D1")
def test_a_call_is_denied_by_rule(rookery: Rookery, case: Case) -> None:
    rookery.home.rules.write_text(
        '[[deny]]\ntool = "Bash"\ninput.command = "touch *"\n'
        'reason = "Nothing is touched here."\n'
    )
    rookery.start("it", agent=case.agent)

    rookery.ask("it", case.asking)

    assert not is_made(rookery)
    assert rookery.session("it")["denial_count"] == 1
    eventually(lambda: "Nothing is touched here." in told_model(rookery))


@pytest.mark.spec("D1")
def test_a_call_is_allowed_by_rule(rookery: Rookery, case: Case) -> None:
    rookery.home.rules.write_text('[[allow]]\ntool = "Bash"\ninput.command = "touch made"\n')
    rookery.start("it", agent=case.agent)

    assert rookery.ask("it", case.asking) == "allowed"
    assert is_made(rookery)


@pytest.mark.spec("D2")
def test_a_call_is_asked_about_and_allowed(rookery: Rookery, case: Case) -> None:
    rookery.json("mode", "remote")
    rookery.start("it", agent=case.agent)
    request = ask(rookery, case)
    early = is_made(rookery)

    rookery.run("allow", "it")

    assert (request["tool"], request["input"]["command"]) == ("Bash", "touch made")
    assert not early
    assert last_turn(rookery)["answer"] == "allowed"
    assert is_made(rookery)


@pytest.mark.spec("D2")
def test_a_call_is_asked_about_and_denied_with_a_reason_that_its_agent_sees(
    rookery: Rookery, case: Case
) -> None:
    rookery.json("mode", "remote")
    rookery.start("it", agent=case.agent)
    ask(rookery, case)

    rookery.run("deny", "it", "--reason", "Not on a Sunday.")

    last_turn(rookery)
    assert not is_made(rookery)
    eventually(lambda: "Not on a Sunday." in told_model(rookery))


@pytest.mark.spec("D3")
def test_a_call_that_nobody_answers_is_denied(cold: Rookery, case: Case) -> None:
    with ModelServer() as models:
        configure(cold, models.url)
        settings = cold.home.settings.read_text()
        timed = '[permissions]\ndeadline_seconds = 2\non_timeout = "deny"\n'
        cold.configure(timed + settings)
        cold.up()
        cold.json("mode", "remote")
        cold.start("it", agent=case.agent)

        cold.ask("it", case.asking)

        assert not is_made(cold)
        eventually(lambda: "Not answered in time." in told_model(cold))


@pytest.mark.spec("D2", "C8")
def test_an_answer_at_the_keyboard_meanwhile_is_the_one(rookery: Rookery, case: Case) -> None:
    if case.agent == "codex":
        rookery.start("it", agent=case.agent)  # while its hook waits, it shows no dialog
    else:
        rookery.json("mode", "remote")
        rookery.start("it", agent=case.agent)
    request = ask(rookery, case)

    answer(rookery, case.yes)

    assert last_turn(rookery)["answer"] == "allowed"
    assert is_made(rookery)
    (found,) = rookery.client.get("permissions", all=True)["requests"]
    assert (found["id"], found["answered_by"]) == (request["id"], "terminal")


@pytest.mark.spec("D2", "C8")
def test_a_refusal_at_the_keyboard_is_noticed(rookery: Rookery, case: Case) -> None:
    rookery.start("it", agent=case.agent)
    ask(rookery, case)

    answer(rookery, case.no)

    eventually(lambda: rookery.session("it")["activity"] == "idle")
    assert asked(rookery) == []
    assert not is_made(rookery)


@pytest.mark.spec("D2")
@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_an_answer_is_pressed_where_its_agent_asks_in_its_own_terminal(
    rookery: Rookery, case: Case, decision: str
) -> None:
    rookery.start("it", agent=case.agent)
    ask(rookery, case)

    rookery.run(decision, "it")

    eventually(lambda: rookery.session("it")["activity"] == "idle")
    assert is_made(rookery) is (decision == "allow")
    assert asked(rookery) == []


@pytest.mark.spec("D5")
def test_a_question_of_claude_is_answered_from_the_command_line(rookery: Rookery) -> None:
    rookery.json("mode", "remote")
    rookery.start("it", agent="claude")
    question = {
        "questions": [
            {
                "question": "Which colour?",
                "header": "Colour",
                "multiSelect": False,
                "options": [
                    {"label": "Red", "description": "r"},
                    {"label": "Blue", "description": "b"},
                ],
            }
        ]
    }
    rookery.send("it", f"tool: AskUserQuestion {json.dumps(question)};; say: thanks")
    eventually(lambda: asked(rookery))
    activity = rookery.session("it")["activity"]

    rookery.run("answer", "it", "Blue")

    assert activity == "question"
    assert last_turn(rookery)["answer"] == "thanks"
    eventually(lambda: "Blue" in told_model(rookery))


@pytest.mark.spec("D2", "K3")
def test_a_request_outlives_a_killed_daemon(rookery: Rookery, case: Case) -> None:
    rookery.json("mode", "remote")
    rookery.start("it", agent=case.agent)
    request = ask(rookery, case)
    rookery.kill()
    rookery.up()

    (after,) = asked(rookery)
    rookery.run("allow", "it")

    assert after["id"] == request["id"]
    assert last_turn(rookery)["answer"] == "allowed"
    assert is_made(rookery)


@pytest.mark.spec("D5")
def test_what_a_server_of_tools_asks_is_answered_from_the_command_line(
    rookery: Rookery,
) -> None:
    add_asking_server(rookery.folder / "claude")
    rookery.home.rules.write_text('[[allow]]\ntool = "mcp__asking__ask"\n')
    rookery.json("mode", "remote")
    rookery.start("it", agent="claude")

    message = rookery.send("it", "tool: mcp__asking__ask {};; result:")
    eventually(lambda: asked(rookery))
    (request,) = asked(rookery)
    doing = rookery.session("it")["activity"]
    rookery.run("answer", "it", "Ann of Cleves")

    turn = rookery.client.get("messages", str(message), "answer", timeout=SOON)
    assert (request["message"], doing) == ("Your name?", "question")
    assert '"content": {"name": "Ann of Cleves"}' in turn["answer"]


@pytest.mark.spec("D1", "D2")
def test_a_call_that_is_allowed_always_is_not_asked_about_again_and_another_is(
    rookery: Rookery, case: Case
) -> None:
    rookery.json("mode", "remote")
    rookery.start("it", agent=case.agent)
    ask(rookery, case)

    done = rookery.run("allow", "--always")
    first = last_turn(rookery)["answer"]
    (rookery.project / "made").unlink()
    second = rookery.ask("it", case.asking)
    made = is_made(rookery)
    rookery.send("it", case.asking.replace("touch made", "touch other"))
    eventually(lambda: asked(rookery))

    assert done.returncode == 0, done.stderr
    assert str(rookery.home.rules) in done.stdout
    assert (first, second, made) == ("allowed", "allowed", True)
    assert "touch other" in asked(rookery)[0]["message"]
    assert rookery.json("audit")["decisions"][-1]["by"] == "rule"
    rookery.run("deny", "--all")
