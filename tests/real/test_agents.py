"""The real Claude Code and Codex, in real panes, with a scripted model behind them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.paths import PROGRAMS
from tests.support.real.agent_cases import CASES, Case, answer, press_until, prompts
from tests.support.real.agents import configure
from tests.support.real.http import badge_of, command_lines_with
from tests.support.real.rookery import SOON, Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    configure(cold, models.url)
    cold.up()
    return cold


@pytest.fixture(params=CASES, ids=[case.agent for case in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    assert (PROGRAMS / found.agent).exists(), "make agents installs it"
    return found


@contextmanager
def showing(rookery: Rookery, name: str) -> Iterator[None]:
    """Add the session and its screen to what a failure says."""
    try:
        yield
    except AssertionError as failure:
        failure.add_note(rookery.screen(name))
        failure.add_note(rookery.run("why", name).stdout)
        failure.add_note(rookery.run("inbox").stdout)
        raise


@pytest.mark.spec("A1", "A3", "B2", "C3", "C4", "K5")
def test_an_agent_comes_up_answers_and_ends(rookery: Rookery, case: Case) -> None:
    started = rookery.start("it", agent=case.agent)
    answers = [rookery.ask("it", f"say: answer {number}") for number in range(3)]
    several = rookery.ask("it", "say: first line\nsay: second line")
    session = rookery.session("it")
    shown = command_lines_with(badge_of(rookery, "it"))
    ended = rookery.json("end", "it")

    assert (started["status"], started["activity"]) == ("running", "idle")
    assert answers == ["answer 0", "answer 1", "answer 2"]
    assert several.endswith("second line")
    assert shown == []
    assert session["native_id"]
    assert Path(session["transcript_path"]).exists()
    assert (ended["status"], ended["ended_by"]) == ("killed", "person")


@pytest.mark.spec("I5", "C3")
def test_arguments_of_a_person_leave_its_hooks_intact(rookery: Rookery, case: Case) -> None:
    rookery.start("it", agent=case.agent, arguments=["--add-dir", str(rookery.folder)])

    assert rookery.ask("it", "say: with arguments") == "with arguments"
    assert command_lines_with(f"--add-dir\0{rookery.folder}")
    assert "hook" in rookery.run("why", "it").stdout


@pytest.mark.spec("B2")
def test_words_arrive_exactly(rookery: Rookery, case: Case) -> None:
    rookery.start("it", agent=case.agent)
    sent = [
        "say: ends in a backslash \\",
        "say: $(touch pwned) `touch pwned` '; touch pwned; '",
        "say: äöü 漢字 🙂 -- --settings=x ;",
        "say: tab\there\nsay: and a new line",
        "say: which one?\n\n❯ 1. Yes\n  2. No\n\nEnter to select · Esc to cancel",
        "say: long\n" + "a line of a long paste\n" * 400 + "end",
    ]

    for words in sent:
        rookery.ask("it", words)

    assert [each.split() for each in prompts(rookery, "it")] == [each.split() for each in sent]
    assert not (rookery.project / "pwned").exists()


@pytest.mark.spec("B2")
def test_what_would_be_run_as_a_command_is_refused(rookery: Rookery, case: Case) -> None:
    rookery.start("it", agent=case.agent)

    done = rookery.run("send", "it", "!touch pwned")

    assert done.returncode == 2
    assert "shell command" in done.stderr
    assert not (rookery.project / "pwned").exists()


@pytest.mark.spec("A2", "B0", "B5")
def test_a_permission_is_seen_and_answered(rookery: Rookery, case: Case) -> None:
    rookery.start("it", agent=case.agent)

    rookery.send("it", case.asking)
    eventually(lambda: rookery.session("it")["activity"] == "permission")
    answer(rookery, case.yes)
    eventually(lambda: rookery.session("it")["activity"] == "idle")

    assert (rookery.project / "made").exists()
    assert rookery.client.get("sessions", "it", "turns")["turns"][-1]["answer"] == "allowed"


@pytest.mark.spec("A2")
def test_a_refusal_at_the_keyboard_ends_the_turn(rookery: Rookery, case: Case) -> None:
    rookery.start("it", agent=case.agent)

    rookery.send("it", case.asking)
    eventually(lambda: rookery.session("it")["activity"] == "permission")
    answer(rookery, case.no)
    eventually(lambda: rookery.session("it")["activity"] == "idle")

    assert rookery.session("it")["reason"] == "interrupted"
    assert not (rookery.project / "made").exists()
    assert rookery.ask("it", "say: and on").endswith("and on")


@pytest.mark.spec("A2", "G3")
def test_a_turn_is_interrupted(rookery: Rookery, case: Case, models: ModelServer) -> None:
    rookery.start("it", agent=case.agent)
    rookery.send("it", "gate: never;; say: too late")
    eventually(lambda: rookery.session("it")["activity"] == "working")
    eventually(lambda: "esc to interrupt" in rookery.screen("it"))

    rookery.run("interrupt", "it")
    eventually(lambda: rookery.session("it")["activity"] == "idle")

    assert rookery.session("it")["reason"] == "interrupted"


@pytest.mark.spec("B0", "E6")
def test_words_sent_while_a_dialog_is_open_answer_nothing_and_arrive_once(
    rookery: Rookery, case: Case
) -> None:
    """100 messages, sent before, while and after the dialog opens and is answered."""
    rookery.start("it", agent=case.agent)
    sent = [f"say: number {number}" for number in range(100)]

    rookery.send("it", case.asking)
    messages = [rookery.send("it", words) for words in sent[:40]]
    eventually(lambda: rookery.session("it")["activity"] == "permission")
    messages += [rookery.send("it", words) for words in sent[40:80]]
    still_asked = not (rookery.project / "made").exists()
    unanswered = rookery.session("it")["activity"] == "permission"
    answer(rookery, case.no)
    messages += [rookery.send("it", words) for words in sent[80:]]
    with showing(rookery, "it"):
        eventually(
            lambda: {rookery.step(each)[0] for each in messages} == {"acknowledged"},
            within=60.0,
        )

    assert still_asked
    assert unanswered
    assert not (rookery.project / "made").exists()
    arrived = "\n\n".join(prompts(rookery, "it"))
    assert arrived.split("\n\n") == [case.asking, *sent]


@pytest.mark.spec("A7", "C3", "K3")
def test_an_agent_works_on_while_the_daemon_is_dead(
    rookery: Rookery, case: Case, models: ModelServer
) -> None:
    rookery.start("it", agent=case.agent)
    rookery.ask("it", "say: before")
    message = rookery.send("it", "gate: later;; say: meanwhile")
    eventually(lambda: rookery.step(message)[0] == "acknowledged")

    rookery.kill()
    models.open_gate("later")
    eventually(lambda: list(rookery.home.spool.iterdir()), within=SOON)
    rookery.up()
    eventually(lambda: rookery.session("it")["activity"] == "idle")

    turns = rookery.client.get("sessions", "it", "turns")["turns"]
    assert [turn["answer"] for turn in turns] == ["before", "meanwhile"]
    assert rookery.ask("it", "say: after") == "after"


@pytest.mark.spec("A3")
def test_a_folder_that_is_not_trusted_yet_is_asked_about_and_nothing_is_typed(
    rookery: Rookery,
) -> None:
    stranger = rookery.folder / "stranger"
    stranger.mkdir()

    rookery.client.post(
        "sessions", agent="claude", name="it", project=str(stranger), prompt="say: hello"
    )
    session = rookery.client.get("sessions", "it", "wait", until="up", timeout=SOON)
    asked = rookery.screen("it")

    def is_gone(screen: str) -> bool:
        return "Enter to confirm" not in screen

    while not is_gone(rookery.screen("it")):
        # Claude may draw its dialog anew, with its first option.
        press_until(
            rookery, "down", lambda screen: "❯ Yes" in screen, after=lambda s: "❯ No" in s
        )
        press_until(
            rookery,
            "enter",
            lambda screen: "❯ No" in screen or is_gone(screen),
            after=lambda s: "❯ Yes" in s,
        )
    with showing(rookery, "it"):
        eventually(lambda: prompts(rookery, "it") == ["say: hello"])

    assert session["activity"] == "question"
    assert "trust" in session["reason"]
    assert "say: hello" not in asked


@pytest.mark.spec("I2")
def test_what_it_did_is_read_from_its_transcript(
    rookery: Rookery, case: Case, models: ModelServer
) -> None:
    rookery.start("it", agent=case.agent)
    rookery.ask("it", "say: long ago")
    before = rookery.client.get("sessions", "it", "turns")["turns"][0]["ended_at"]
    rookery.send("it", "say: I look;; bash: echo made;; gate: later;; say: done")

    def read() -> list[tuple[str, str]]:
        found = rookery.client.get("sessions", "it", "data", since=before)
        return [(each["kind"], each["text"]) for each in found["transcript"]]

    eventually(lambda: [kind for kind, _ in read()] == ["words", "call", "result"])
    while_it_works = read()
    models.open_gate("later")
    eventually(lambda: rookery.session("it")["activity"] == "idle")

    (_, words), (_, call), (_, result) = while_it_works
    assert (words, "echo made" in call, "made" in result) == ("I look", True, True)
    # What stands in its turns is not said twice.
    assert read() == while_it_works
    everything = rookery.client.get("sessions", "it", "data")
    assert everything["screen"] == ""
    assert [turn["answer"] for turn in everything["turns"]] == ["long ago", "done"]
