"""The real Gemini CLI and OpenCode, in real panes: by their hooks, or by their screens only.

OpenCode has our plugin whenever we start it; Gemini has our hooks if its user installed them.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial
from typing import Any

import pytest

from tests.support.real.http import badge_of
from tests.support.real.more_agents import (
    CASES,
    PROGRAMS,
    SLOWLY,
    Case,
    is_,
    prepare,
    start,
    waits_at,
)
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.asides import Kind
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.more_agents, pytest.mark.timeout(300)]


COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "type": "choice",
    "options": [
        {"label": "Red", "description": "warm"},
        {"label": "Blue", "description": "cold"},
    ],
}


@pytest.fixture(params=CASES, ids=[case.agent for case in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    assert (PROGRAMS / found.agent).exists(), "make test-agents installs it"
    return found


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    prepare(cold, models)
    cold.up()
    return cold


@pytest.fixture
def hooked(rookery: Rookery, case: Case) -> Rookery:
    """Have Gemini's user install our hooks; OpenCode has them anyway."""
    if case.agent == "gemini":
        settings = str(rookery.folder / "gemini" / ".gemini")
        rookery.json("hooks", "install", "--agent", "gemini", "--config-dir", settings, "--yes")
    return rookery


def heard(models: ModelServer) -> list[str]:
    """Return the prompts that the model was asked to answer, in their order."""
    plans = [record.plan for record in models.log]
    return [
        plan.prompt.text
        for plan in plans
        if plan and plan.kind is Kind.SCRIPT and plan.response == 0
    ]


def asked(rookery: Rookery) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rookery.client.get("permissions")["requests"]
    return found


def is_asked(rookery: Rookery) -> dict[str, Any]:
    """Wait until something is asked."""
    eventually(lambda: asked(rookery), within=SLOWLY)
    return asked(rookery)[0]


def last_turn(rookery: Rookery) -> dict[str, Any]:
    """Wait for the end of the turn, and return it."""
    eventually(lambda: is_(rookery, "idle"), within=SLOWLY)
    turn: dict[str, Any] = rookery.json("output", "it")["turns"][-1]
    return turn


def interrupt(rookery: Rookery, case: Case) -> None:
    for words in case.escapes:
        eventually(partial(is_shown, rookery, words), within=SLOWLY)
        rookery.run("keys", "it", "escape")


def is_shown(rookery: Rookery, words: str) -> bool:
    return words in rookery.screen("it")


def is_made(rookery: Rookery) -> bool:
    return (rookery.project / "made").exists()


def events(rookery: Rookery) -> list[str]:
    """Name the facts of the session, in their order."""
    with rookery.database() as db:
        return [row[0] for row in db.execute("select kind from entries order by seq")]


@pytest.mark.spec("A1", "A3", "B2")
def test_it_comes_up_hears_each_prompt_once_and_ends(
    rookery: Rookery, case: Case, models: ModelServer
) -> None:
    started = start(rookery, case)
    sent = [f"say: answer {number}" for number in range(3)]
    sent.append("say: long\n" + "a line of a long paste\n" * 40 + "end")

    for words in sent:
        rookery.ask("it", words, timeout=SLOWLY)
    ended = rookery.json("end", "it")

    assert (started["status"], started["activity"]) == ("running", "idle")
    assert heard(models) == sent
    assert (ended["status"], ended["ended_by"]) == ("killed", "person")


@pytest.mark.spec("A2")
def test_it_is_seen_to_work_and_to_be_done(
    rookery: Rookery, case: Case, models: ModelServer
) -> None:
    start(rookery, case)

    for name in ("first", "second"):
        message = rookery.send("it", f"gate: {name};; say: it was {name}")
        eventually(partial(waits_at, models, name), within=SLOWLY)
        eventually(lambda: is_(rookery, "working"))
        models.open_gate(name)
        eventually(lambda: is_(rookery, "idle"))
        assert rookery.step(message)[0] == "acknowledged"

    turns = rookery.client.get("sessions", "it", "turns")["turns"]
    assert [turn["prompt"] for turn in turns if turn["prompt"]] == heard(models)


