"""What a daily user does in Gemini CLI and OpenCode, and whether Rookery is right about it."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support.real.daily import Person, draw, make_repository
from tests.support.real.more_agents import SLOWLY, prepare
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.more_agents, pytest.mark.timeout(600)]

#: Seconds after which an Enter is known to have had no effect.
ONCE = 8.0


@pytest.fixture
def settings(cold: Rookery, models: ModelServer) -> Rookery:
    """Give a home that knows both, and Gemini's user has installed our hooks."""
    prepare(cold, models)
    (cold.project / "notes.txt").write_text("hello\n")
    cold.up()
    folder = str(cold.folder / "gemini" / ".gemini")
    cold.json("hooks", "install", "--agent", "gemini", "--config-dir", folder, "--yes")
    return cold


def begin(rookery: Rookery, agent: str, model: str) -> Person:
    rookery.client.post(
        "sessions", agent=agent, name="it", model=model, project=str(rookery.project)
    )
    rookery.client.get("sessions", "it", "wait", until="up", timeout=SLOWLY)
    return Person(rookery, patience=SLOWLY)


def has(words: str, screen: str) -> bool:
    return words in screen


def lacks(words: str, screen: str) -> bool:
    return words not in screen


def command_until(person: Person, command: str, seen: str) -> None:
    """Give a command; an Enter that comes too soon after it is a part of what was typed."""
    person.type(command)
    person.press_until("Enter", partial(has, seen), each=ONCE)


@pytest.mark.spec("A1", "A2", "B0", "B2")
def test_gemini_in_daily_use(settings: Rookery) -> None:
    person = begin(settings, "gemini", "gemini-2.5-flash")

    person.rookery.send("it", "error: 401 API key not valid")
    expired = person.end_of("error: 401 API key not valid"), person.what
    retried = person.ask("error: 500 x1 overloaded;; say: after a retry")
    mentioned = person.ask("say: read @notes.txt")
    before = person.session

    person.press_until("BTab", partial(has, "plan Shift+Tab"))
    planned = person.ask("say: planned")

    heard = []
    for command, title in [
        ("/rewind", "Stay at current position"),
        ("/model", "Select Model"),
        ("/theme", "Select Theme"),
    ]:
        command_until(person, command, title)
        message = person.send_behind(f"say: behind {command}")
        person.press_until("Escape", partial(lacks, title))
        heard.append(person.hear(message).answer)

    command_until(person, "/vim", "[INSERT]")
    person.press("Escape")
    person.see("[NORMAL]")
    from_normal_mode = person.ask("say: from normal mode")
    person.press("i")
    person.see("[INSERT]")

    person.paste(str(draw(settings.project)))
    person.see("[Image")
    beside = person.send_behind("say: beside a picture")
    begun = len(person.turns)
    person.type("what is this")
    person.press_until("Enter", lambda _: len(person.turns) > begun, each=ONCE)
    heard.append(person.hear(beside).answer)

    person.type("/clear")
    person.press_until("Enter", partial(lacks, "beside a picture"), each=ONCE)
    person.ask("say: after clear")
    cleared = person.session
    command_until(person, "/resume", "Chat Sessions")
    resuming = person.send_behind("say: behind /resume")
    person.press_until("Down", partial(has, "❯ #2"))
    person.press_until("Enter", partial(lacks, "Chat Sessions"), each=ONCE)
    heard.append(person.hear(resuming).answer)

    assert expired[0].how == "failed"
    assert "API key not valid" in expired[0].answer
    assert "turn failed" in expired[1]
    assert "[API Error" in expired[1]
    assert (retried, mentioned, planned) == ("after a retry", "read @notes.txt", "planned")
    assert heard[:3] == ["behind /rewind", "behind /model", "behind /theme"]
    assert heard[3:] == ["beside a picture", "behind /resume"]
    assert from_normal_mode == "from normal mode"
    assert cleared["native_id"] != before["native_id"] == person.session["native_id"]
    assert cleared["id"] == before["id"]
    assert {turn.how for turn in person.turns[1:]} == {"finished"}


@pytest.mark.spec("A1", "A2", "B0", "B2")
def test_opencode_in_daily_use(settings: Rookery) -> None:
    make_repository(settings.project)
    person = begin(settings, "opencode", "fake/fake-model")

    person.ask("say: first")
    retried = person.ask("error: 429 x1 Rate limit;; say: after a retry")
    mentioned = person.ask("say: read @notes.txt")
    before = person.session

    person.press_until("Tab", partial(has, "Plan ·"))
    planned = person.ask("say: planned")
    person.press("Tab")

    heard = []
    for command, title in [("/models", "Select model"), ("/themes", "Themes")]:
        command_until(person, command, title)
        message = person.send_behind(f"say: behind {command}")
        person.press_until("Escape", partial(lacks, title))
        heard.append(person.hear(message).answer)

    person.enter("say: to be undone")
    person.end_of("say: to be undone")
    command_until(person, "/undo", "1 message reverted")
    undone = person.rookery.send("it", "say: behind /undo")
    eventually(lambda: "unsent text" in person.rookery.step(undone)[1], within=SLOWLY)
    person.press("C-u")
    heard.append(person.hear(undone).answer)

    person.paste(str(draw(settings.project)))
    person.see("[Image 1]")
    beside = person.send_behind("say: beside a picture")
    begun = len(person.turns)
    person.type("what is this")
    person.press_until("Enter", lambda _: len(person.turns) > begun, each=ONCE)
    heard.append(person.hear(beside).answer)

    person.type("/new")
    person.press_until("Enter", partial(lacks, "beside a picture"), each=ONCE)
    person.ask("say: after new")
    renewed = person.session
    command_until(person, "/sessions", "Today")
    person.press("Down")
    person.press_until("Enter", partial(has, "beside a picture"), each=ONCE)
    resumed = person.ask("say: back again")

    assert (retried, mentioned, planned) == ("after a retry", "read @notes.txt", "planned")
    assert heard == ["behind /models", "behind /themes", "behind /undo", "beside a picture"]
    assert resumed == "back again"
    assert renewed["native_id"] != before["native_id"] == person.session["native_id"]
    assert renewed["id"] == before["id"]
    assert {turn.how for turn in person.turns} == {"finished"}
