"""Claude Code that nobody of us started, known by its own files: the real program."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.real.agents import configure
from tests.support.real.by_hand import ByHand
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

ASKING = "bash: touch made;; say: allowed"


class Hands:
    """A person with a Claude of their own, and a Rookery beside it."""

    def __init__(self, rookery: Rookery, own: ByHand, models: ModelServer) -> None:
        self.rookery = rookery
        self.models = models
        self._own = own
        config = rookery.folder / "claude"
        self.pane = own.claude("work", rookery.project, config, models.url)

    def sessions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.rookery.client.get("sessions")["sessions"]
        return found

    @property
    def session(self) -> dict[str, Any]:
        (found,) = self.sessions()
        return found

    def does(self, activity: str) -> bool:
        found = self.sessions()
        return len(found) == 1 and found[0]["activity"] == activity

    def type(self, words: str) -> None:
        """Type words, and Enter once they are in the box: read together, it is a part of them.

        Claude ignores an Enter in its first moments.
        """
        eventually(lambda: "❯" in self._own.screen(self.pane))
        self._own.tmux("send-keys", "-t", self.pane, "-l", words)
        last = words.rsplit(maxsplit=1)[-1]
        eventually(lambda: self._box_has(last))
        while self._box_has(last):
            self._own.press(self.pane, "Enter")
            with suppress(AssertionError):
                eventually(lambda: not self._box_has(last), within=1)

    def _box_has(self, word: str) -> bool:
        """Return whether a word is in the box, which is below all earlier prompts."""
        lines = self._own.screen(self.pane).splitlines()
        prompts = [each for each in lines if each.lstrip().startswith("❯")]
        return bool(prompts) and word in prompts[-1]

    def answer(self, key: str) -> None:
        """Press a key until the dialog is gone: Claude takes none in its first moments."""
        eventually(self._asks)
        while self._asks():
            self._own.press(self.pane, key)
            with suppress(AssertionError):
                eventually(lambda: not self._asks(), within=1)

    def _asks(self) -> bool:
        return "Do you want to proceed?" in self._own.screen(self.pane)

    def last_turn(self) -> tuple[str, str]:
        """Return what was typed last, and what was answered."""
        turns = self.rookery.client.get("sessions", self.session["id"], "turns")["turns"]
        return turns[-1]["prompt"], turns[-1]["answer"]

    def turns(self) -> list[tuple[str, str, str]]:
        """Return all prompts, their answers, and how the turns ended."""
        found = self.rookery.client.get("sessions", self.session["id"], "turns")["turns"]
        return [(turn["prompt"], turn["answer"], turn["how"] or "") for turn in found]

    def see(self, words: str) -> None:
        eventually(lambda: words in self._own.screen(self.pane))

    def press(self, *keys: str) -> None:
        self._own.press(self.pane, *keys)

    def kinds(self) -> list[str]:
        with self.rookery.database() as db:
            return [row[0] for row in db.execute("select kind from entries order by seq")]


@pytest.fixture
def hands(cold: Rookery, tmp_path: Path) -> Iterator[Hands]:
    own = ByHand(tmp_path)
    with ModelServer() as models:
        configure(cold, models.url)
        cold.up()
        yield Hands(cold, own, models)
        own.clear_away()


@pytest.mark.spec("B6", "C8")
def test_it_is_found_without_any_hook(hands: Hands) -> None:
    eventually(lambda: hands.does("idle"))

    session = hands.session
    assert session["agent"] == "claude"
    assert session["project_path"] == str(hands.rookery.project.resolve())
    assert session["process"].split(":")[0].isdigit()


@pytest.mark.spec("C8")
def test_its_activity_is_followed_without_any_hook(hands: Hands) -> None:
    eventually(lambda: hands.does("idle"))

    hands.type(f"gate: seen;; {ASKING}")
    eventually(lambda: hands.does("working"))
    hands.models.open_gate("seen")
    eventually(lambda: hands.does("permission"))
    hands.answer("1")
    eventually(lambda: hands.does("idle"))
    hands.type(ASKING.replace("made", "more"))
    eventually(lambda: hands.does("permission"))
    hands.answer("Escape")
    eventually(lambda: hands.does("idle"))

    assert hands.session["reason"] == "interrupted"


@pytest.mark.spec("F3", "C8")
def test_what_it_answers_is_read_where_it_wrote_it_down(hands: Hands) -> None:
    eventually(lambda: hands.does("idle"))

    for gate, words in (("1", "the **first** answer"), ("2", "the second\n\n1. of two")):
        typed = f"gate: {gate};; say: {words}".replace("\n", "\\n")
        hands.type(typed)
        eventually(lambda: hands.does("working"))
        hands.models.open_gate(gate)
        eventually(lambda: hands.does("idle"))

        assert hands.last_turn() == (typed, words)


@pytest.mark.spec("C8", "A6")
@pytest.mark.parametrize(
    ("end", "outcome"), [("/exit", "completed"), (signal.SIGKILL, "failed")], ids=str
)
def test_its_end_is_noticed(hands: Hands, end: str | int, outcome: str) -> None:
    eventually(lambda: hands.does("idle"))

    if isinstance(end, str):
        hands.type(end)
    else:
        os.kill(int(hands.session["process"].split(":")[0]), end)

    eventually(lambda: hands.session["status"] == outcome)


@pytest.mark.spec("A7", "B6")
def test_it_is_the_same_session_after_a_restart(hands: Hands) -> None:
    eventually(lambda: hands.does("idle"))
    before = hands.session["id"]
    hands.rookery.kill()

    hands.type("sleep: 600")
    hands.rookery.up()

    eventually(lambda: hands.does("working"))
    assert hands.session["id"] == before


@pytest.mark.spec("A7", "C8", "F3")
def test_a_dialog_that_is_answered_while_the_daemon_is_away_ends_with_its_answer(
    hands: Hands,
) -> None:
    eventually(lambda: hands.does("idle"))
    hands.type(ASKING)
    eventually(lambda: hands.does("permission"))
    hands.rookery.kill()

    hands.answer("1")
    hands.see("● allowed")
    hands.rookery.up()
    eventually(lambda: hands.does("idle"))

    assert hands.turns() == [(ASKING, "allowed", "finished")]
    assert hands.session["reason"] == ""


@pytest.mark.spec("A7", "C8", "F3")
def test_prompts_that_are_typed_while_the_daemon_is_away_keep_their_own_answers(
    hands: Hands,
) -> None:
    eventually(lambda: hands.does("idle"))
    # Claude's file says nothing of a turn that is over within a fifth of a second.
    first = "gate: first;; say: before"
    hands.type(first)
    eventually(lambda: hands.does("working"))
    hands.models.open_gate("first")
    eventually(lambda: hands.turns() == [(first, "before", "finished")])
    hands.rookery.kill()

    hands.type("say: away")
    hands.see("● away")
    hands.type("gate: later;; say: after")
    hands.see("esc to interrupt")
    hands.rookery.up()
    eventually(lambda: hands.does("working"))
    meanwhile = hands.turns()
    hands.models.open_gate("later")
    eventually(lambda: hands.does("idle"))

    before = [(first, "before", "finished"), ("say: away", "away", "finished")]
    assert meanwhile == [*before, ("gate: later;; say: after", "", "")]
    assert hands.turns() == [*before, ("gate: later;; say: after", "after", "finished")]


@pytest.mark.spec("A2", "C8")
def test_a_turn_that_is_interrupted_before_it_said_anything_is_interrupted(
    hands: Hands,
) -> None:
    eventually(lambda: hands.does("idle"))
    hands.type("gate: never;; say: no")
    eventually(lambda: hands.does("working"))
    hands.see("esc to interrupt")

    hands.press("Escape")
    eventually(lambda: hands.does("idle"))

    assert hands.turns() == [("gate: never;; say: no", "", "interrupted")]