@pytest.mark.spec("B2")
def test_words_arrive_exactly_and_none_of_them_is_run(
    rookery: Rookery, case: Case, models: ModelServer
) -> None:
    start(rookery, case)
    sent = [
        "!touch pwned",
        " !touch pwned",
        "say: ends in a backslash \\",
        "say: $(touch pwned) `touch pwned` '; touch pwned; '",
        "say: äöü 漢字 🙂 -- --settings=x ;",
        "/etc is no command here",
        "say: which one?\n\n● 1. Allow once\n  2. No\n\nEnter to select · Esc to cancel",
    ]

    for words in sent:
        rookery.ask("it", words, timeout=SLOWLY)

    assert [each.split() for each in heard(models)] == [each.split() for each in sent]
    assert not (rookery.project / "pwned").exists()


@pytest.mark.spec("A2", "B0", "B5")
def test_words_sent_while_it_asks_answer_nothing_and_arrive_once_after_it(
    rookery: Rookery, case: Case, models: ModelServer
) -> None:
    start(rookery, case)
    asking = "bash: touch made;; say: allowed"

    rookery.send("it", asking)
    eventually(lambda: is_(rookery, "permission"), within=SLOWLY)
    messages = [rookery.send("it", f"say: number {number}") for number in range(3)]
    steps = {rookery.step(message)[0] for message in messages}
    on_screen, done_before = rookery.screen("it"), (rookery.project / "made").exists()
    pressed = rookery.run("keys", "it", case.yes)
    eventually(lambda: {rookery.step(each)[0] for each in messages} == {"acknowledged"})
    eventually(lambda: is_(rookery, "idle"))

    assert steps == {"pending"}
    assert case.dialog in on_screen
    assert not done_before
    assert pressed.returncode == 0
    assert (rookery.project / "made").exists()
    assert "\n\n".join(heard(models)).split("\n\n") == [
        asking,
        *(f"say: number {number}" for number in range(3)),
    ]


@pytest.mark.spec("A2")
def test_a_refusal_at_the_keyboard_ends_the_turn(
    rookery: Rookery, case: Case, models: ModelServer
) -> None:
    start(rookery, case)

    rookery.send("it", "bash: touch made;; say: allowed")
    eventually(lambda: is_(rookery, "permission"), within=SLOWLY)
    rookery.run("keys", "it", case.no)
    eventually(lambda: is_(rookery, "idle"))
    rookery.ask("it", "say: and on", timeout=SLOWLY)

    assert not (rookery.project / "made").exists()
    assert heard(models)[-1] == "say: and on"


@pytest.mark.spec("A3")
def test_a_folder_that_gemini_does_not_trust_is_asked_about_and_nothing_is_typed(
    rookery: Rookery,
) -> None:
    stranger = rookery.folder / "stranger"
    stranger.mkdir()

    session = start(rookery, CASES[0], project=str(stranger), prompt="say: hello")
    asked = rookery.screen("it")

    assert session["activity"] == "question"
    assert "trust" in str(session["reason"])
    assert "say: hello" not in asked


@pytest.mark.spec("A3", "D5")
def test_geminis_trust_dialog_is_answered_once_though_it_starts_itself_again(
    cold: Rookery, models: ModelServer
) -> None:
    prepare(cold, models)
    settings = cold.home.settings
    settings.write_text(settings.read_text().replace('GEMINI_CLI_NO_RELAUNCH = "true"\n', ""))
    cold.up()
    stranger = cold.folder / "stranger"
    stranger.mkdir()
    start(cold, CASES[0], project=str(stranger), prompt="say: hello")

    eventually(lambda: asked(cold), within=SLOWLY)
    done = cold.run("answer", "it", "trust folder")

    assert done.returncode == 0, done.stderr
    eventually(lambda: heard(models) == ["say: hello"], within=SLOWLY)
    pressed = [each for each in events(cold) if each == "keys-pressed"]
    assert pressed == ["keys-pressed"]


@pytest.mark.spec("D2", "D5")
@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_what_gemini_asks_without_hooks_is_answered_by_keys(
    rookery: Rookery, decision: str
) -> None:
    start(rookery, CASES[0])
    rookery.send("it", "bash: touch made;; say: went on")
    eventually(lambda: asked(rookery), within=SLOWLY)
    (request,) = asked(rookery)

    done = rookery.run(decision, "it")

    assert (request["source"], request["kind"]) == ("screen", "permission")
    assert done.returncode == 0, done.stderr
    eventually(lambda: is_(rookery, "idle"), within=SLOWLY)
    assert is_made(rookery) is (decision == "allow")


