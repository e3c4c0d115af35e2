"""What a daily user does in Codex, and whether Rookery is right about it."""

from __future__ import annotations

import json

import pytest

from tests.support.real.agents import configure
from tests.support.real.daily import Person, check_failures, draw, make_repository
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.agents, pytest.mark.timeout(300)]

#: How often Codex tries a request again; its own numbers take a minute.
RETRIES = "request_max_retries = 1\nstream_max_retries = 1\n"


@pytest.fixture
def settings(cold: Rookery, models: ModelServer) -> Rookery:
    """Give a home that knows Codex, and whose daemon does not run yet."""
    configure(cold, models.url)
    config = cold.folder / "codex" / "config.toml"
    known = config.read_text()
    config.write_text(known.replace("env_key =", f"{RETRIES}env_key ="))
    return cold


@pytest.fixture
def person(settings: Rookery) -> Person:
    settings.up()
    settings.start("it", agent="codex")
    return Person(settings)


@pytest.mark.spec("A1", "B0", "E6")
def test_menus_keep_words_back_and_another_conversation_is_the_same_session(
    person: Person,
) -> None:
    person.ask("say: first")
    before = person.session

    person.enter("/clear")
    person.see_no_more("say: first")
    person.ask("say: second")
    cleared = person.session

    person.enter("/resume")
    person.see("Resume a previous session")
    resuming = person.send_behind("say: behind the resume menu")
    person.press("Down", "Enter")
    after_resume = person.hear(resuming)
    resumed = person.session

    person.enter("say: to be rewound")
    person.end_of("say: to be rewound")
    # Two Escapes that come together are another key.
    person.press_until("Escape", lambda screen: "Browsing transcript" in screen, each=0.4)
    rewinding = person.send_behind("say: behind a rewind")
    person.press("Enter")
    person.see("Conversation reverted")
    eventually(lambda: "unsent text" in person.rookery.step(rewinding)[1])
    person.press("C-u")
    after_rewind = person.hear(rewinding)

    assert after_resume.answer == "behind the resume menu"
    assert after_rewind.answer == "behind a rewind"
    assert {each["id"] for each in (before, cleared, resumed)} == {before["id"]}
    assert cleared["native_id"] != before["native_id"] == resumed["native_id"]
    assert {turn.how for turn in person.turns} == {"finished"}
    assert len(person.rookery.json("ls")["sessions"]) == 1


@pytest.mark.spec("A1", "A2")
def test_plan_mode_a_chosen_model_and_compaction_leave_a_turn_one_turn(
    settings: Rookery,
) -> None:
    worktree = make_repository(settings.project)
    settings.up()
    settings.client.post("sessions", agent="codex", name="it", project=str(worktree))
    settings.client.get("sessions", "it", "wait", until="up", timeout=60)
    person = Person(settings)

    person.ask("say: first")
    person.press_until("BTab", lambda screen: "Plan mode (shift" in screen)
    planned = person.ask("say: planned")
    person.press_until("BTab", lambda screen: "Plan mode (shift" not in screen)

    person.enter("/model")
    person.see("Select Model")
    choosing = person.send_behind("say: behind the model menu")
    person.press("Down", "Enter")
    person.see("Select Reasoning Level")
    person.press("Enter")
    chosen = person.hear(choosing)
    model = person.session["model"]

    person.ask("say: big;; usage: in=990000 out=10")
    compacted = person.ask("say: compacted")
    person.see("Context compacted")

    assert planned == "planned"
    assert chosen.answer == "behind the model menu"
    assert model not in {"", "gpt-5.5"}
    assert compacted == "compacted"
    assert person.session["project_path"] == str(worktree)
    assert {turn.how for turn in person.turns} == {"finished"}


@pytest.mark.spec("A2", "I4")
def test_the_reason_of_a_failure_is_shown_and_a_retry_is_no_failure(person: Person) -> None:
    failures = {
        "error: 401 Your login has expired.": "401 Unauthorized: Your login has expired.",
        "error: 429 You've hit your usage limit.": "429 Too Many Requests",
        "cut:": "stream disconnected",
    }
    check_failures(person, failures)

    assert person.ask("error: 500 x1 overloaded;; say: after a retry") == "after a retry"
    assert person.turns[-1].how == "finished"


@pytest.mark.spec("B0", "C1", "E6")
def test_a_persons_own_settings_files_and_pictures_are_no_obstacle(
    settings: Rookery, models: ModelServer
) -> None:
    """Vim mode, a theme and hooks of the user's own, which Codex wants to be trusted."""
    own = settings.folder / "own-hooks"
    command = json.dumps(f"echo heard >> {own}")
    with (settings.folder / "codex" / "config.toml").open("a") as config:
        for event in ("UserPromptSubmit", "Stop"):
            config.write(f"\n[[hooks.{event}]]\n[[hooks.{event}.hooks]]\n")
            config.write(f'type = "command"\ncommand = {command}\n')
    (settings.project / "notes.txt").write_text("hello\n")
    settings.up()
    settings.client.post("sessions", agent="codex", name="it", project=str(settings.project))
    settings.client.get("sessions", "it", "wait", until="up", timeout=60)
    person = Person(settings)
    person.see("Hooks need review")
    asked = person.session["activity"]
    person.press_until("2", lambda screen: "› 1." not in screen)
    person.press_until("Enter", lambda screen: "Hooks need review" not in screen)

    person.enter("/vim")
    person.see("Vim: Normal")
    from_normal_mode = person.ask("say: from normal mode")
    hooks_heard = len(own.read_text().splitlines())
    person.press("Escape")
    person.see("Vim: Normal")
    person.press("i")
    person.see("Vim: Insert")
    person.enter("/theme")
    person.see("Select Syntax Theme")
    choosing = person.send_behind("say: behind the theme menu")
    person.press("Enter")
    themed = person.hear(choosing)

    person.type("say: read @notes.t")
    person.see("enter/tab insert")
    beside_a_file = person.send_behind("say: beside a file")
    person.press("Tab")
    person.see("read notes.txt")
    person.press("Enter")
    mentioned = person.end_of("say: read notes.txt")
    after_a_file = person.hear(beside_a_file)

    person.paste(str(draw(settings.project)))
    person.see("[Image #1]")
    beside_a_picture = person.send_behind("say: beside a picture")
    person.type("what is this")
    person.press("Enter")
    after_a_picture = person.hear(beside_a_picture)

    assert asked == "question"
    assert from_normal_mode == "from normal mode"
    assert hooks_heard == 2
    assert themed.answer == "behind the theme menu"
    assert mentioned.how == after_a_file.how == "finished"
    assert after_a_picture.answer == "beside a picture"
    assert any("[Image #1]" in turn.prompt for turn in person.turns)
