"""The real Claude Code and Codex, started by hand in a person's own tmux, without any hooks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.paths import PROGRAMS
from tests.support.real.agents import configure
from tests.support.real.own_tmux import OwnTmux
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

ESCALATED = json.dumps(
    {"cmd": "touch made", "sandbox_permissions": "require_escalated", "justification": "why"}
)
DIALOG = re.compile(r"Do you want to proceed|Would you like to run")


@dataclass(frozen=True)
class Case:
    """What differs between the two."""

    agent: str
    ready: str  #: what stands below its box once one can type
    asking: str  #: a prompt that opens a permission dialog
    quit: str


CASES = [
    Case("claude", "for shortcuts", "bash: touch made;; say: allowed", "/exit"),
    Case("codex", "for shortcuts", f"tool: exec_command {ESCALATED};; say: allowed", "/quit"),
]


class Person:
    """Somebody with an agent of their own, and a Rookery beside it."""

    def __init__(self, rookery: Rookery, own: OwnTmux, models: ModelServer, case: Case) -> None:
        self.rookery = rookery
        self.own = own
        self.case = case
        self._models = models
        self.pane = own.agent(rookery, case.agent, window="the api")
        own.shows(self.pane, case.ready)
        eventually(lambda: self.sessions() and self.session["runtime"] == "observed")

    def sessions(self) -> list[dict[str, Any]]:
        found = self.rookery.client.get("sessions")["sessions"]
        return [each for each in found if not each["ended_at"] and each["agent"] != "demo"]

    @property
    def session(self) -> dict[str, Any]:
        (found,) = self.sessions()
        return found

    def does(self, activity: str) -> None:
        eventually(lambda: self.session["activity"] == activity)

    def deliver(self, words: str) -> None:
        """Send words, and wait until the model is asked."""
        message = self.rookery.send(self.session["name"], words)
        eventually(lambda: self.rookery.step(message)[0] == "acknowledged")
        eventually(lambda: words in self.prompts())

    def press_until(self, key: str, has_worked: Callable[[str], object]) -> None:
        """Press a key; again only if it has had no effect for a while."""
        for _ in range(10):
            self.own.press(self.pane, key)
            with suppress(AssertionError):
                eventually(lambda: has_worked(self.own.screen(self.pane)), within=2.0)
                return
        pytest.fail(f"{key} has no effect")

    def prompts(self) -> list[str]:
        """Return what reached the model, each prompt once."""
        return list(dict.fromkeys(each.prompt for each in self._models.log if each.prompt))

    def said(self, prompt: str) -> int:
        """Count how often a prompt stands in the conversation on the screen."""
        lines = self.own.screen(self.pane).splitlines()
        return sum(line.strip(" ❯›") == prompt for line in lines)


@pytest.fixture(params=CASES, ids=[case.agent for case in CASES])
def person(request: pytest.FixtureRequest, cold: Rookery, tmp_path: Path) -> Iterator[Person]:
    assert (PROGRAMS / request.param.agent).exists(), "make agents installs it"
    own = OwnTmux(tmp_path)
    with ModelServer() as models:
        configure(cold, models.url)
        cold.home.settings.write_text(cold.home.settings.read_text() + own.settings)
        cold.up()
        try:
            yield Person(cold, own, models, request.param)
        finally:
            own.clear_away()
            end_daemons(cold.folder)


def end_daemons(folder: Path) -> None:
    """End what Codex leaves behind: a daemon for all that the same home ever starts."""
    for each in psutil.process_iter(["cmdline"]):
        program, *words = each.info["cmdline"] or [""]
        if program.startswith(str(folder)) and "app-server" in words:
            each.kill()


@pytest.mark.spec("B6")
def test_it_is_found_with_its_label_and_its_folder(person: Person) -> None:
    session = person.session

    assert (session["agent"], session["label"]) == (person.case.agent, "the api")
    assert session["project_path"] == str(person.rookery.project.resolve())
    assert (session["tmux_session"], session["tmux_pane"]) == ("own", person.pane)
    person.does("idle")


@pytest.mark.spec("B2", "B7")
def test_words_arrive_once(person: Person) -> None:
    person.does("idle")

    for number in range(3):
        person.deliver(f"say: number {number}")
        person.does("idle")

    sent = [each for each in person.prompts() if each.startswith("say:")]
    assert sent == [f"say: number {number}" for number in range(3)]
    assert [person.said(f"say: number {number}") for number in range(3)] == [1, 1, 1]


@pytest.mark.spec("F2", "F3")
def test_what_it_answers_reaches_the_others_of_a_relay(person: Person) -> None:
    person.does("idle")
    person.rookery.start("demo")
    own = person.session
    person.rookery.client.post(
        "relays", members=[{"session": own["id"], "name": "own"}, {"session": "demo"}]
    )

    person.deliver("bash: echo made;; say: done\\n\\n1. of it")

    eventually(lambda: person.rookery.json("output", "demo")["turns"])
    first, *_ = person.rookery.json("output", "demo")["turns"]
    assert first["prompt"] == "[own] (1):\n\ndone\n\n1. of it"


@pytest.mark.spec("B0", "B7")
def test_words_wait_while_it_asks_and_answer_nothing(person: Person) -> None:
    person.does("idle")
    person.deliver(person.case.asking)
    person.does("permission")
    eventually(lambda: DIALOG.search(person.own.screen(person.pane)))

    message = person.rookery.send(person.session["name"], "say: hello")
    asked = person.rookery.step(message)[0], person.own.screen(person.pane)
    person.press_until("Escape", lambda screen: not DIALOG.search(screen))
    eventually(lambda: person.rookery.step(message)[0] == "acknowledged", within=40)
    eventually(lambda: "say: hello" in person.prompts())

    assert asked[0] == "pending"
    assert DIALOG.search(asked[1])
    assert not (person.rookery.project / "made").exists()


@pytest.mark.spec("A7", "B6")
def test_it_is_the_same_session_after_a_restart(person: Person) -> None:
    before = person.session

    person.rookery.kill()
    person.rookery.up()
    after = person.session
    person.deliver("say: still here")
    person.does("idle")

    assert (after["id"], after["process"]) == (before["id"], before["process"])
    assert person.said("say: still here") == 1


@pytest.mark.spec("A4", "B6")
def test_its_end_ends_its_session(person: Person) -> None:
    name = person.session["name"]

    person.own.tmux("send-keys", "-t", person.pane, "-l", person.case.quit)
    person.own.shows(person.pane, person.case.quit)
    person.press_until("Enter", lambda screen: screen.rstrip().endswith("ready$"))

    ended = person.rookery.ended(name)
    assert (ended["status"], ended["reason"]) == ("completed", "its program ended")