@pytest.mark.spec("D5")
def test_a_question_of_opencode_is_answered_by_keys_in_mode_local(rookery: Rookery) -> None:
    start(rookery, CASES[1])
    rookery.send("it", f"tool: question {json.dumps({'questions': [COLOUR]})};; result:")
    eventually(lambda: asked(rookery), within=SLOWLY)

    done = rookery.run("answer", "it", "blue")

    assert done.returncode == 0, done.stderr
    assert '"Which colour?"="Blue"' in last_turn(rookery)["answer"]


@pytest.mark.spec("D5", "B0")
def test_no_stray_key_is_left_after_a_question_of_opencode_was_answered(
    rookery: Rookery,
) -> None:
    start(rookery, CASES[1])
    question = json.dumps({"questions": [COLOUR]})

    for number in range(10):
        rookery.send("it", f"tool: question {question};; result:;; say: done {number}")
        eventually(lambda: asked(rookery), within=SLOWLY)
        assert rookery.run("answer", "it", "Blue").returncode == 0
        assert last_turn(rookery)["answer"].endswith(f"done {number}")

    with rookery.database() as db:
        facts = db.execute("select body from entries where kind = 'keys-pressed'").fetchall()
    assert [json.loads(fact)["keys"] for (fact,) in facts] == ["2"] * 10
    assert rookery.ask("it", "say: clean", timeout=SLOWLY) == "clean"


@pytest.mark.spec("D5")
@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_a_command_that_does_not_fit_its_dialog_is_answered_by_keys(
    hooked: Rookery, case: Case, decision: str
) -> None:
    start(hooked, case)
    words = " ".join(f"w{number}" for number in range(2_000))
    hooked.send("it", f"bash: echo {words} > made;; say: went on")
    is_asked(hooked)

    done = hooked.run(decision, "it")

    assert done.returncode == 0, done.stderr
    eventually(lambda: is_(hooked, "idle"), within=SLOWLY)
    assert is_made(hooked) is (decision == "allow")


@pytest.mark.spec("A2", "C2", "C6")
def test_its_hooks_tell_of_a_prompt_a_tool_a_permission_and_the_last_words(
    hooked: Rookery, case: Case
) -> None:
    start(hooked, case)

    hooked.send("it", "bash: touch made;; say: all done")
    eventually(lambda: is_(hooked, "permission"), within=SLOWLY)
    (request,) = asked(hooked)
    eventually(lambda: case.dialog in hooked.screen("it"))
    hooked.run("keys", "it", case.yes)
    turn = last_turn(hooked)

    assert (request["tool"], request["input"]["command"]) == (case.shell, "touch made")
    assert request["deadline"] is None
    assert (turn["prompt"], turn["answer"]) == ("bash: touch made;; say: all done", "all done")
    assert turn["how"] == "finished"
    assert is_made(hooked)
    assert asked(hooked) == []
    session = hooked.session("it")
    assert (session["last_tool"], session["tool_count"]) == (case.shell, 1)
    assert [each for each in events(hooked) if each.startswith(("turn", "tool"))] == [
        *("turn-started", "tool-called", "tool-used", "turn-ended")
    ]


@pytest.mark.spec("D1")
def test_a_call_is_denied_by_rule_and_its_model_reads_why(hooked: Rookery, case: Case) -> None:
    hooked.home.rules.write_text(
        f'[[deny]]\ntool = "{case.shell}"\ninput.command = "touch *"\n'
        'reason = "Nothing is touched here."\n'
    )
    start(hooked, case)

    said = hooked.ask("it", "bash: touch made;; result:", timeout=SLOWLY)

    assert "Nothing is touched here." in said
    assert not is_made(hooked)
    assert hooked.session("it")["denial_count"] == 1


