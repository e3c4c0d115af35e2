"""The real Gemini CLI without any hook: what it answers is read where it wrote it down."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.real.more_agents import CASES, PROGRAMS, SLOWLY, is_, prepare, start
from tests.support.real.relayed import exchange, relay
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.more_agents, pytest.mark.timeout(300)]

GEMINI = CASES[0]


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    assert (PROGRAMS / "gemini").exists(), "make test-agents installs it"
    prepare(cold, models)
    cold.up()
    start(cold, GEMINI)
    return cold


def turns(rookery: Rookery) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rookery.client.get("sessions", "it", "turns")["turns"]
    return found


@pytest.mark.spec("F3", "C8", "G6")
def test_its_answers_and_tokens_are_read_where_it_wrote_them_down(rookery: Rookery) -> None:
    said = [rookery.ask("it", f"say: the **{each}** one") for each in ("first", "second")]
    rookery.send("it", "say: I look;; bash: touch made;; say: never")
    eventually(lambda: is_(rookery, "permission"), within=SLOWLY)
    rookery.run("keys", "it", GEMINI.no)
    eventually(lambda: is_(rookery, "idle"))
    said.append(rookery.ask("it", "say: and on", timeout=SLOWLY))

    assert said == ["the **first** one", "the **second** one", "and on"]
    assert [turn["answer"] for turn in turns(rookery)] == [*said[:2], "", said[2]]
    eventually(lambda: rookery.session("it")["output_tokens"] > 0)


@pytest.mark.spec("C8")
def test_a_prompt_that_is_typed_in_its_pane_is_known(rookery: Rookery) -> None:
    pane = str(rookery.session("it")["tmux_pane"])

    rookery.tmux("send-keys", "-t", pane, "-l", "sleep: 2;; say: typed by hand")
    eventually(lambda: "typed by hand" in rookery.screen("it"))
    rookery.tmux("send-keys", "-t", pane, "Enter")
    eventually(lambda: bool(turns(rookery)) and is_(rookery, "idle"), within=SLOWLY)

    (turn,) = turns(rookery)
    assert (turn["prompt"], turn["answer"]) == (
        "sleep: 2;; say: typed by hand",
        "typed by hand",
    )


@pytest.mark.spec("F2", "F3")
def test_it_talks_with_another_in_a_relay(rookery: Rookery) -> None:
    rookery.start("demo")
    found = relay(rookery, "it", "demo", max_hops=3)

    rookery.send("it", "say: say: say: say: over")

    eventually(lambda: len(exchange(rookery, found)) == 3, within=SLOWLY)
    assert exchange(rookery, found) == [
        ("it", "[it] (1):\n\nsay: say: say: over"),
        ("demo", "[demo] (2):\n\nsay: say: over"),
        ("it", "[it] (1):\n\nsay: over"),
    ]


@pytest.mark.spec("I2")
def test_what_it_did_is_read_from_its_transcript(rookery: Rookery) -> None:
    rookery.ask("it", "say: I look;; bash: echo made;; say: done", timeout=SLOWLY)

    found = rookery.client.get("sessions", "it", "data")

    assert found["turns"][-1]["answer"] == "done"
    (words, call, result) = found["transcript"]
    assert (words["kind"], words["text"]) == ("words", "I look")
    assert call["kind"] == "call"
    assert call["text"].startswith("run_shell_command ")
    assert (result["kind"], "made" in result["text"]) == ("result", True)
    assert found["screen"] == ""


@pytest.mark.spec("B2", "B7")
def test_words_reach_it_in_a_terminal_without_true_colour(
    cold: Rookery, models: ModelServer
) -> None:
    prepare(cold, models)
    given = cold.home.settings.read_text()
    plain = 'GEMINI_API_KEY = "x"\nTERM = "screen"\nCOLORTERM = ""'
    cold.configure(given.replace('GEMINI_API_KEY = "x"', plain))
    cold.up()
    start(cold, GEMINI)

    answer = cold.ask("it", "say: plainly", timeout=SLOWLY)

    assert answer == "plainly"
    assert "▄▄▄▄" not in cold.screen("it")
