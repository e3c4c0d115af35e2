"""Dialogs of the real Claude Code that no hook carries an answer to, answered by keys."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from rookery.hook_setup import programs
from tests.support.paths import PROGRAMS
from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.agents, pytest.mark.timeout(300)]

#: Two questions, of which the second takes several answers.
QUESTIONS = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [
                {"label": "Red", "description": "warm"},
                {"label": "Blue", "description": "cold"},
            ],
            "multiSelect": False,
        },
        {
            "question": "Which tests?",
            "header": "Tests",
            "options": [
                {"label": "unit", "description": "fast"},
                {"label": "e2e", "description": "slow"},
            ],
            "multiSelect": True,
        },
    ]
}


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    configure(cold, models.url)
    cold.up()
    return cold


def asked(rookery: Rookery) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rookery.client.get("permissions")["requests"]
    return found


def is_idle(rookery: Rookery) -> bool:
    return bool(rookery.session("it")["activity"] == "idle")


def turns(rookery: Rookery) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rookery.json("output", "it")["turns"]
    return found


def last_answer(rookery: Rookery) -> str:
    eventually(lambda: is_idle(rookery))
    return str(turns(rookery)[-1]["answer"])


@pytest.mark.spec("A3", "D5", "C8")
@pytest.mark.parametrize("mode", ["local", "remote"])
def test_a_trust_dialog_is_listed_and_answered(rookery: Rookery, mode: str) -> None:
    rookery.json("mode", mode)
    stranger = rookery.folder / "stranger"
    stranger.mkdir()
    project = str(stranger)
    rookery.client.post(
        "sessions", agent="claude", name="it", project=project, prompt="say: hi"
    )
    eventually(lambda: asked(rookery))
    (request,) = asked(rookery)

    listed, why = rookery.run("permissions").stdout, rookery.run("why", "it").stdout
    typo = rookery.run("answer", "it", "maybe")
    done = rookery.run("answer", "it", "yes")

    assert ("1. No, exit" in listed, "2. Yes, I trust this folder" in listed) == (True, True)
    assert f"rookery answer {request['id']} NUMBER" in listed
    assert "screen" in why
    assert typo.returncode == 2
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("→ Yes, I trust this folder\n")
    eventually(lambda: [turn["answer"] for turn in turns(rookery)] == ["hi"])
    assert asked(rookery) == []


@pytest.mark.spec("D2", "D5")
@pytest.mark.parametrize("place", ["foo.txt", "../outside/foo.txt"])
def test_a_write_is_allowed_by_keys_in_the_dialog_for_that_file(
    rookery: Rookery, place: str
) -> None:
    rookery.json("mode", "local")
    rookery.start("it", agent="claude")
    written = (rookery.project / place).resolve()
    written.parent.mkdir(exist_ok=True)
    rookery.json("send", "it", f"write: {written} made")
    eventually(lambda: asked(rookery))

    done = rookery.run("allow", "it")

    assert done.returncode == 0, done.stderr
    eventually(written.exists)
    assert asked(rookery) == []


def plan(rookery: Rookery, models: ModelServer) -> None:
    """Have it write a plan, and ask whether it may carry it out."""
    rookery.start("it", agent="claude", permission_mode="plan")
    rookery.ask("it", "say: hi")
    told = " ".join(str(record) for record in models.log)
    found = re.search(r"[^\s\"`\\]*/plans/[^\s\"`\\]*\.md", told)
    assert found
    steps = f"write: {found[0]} # The plan\\n\\n1. Do this;; tool: ExitPlanMode {{}}"
    rookery.send("it", f"{steps};; result:;; say: carried out")
    eventually(lambda: asked(rookery))


@pytest.mark.spec("D2", "D5")
@pytest.mark.parametrize("mode", ["local", "remote"])
def test_a_plan_is_shown_and_approved(rookery: Rookery, models: ModelServer, mode: str) -> None:
    rookery.json("mode", mode)
    plan(rookery, models)

    listed = rookery.run("permissions").stdout
    done = rookery.run("allow", "it")

    assert ("# The plan" in listed, "1. Do this" in listed) == (True, True)
    assert done.returncode == 0, done.stderr
    assert "carried out" in last_answer(rookery)
    assert "manual mode on" in rookery.screen("it")


@pytest.mark.spec("D2", "D5")
def test_a_plan_is_sent_back_with_a_reason(rookery: Rookery, models: ModelServer) -> None:
    plan(rookery, models)

    done = rookery.run("deny", "it", "--reason", "use other words")

    assert (done.returncode, done.stderr) == (0, "")
    eventually(lambda: "plan mode on" in rookery.screen("it"))
    eventually(lambda: any("use other words" in str(record) for record in models.log))


@pytest.mark.spec("D2")
def test_a_reason_reaches_claude_in_its_own_dialog(
    rookery: Rookery, models: ModelServer
) -> None:
    rookery.start("it", agent="claude")
    rookery.send("it", "bash: touch made;; say: went on")
    eventually(lambda: asked(rookery))

    done = rookery.run("deny", "it", "--reason", "not on a Sunday")

    assert (done.returncode, done.stderr) == (0, "")
    assert last_answer(rookery) == "went on"
    assert any("not on a Sunday" in str(record) for record in models.log)
    assert not (rookery.project / "made").exists()


@pytest.mark.spec("D5")
def test_several_questions_are_shown_whole_and_answered_in_its_own_dialog(
    rookery: Rookery,
) -> None:
    rookery.start("it", agent="claude")
    rookery.send("it", f"tool: AskUserQuestion {json.dumps(QUESTIONS)};; result:")
    eventually(lambda: asked(rookery))

    listed = rookery.run("permissions").stdout
    one = rookery.run("answer", "it", "2")
    done = rookery.run("answer", "it", "blue", "unit,e2e")

    for shown in ("1) Which colour?", "2. Blue: cold", "2) Which tests?", "1. unit: fast"):
        assert shown in listed
    assert "ANSWER1 ANSWER2" in listed
    assert (one.returncode, "2 questions" in one.stderr) == (2, True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("→ Blue; unit, e2e\n")
    answer = last_answer(rookery)
    assert ('"Which colour?"="Blue"' in answer, '"Which tests?"="unit, e2e"' in answer) == (
        True,
        True,
    )


@pytest.mark.spec("D5")
def test_free_text_is_typed_into_its_own_dialog(rookery: Rookery) -> None:
    rookery.start("it", agent="claude")
    one = {"questions": QUESTIONS["questions"][:1]}
    rookery.send("it", f"tool: AskUserQuestion {json.dumps(one)};; result:")
    eventually(lambda: asked(rookery))

    done = rookery.run("answer", "it", "--text", "green, like the 2nd tree")

    assert done.returncode == 0, done.stderr
    assert '"Which colour?"="green, like the 2nd tree"' in last_answer(rookery)


def long_command(characters: int) -> str:
    """Return a command so long, whose effect is a file called ``made``."""
    words = " ".join(f"w{number}" for number in range(characters // 4))
    return f"echo {words[:characters]} > made"


@pytest.mark.spec("D5")
@pytest.mark.parametrize(("characters", "size"), [(10_000, "200x50"), (3_000, "80x24")])
def test_a_command_that_does_not_fit_the_screen_is_answered_in_claudes_dialog(
    rookery: Rookery, characters: int, size: str
) -> None:
    pane = rookery.start("it", agent="claude")["tmux_pane"]
    width, height = size.split("x")
    rookery.tmux("resize-window", "-t", str(pane), "-x", width, "-y", height)
    rookery.send("it", f"bash: {long_command(characters)};; say: went on")
    eventually(lambda: asked(rookery))

    done = rookery.run("allow", "it")

    assert done.returncode == 0, done.stderr
    assert last_answer(rookery) == "went on"
    assert (rookery.project / "made").exists()


@pytest.mark.spec("D5")
@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_a_request_outlives_a_screen_on_which_its_dialog_cannot_be_read(
    rookery: Rookery, decision: str
) -> None:
    pane = str(rookery.start("it")["tmux_pane"])
    rookery.send("it", f"permission: Bash {long_command(9_000)};; say: went on")
    eventually(lambda: asked(rookery))
    eventually(lambda: "Do you want to proceed?" in rookery.screen("it"))
    rookery.tmux("resize-window", "-t", pane, "-x", "8", "-y", "3")
    eventually(lambda: "proceed" not in rookery.screen("it"))

    refused = rookery.run(decision, "it")
    still = rookery.session("it")["activity"]
    rookery.tmux("resize-window", "-t", pane, "-x", "200", "-y", "50")
    eventually(lambda: "Do you want to proceed?" in rookery.screen("it"))
    done = rookery.run(decision, "it")

    assert (refused.returncode, still) == (1, "permission")
    assert "rookery attach" in refused.stderr
    assert done.returncode == 0, done.stderr
    eventually(lambda: is_idle(rookery))
    assert [turn["how"] for turn in turns(rookery)] == [
        "finished" if decision == "allow" else "interrupted"
    ]


def hold_hooks(rookery: Rookery, event: str) -> None:
    """Make Claude's hook programs of one event late: they wait for the file ``gate``.

    Claude is started with another hook script, since the daemon restores its own.
    """
    real, late = programs.script_path(rookery.home), rookery.folder / "late-hook"
    gate, kept = rookery.folder / "gate", rookery.folder / "payload"
    late.write_text(
        f"payload={kept}.$$; cat > $payload\n"
        f"if grep -q '\"{event}\"' $payload; then\n"
        f"  while [ ! -e {gate} ]; do sleep 0.1; done\n"
        f'fi\nsh {real} "$1" < $payload\n'
    )
    claude = rookery.folder / "late" / "claude"
    claude.parent.mkdir()
    claude.write_text(
        f'#!/bin/sh\nfor each; do case $each in */settings.json) sed -i "s#{real}#{late}#g"'
        f' "$each" ;; esac; done\nexec {PROGRAMS / "claude"} "$@"\n'
    )
    claude.chmod(0o700)
    config = rookery.home.settings
    config.write_text(config.read_text().replace(str(PROGRAMS / "claude"), str(claude)))
    rookery.stop()
    rookery.up()


@pytest.mark.spec("D5")
@pytest.mark.parametrize("mode", ["local", "remote"])
def test_a_dialog_that_was_read_before_its_hook_came_is_one_request(
    rookery: Rookery, mode: str
) -> None:
    rookery.json("mode", mode)
    hold_hooks(rookery, "PermissionRequest")
    rookery.start("it", agent="claude")
    rookery.send("it", "bash: touch made;; say: went on")
    eventually(lambda: [each["source"] for each in asked(rookery)] == ["screen"])
    (seen,) = asked(rookery)
    (rookery.folder / "gate").touch()
    eventually(lambda: "screen" not in [each["source"] for each in asked(rookery)])

    (found,) = asked(rookery)
    done = rookery.run("allow", seen["id"])

    assert (found["id"], found["tool"]) == (seen["id"], "Bash")
    assert done.returncode == 0, done.stderr
    assert last_answer(rookery) == "went on"
    assert (rookery.project / "made").exists()
    assert [each["decision"] for each in rookery.json("audit")["decisions"]] == ["allowed"]


@pytest.mark.spec("D5")
def test_questions_that_were_read_before_their_hook_came_are_one_request(
    rookery: Rookery,
) -> None:
    hold_hooks(rookery, "PermissionRequest")
    rookery.start("it", agent="claude")
    rookery.send("it", f"tool: AskUserQuestion {json.dumps(QUESTIONS)};; result:")
    eventually(lambda: [each["source"] for each in asked(rookery)] == ["screen"])
    (rookery.folder / "gate").touch()
    eventually(lambda: "screen" not in [each["source"] for each in asked(rookery)])

    done = rookery.run("answer", "it", "blue", "unit,e2e")

    assert done.returncode == 0, done.stderr
    answer = last_answer(rookery)
    assert '"Which colour?"="Blue"' in answer
    assert '"Which tests?"="unit, e2e"' in answer


@pytest.mark.spec("D2", "D5", "B0")
def test_an_answer_to_a_dialog_is_none_to_another_that_begins_the_same(
    rookery: Rookery,
) -> None:
    hold_hooks(rookery, "PermissionRequest")
    rookery.start("it", agent="claude")
    begins = "echo " + "word " * 150
    rookery.send("it", f"bash: {begins}; touch good;; say: went on")
    eventually(lambda: [each["source"] for each in asked(rookery)] == ["screen"])
    (first,) = asked(rookery)
    whole = rookery.run("permissions", "show", first["id"]).stdout
    rookery.run("keys", "it", "escape")
    eventually(lambda: is_idle(rookery))

    rookery.send("it", f"bash: {begins}; touch evil;; say: went on")
    eventually(lambda: rookery.session("it")["activity"] in {"permission", "question"})
    done = rookery.run("allow", first["id"])

    assert "touch good" in whole
    assert done.returncode == 1
    assert not (rookery.project / "evil").exists()
    eventually(lambda: [each["id"] for each in asked(rookery)] not in ([], [first["id"]]))
    (second,) = asked(rookery)
    assert "touch evil" in second["input"]["text"]


@pytest.mark.spec("D2")
def test_the_dialog_about_a_skill_is_one_request_that_can_be_answered(
    rookery: Rookery,
) -> None:
    skill = rookery.project / ".claude" / "skills" / "one" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: one\ndescription: x\n---\nDo it.\n")
    rookery.home.rules.write_text('[[ask]]\ntool = "Skill"\n')
    rookery.start("it", agent="claude")
    call = {"skill": "one", "args": "a b"}

    message = rookery.send("it", f"tool: Skill {json.dumps(call)};; say: done")
    eventually(lambda: 'Use skill "one"' in rookery.screen("it") and bool(asked(rookery)))
    (request,) = asked(rookery)
    said = rookery.run("allow", request["id"])
    rookery.client.get("messages", str(message), "answer", timeout=60)

    assert request["source"] == "hook"
    assert "Allowed" in said.stdout
    assert asked(rookery) == []