@pytest.mark.spec("D2")
def test_a_call_is_asked_about_and_denied_with_a_reason_that_its_model_reads(
    hooked: Rookery, case: Case
) -> None:
    hooked.json("mode", "remote")
    # Gemini can be refused with a reason only before it asks itself.
    hooked.home.rules.write_text(f'[[ask]]\ntool = "{case.shell}"\n')
    start(hooked, case)

    hooked.send("it", "bash: touch made;; result:")
    request = is_asked(hooked)
    hooked.run("deny", "it", "--reason", "Not on a Sunday.")
    turn = last_turn(hooked)

    assert request["input"]["command"] == "touch made"
    assert "Not on a Sunday." in turn["answer"]
    assert not is_made(hooked)


@pytest.mark.spec("D2")
def test_what_it_asks_is_allowed_from_afar(hooked: Rookery, case: Case) -> None:
    hooked.json("mode", "remote")
    start(hooked, case)

    hooked.send("it", "bash: touch made;; say: all done")
    is_asked(hooked)
    early = is_made(hooked)
    hooked.run("allow", "it")
    turn = last_turn(hooked)

    assert not early
    assert (turn["answer"], is_made(hooked)) == ("all done", True)
    (kept,) = hooked.json("audit")["decisions"]
    assert (kept["decision"], kept["by"]) == ("allowed", "person")


@pytest.mark.spec("D2")
def test_what_was_allowed_before_its_dialog_is_not_asked_about_again(
    hooked: Rookery, case: Case
) -> None:
    hooked.json("mode", "remote")
    hooked.home.rules.write_text(f'[[ask]]\ntool = "{case.shell}"\n')
    start(hooked, case)

    hooked.send("it", "bash: touch made;; say: all done")
    is_asked(hooked)
    hooked.run("allow", "it")
    turn = last_turn(hooked)

    assert (turn["answer"], is_made(hooked)) == ("all done", True)


@pytest.mark.spec("D2")
def test_a_command_that_was_allowed_for_the_session_is_asked_about_in_another_folder(
    hooked: Rookery, case: Case
) -> None:
    (hooked.project / "sub").mkdir()
    hooked.json("mode", "remote")
    start(hooked, case)
    folder = {"gemini": "dir_path", "opencode": "workdir"}[case.agent]
    given = {"command": "touch made", folder: str(hooked.project / "sub")}

    hooked.send("it", "bash: touch made;; say: first")
    is_asked(hooked)
    hooked.run("allow", "it", "--session")
    last_turn(hooked)
    hooked.send("it", f"tool: {case.shell} {json.dumps(given)};; say: second")
    second = is_asked(hooked)

    assert is_made(hooked)
    assert second["input"]["command"] == "touch made"
    assert not (hooked.project / "sub" / "made").exists()


@pytest.mark.spec("A2", "D2")
def test_what_is_refused_at_the_keyboard_is_asked_no_more(hooked: Rookery, case: Case) -> None:
    hooked.json("mode", "remote")
    start(hooked, case)

    hooked.send("it", "bash: touch made;; say: allowed")
    is_asked(hooked)
    eventually(lambda: case.dialog in hooked.screen("it"))
    hooked.run("keys", "it", case.no)
    turn = last_turn(hooked)

    assert (turn["how"], is_made(hooked)) == ("interrupted", False)
    assert asked(hooked) == []
    assert hooked.ask("it", "say: and on", timeout=SLOWLY) == "and on"


@pytest.mark.spec("A2")
def test_a_tool_that_is_interrupted_ends_the_turn(hooked: Rookery, case: Case) -> None:
    start(hooked, case)

    hooked.send("it", "bash: sleep 60;; say: slept")
    is_asked(hooked)
    eventually(lambda: case.dialog in hooked.screen("it"))
    hooked.run("keys", "it", case.yes)
    eventually(lambda: case.dialog not in hooked.screen("it"))
    interrupt(hooked, case)
    turn = last_turn(hooked)

    assert turn["how"] == "interrupted"
    assert hooked.ask("it", "say: and on", timeout=SLOWLY) == "and on"


@pytest.mark.spec("B5")
def test_an_interrupt_ends_a_turn_and_the_next_words_are_answered(
    hooked: Rookery, case: Case, models: ModelServer
) -> None:
    start(hooked, case)

    hooked.send("it", "gate: never;; say: never")
    eventually(lambda: waits_at(models, "never"), within=SLOWLY)
    eventually(partial(is_shown, hooked, case.escapes[0]), within=SLOWLY)
    done = hooked.run("interrupt", "it")
    turn = last_turn(hooked)

    assert done.returncode == 0
    assert turn["how"] != "finished"  # Gemini calls it failed
    assert hooked.ask("it", "say: and on", timeout=SLOWLY) == "and on"


@pytest.mark.spec("D2", "D3")
def test_a_call_that_waits_does_not_run_once_its_turn_was_interrupted(
    hooked: Rookery, case: Case
) -> None:
    hooked.json("mode", "remote")
    hooked.home.rules.write_text(f'[[ask]]\ntool = "{case.shell}"\n')
    start(hooked, case)

    hooked.send("it", "bash: touch made;; say: allowed")
    request = is_asked(hooked)
    interrupt(hooked, case)
    if case.agent == "gemini":  # it tells nobody, and shows that its hook still runs
        eventually(lambda: "Request cancelled." in hooked.screen("it"))
    else:
        eventually(lambda: asked(hooked) == [])
    late = hooked.run("allow", request["id"])
    turn = last_turn(hooked)

    assert late.returncode == (0 if case.agent == "gemini" else 1)
    assert turn["how"] == "interrupted"
    assert hooked.ask("it", "say: and on", timeout=SLOWLY) == "and on"
    assert not is_made(hooked)


@pytest.mark.spec("D5")
def test_its_question_is_answered_from_afar(hooked: Rookery, case: Case) -> None:
    hooked.json("mode", "remote")
    start(hooked, case)
    asking = json.dumps({"questions": [COLOUR]})

    hooked.send("it", f"tool: {case.question} {asking};; result:")
    request = is_asked(hooked)
    hooked.run("answer", "it", "2")
    turn = last_turn(hooked)

    assert request["questions"][0]["options"] == ["Red", "Blue"]
    assert "Blue" in turn["answer"]


@pytest.mark.spec("A1")
def test_another_conversation_is_the_same_session(hooked: Rookery, case: Case) -> None:
    start(hooked, case)
    hooked.ask("it", "say: first", timeout=SLOWLY)
    before = hooked.session("it")

    pane, command = str(before["tmux_pane"]), "/clear" if case.agent == "gemini" else "/new"
    hooked.tmux("send-keys", "-t", pane, "-l", command)
    eventually(lambda: command in hooked.screen("it"))

    def is_new_after_enter() -> bool:
        """Press Enter again: a list of commands that opens just then takes the first one."""
        hooked.run("keys", "it", "enter")
        return "say: first" not in hooked.screen("it")

    eventually(is_new_after_enter)
    said = hooked.ask("it", "say: second", timeout=SLOWLY)
    after = hooked.session("it")

    assert said == "second"
    assert after["id"] == before["id"]
    assert after["native_id"] not in {None, before["native_id"]}
    assert len(hooked.json("ls")["sessions"]) == 1


@pytest.mark.spec("A11")
def test_opencode_tells_what_it_costs(rookery: Rookery) -> None:
    start(rookery, CASES[1])

    rookery.ask("it", "say: hello;; usage: in=1000 out=100", timeout=SLOWLY)
    rookery.ask("it", "say: hello;; usage: in=1000 out=100", timeout=SLOWLY)

    session = rookery.session("it")
    assert (session["input_tokens"], session["output_tokens"]) == (2000, 200)
    assert session["cost"] == 9_000


@pytest.mark.spec("C1")
def test_opencode_keeps_its_users_own_settings_and_plugins(
    cold: Rookery, models: ModelServer
) -> None:
    prepare(cold, models)
    config = cold.folder / "opencode" / "config" / "opencode"
    theirs = 'import fs from "node:fs"\nexport const Mine = async () => '
    (config / "plugin").mkdir()
    (config / "plugin" / "mine.js").write_text(
        theirs + f"(fs.writeFileSync({json.dumps(str(cold.folder / 'loaded'))}, ''), {{}})\n"
    )
    cold.up()

    start(cold, CASES[1], model="")
    said = cold.ask("it", "say: by their model", timeout=SLOWLY)

    assert said == "by their model"
    assert (cold.folder / "loaded").exists()
    assert {file.name for file in (config / "plugin").iterdir()} == {"mine.js"}


@pytest.mark.spec("K5")
def test_opencode_that_a_careful_session_started_asks_first(rookery: Rookery) -> None:
    settings = rookery.folder / "opencode" / "config" / "opencode" / "opencode.json"
    freer = {"*": "allow", "bash": {"touch *": "allow"}}
    own = json.loads(settings.read_text())
    settings.write_text(
        json.dumps({**own, "permission": freer, "agent": {"build": {"permission": freer}}})
    )
    rookery.start("boss")
    boss = rookery.client_of(badge_of(rookery, "boss"))

    made = boss.post("sessions", agent="opencode", name="it", project=str(rookery.project))
    rookery.client.get("sessions", "it", "wait", until="up", timeout=SLOWLY)
    rookery.send("it", "bash: touch made;; say: done")

    eventually(lambda: rookery.session("it")["activity"] == "permission", within=SLOWLY)
    assert made["permission_mode"] == "default"
    assert not (rookery.project / "made").exists()


@pytest.mark.spec("E7")
def test_a_prompt_that_is_typed_during_a_turn_of_opencode_has_an_answer_of_its_own(
    rookery: Rookery, models: ModelServer
) -> None:
    start(rookery, CASES[1])
    message = rookery.send("it", "gate: one;; say: answer one")
    eventually(lambda: waits_at(models, "one"), within=SLOWLY)
    pane = str(rookery.session("it")["tmux_pane"])
    rookery.tmux("send-keys", "-t", pane, "-l", "say: answer two")
    eventually(lambda: is_shown(rookery, "say: answer two"), within=SLOWLY)
    rookery.tmux("send-keys", "-t", pane, "Enter")
    eventually(lambda: len(rookery.json("output", "it")["turns"]) == 2, within=SLOWLY)

    models.open_gate("one")
    asked = rookery.client.get("messages", str(message), "answer", timeout=SLOWLY)

    assert asked["answer"] == "answer one"
    assert last_turn(rookery)["answer"] == "answer two"


@pytest.mark.spec("A4", "A8")
def test_opencode_without_a_terminal_ends_when_its_process_does(
    rookery: Rookery, models: ModelServer
) -> None:
    home = rookery.folder / "opencode"
    where = ("--config-dir", str(home / "config" / "opencode"))
    rookery.json("hooks", "install", "--agent", "opencode", *where, "--yes")
    folders = {f"XDG_{name.upper()}_HOME": str(home / name) for name in ("data", "state")}
    own = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), **folders}
    with subprocess.Popen(
        [PROGRAMS / "opencode", "run", "gate: later;; say: done"],
        cwd=rookery.project,
        env={**os.environ, **own, "PWD": str(rookery.project)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as running:
        eventually(lambda: waits_at(models, "later"), within=SLOWLY)
        eventually(lambda: is_(rookery, "working"), within=SLOWLY)
        models.open_gate("later")
        running.wait(timeout=SLOWLY)

    (session,) = rookery.client.get("sessions", all=True)["sessions"]
    ended = rookery.ended(session["id"], within=SLOWLY)
    assert (ended["runtime"], ended["agent"]) == ("headless", "opencode")
    # It leaves before its plugin can tell that the turn is over.
    assert ended["status"] in {"completed", "failed"}


@pytest.mark.spec("B2")
def test_a_command_that_is_only_offered_fails_with_the_reason(
    rookery: Rookery, case: Case
) -> None:
    start(rookery, case)

    refused = rookery.send("it", "/mod")
    eventually(lambda: rookery.step(refused)[0] == "failed")

    assert "has no /mod; Enter would take /model" in rookery.step(refused)[1]
    assert rookery.ask("it", "say: I follow") == "I follow"


@pytest.mark.spec("A2")
def test_an_answer_that_is_streamed_in_chunks_is_told_once(hooked: Rookery, case: Case) -> None:
    start(hooked, case)

    answer = hooked.ask("it", "slow: 5;; words: 10", timeout=SLOWLY)

    assert answer.split() == [f"word{number}" for number in range(10)]
