"""Tool calls that are decided by rule or by a person, with a real daemon and the demo agent."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import psutil
import pytest

from rookery.model.errors import Answered
from tests.support.real.http import badge_of
from tests.support.real.rookery import SOON, Rookery, eventually

pytestmark = pytest.mark.real

REMOVE = "permission: Bash rm -r build;; say: Done."


def asked(rookery: Rookery) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rookery.client.get("permissions")["requests"]
    return found


def ask(rookery: Rookery, name: str = "worker", words: str = REMOVE) -> dict[str, Any]:
    """Have a session ask for something, and wait until it is known."""
    rookery.send(name, words)
    eventually(lambda: asked(rookery))
    return asked(rookery)[0]


def last_answer(rookery: Rookery) -> str:
    eventually(lambda: rookery.session("worker")["activity"] == "idle")
    return str(rookery.json("output", "worker")["turns"][-1]["answer"])


def screen_has(rookery: Rookery, words: str) -> bool:
    return words in rookery.screen("worker")


@pytest.fixture
def remote(rookery: Rookery) -> Rookery:
    rookery.json("mode", "remote")
    rookery.start("worker")
    return rookery


@pytest.mark.spec("D2", "D3", "D4", "I5")
def test_a_person_allows_a_call_from_the_command_line(remote: Rookery) -> None:
    request = ask(remote)
    listed = remote.run("permissions").stdout

    done = remote.run("allow", "worker")

    assert "May it use Bash? rm -r build" in listed
    assert f"{request['id']}  worker" in listed
    assert done.stdout == "Allowed: May it use Bash? rm -r build\n"
    assert last_answer(remote) == "Done."
    (kept,) = remote.json("audit")["decisions"]
    assert (kept["decision"], kept["by"], kept["tool"]) == ("allowed", "person", "Bash")
    assert kept["input"] == {"command": "rm -r build"}


@pytest.mark.spec("C7", "I5")
def test_a_denied_call_is_marked_in_the_log(remote: Rookery) -> None:
    remote.run("send", "worker", "permission: Bash rm -r build;; say: Done.")
    eventually(lambda: asked(remote))
    remote.run("deny", "worker")
    remote.run("wait", "worker")

    told = remote.run("logs", "worker").stdout

    assert "✗ Bash — rm -r build  (denied by you)\n" in told


@pytest.mark.spec("C3", "C7")
def test_an_observing_hook_says_nothing_and_returns_while_a_person_is_asked(
    rookery: Rookery,
) -> None:
    rookery.json("mode", "remote")
    tool = {"tool_name": "Bash", "tool_input": {"command": "ls"}}

    with hook_of(rookery, "PermissionRequest", **tool) as deciding:
        eventually(lambda: asked(rookery))
        with hook_of(rookery, "PostToolUse", tool_name="Read", tool_input={}) as observing:
            said = observing.communicate(timeout=SOON)
        is_waiting, requests = deciding.poll() is None, asked(rookery)
        rookery.client.post("permissions", requests[0]["id"], "answer", decision="allow")
        decided, _ = deciding.communicate(timeout=SOON)

    assert (observing.returncode, said) == (0, (b"", b""))
    assert is_waiting
    assert [each["outcome"] for each in requests] == ["open"]
    assert b'"allow"' in decided
    assert used_tools(rookery) == ["Read"]  # it was answered, and not spooled


@contextmanager
def hook_of(
    rookery: Rookery, event: str, **fields: object
) -> Iterator[subprocess.Popen[bytes]]:
    """Run the hook program as an agent does that Rookery knows by its hooks only."""
    home = rookery.home
    payload = {"session_id": "n1", "cwd": str(rookery.project), "hook_event_name": event}
    program = subprocess.Popen(
        [sys.executable, "-I", "-S", home.hook, home.hook_door, home.spool, "demo"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
    )
    assert program.stdin
    program.stdin.write(json.dumps({**payload, **fields}).encode())
    program.stdin.close()
    program.stdin = None
    try:
        yield program
    finally:
        program.kill()
        program.communicate()


def used_tools(rookery: Rookery) -> list[str]:
    with rookery.database() as db:
        found = db.execute("select body from entries where kind = 'tool-used' order by seq")
        return [json.loads(row[0])["tool"] for row in found]


@pytest.mark.spec("D2")
def test_an_agent_is_told_why_its_call_was_denied(remote: Rookery) -> None:
    request = ask(remote)

    remote.run("deny", request["id"], "--reason", "Not on a Sunday.")

    eventually(lambda: screen_has(remote, "Not on a Sunday."))
    assert remote.session("worker")["denial_count"] == 1


@pytest.mark.spec("D2", "D5")
def test_an_answer_is_known_to_be_told_before_anything_else_happens(remote: Rookery) -> None:
    request = ask(remote, words="permission: Bash rm -r build;; sleep: 300;; say: late")

    with ThreadPoolExecutor(1) as pool:
        denied = remote.client.post("permissions", request["id"], "answer", decision="deny")
        told = pool.submit(remote.client.get, "permissions", denied["id"], timeout=600)
        found = told.result(timeout=60)

    assert (found["outcome"], found["delivery"]) == ("denied", "none")
    assert remote.session("worker")["activity"] == "working"
    events = remote.run("events", "--after", "0", "--json", "--no-follow").stdout
    assert events.count('"answer-taken"') == 1


@pytest.mark.spec("D2")
def test_what_is_allowed_for_the_session_is_asked_once(remote: Rookery) -> None:
    ask(remote)
    remote.run("allow", "worker", "--session")
    eventually(lambda: remote.session("worker")["activity"] == "idle")

    assert remote.ask("worker", REMOVE) == "Done."
    assert [each["by"] for each in remote.json("audit")["decisions"]] == ["person", "grant"]


@pytest.mark.spec("D5")
def test_a_question_is_answered_from_the_command_line(remote: Rookery) -> None:
    remote.send("worker", "question: Which colour? | Red | Blue")
    eventually(lambda: remote.session("worker")["activity"] == "question")
    listed = remote.run("permissions").stdout

    wrong = remote.run("allow", "worker")
    right = remote.run("answer", "worker", "2")

    assert "2. Blue" in listed
    assert (wrong.returncode, "rookery answer" in wrong.stderr) == (2, True)
    assert right.returncode == 0
    assert last_answer(remote) == "You chose Blue"
    assert remote.run("audit").stdout.endswith("(Blue)\n")


@pytest.mark.spec("D2", "D5")
@pytest.mark.parametrize(
    ("words", "seen"),
    [(("answer", "worker", "blu"), "You chose Blue"), (("deny", "worker"), "")],
)
def test_a_question_that_is_asked_in_a_terminal_is_answered_by_keys(
    rookery: Rookery, words: tuple[str, ...], seen: str
) -> None:
    rookery.start("worker")
    rookery.send("worker", "question: Which colour? | Red | Blue")
    eventually(lambda: rookery.session("worker")["activity"] == "question")

    listed = rookery.run("permissions").stdout
    free = rookery.run("answer", "worker", "--text", "green")
    done = rookery.run(*words)

    assert ("NUMBER" in listed, "--text" in listed) == (True, False)
    assert (free.returncode, "1. Red, 2. Blue" in free.stderr) == (1, True)
    assert done.returncode == 0, done.stderr
    assert last_answer(rookery) == seen
    (found,) = rookery.client.get("permissions", all=True)["requests"]
    assert (found["answered_by"], found["delivery"]) == ("person", "pressed")


@pytest.mark.spec("D5")
def test_a_typo_is_no_answer_and_the_answer_that_was_given_is_said(remote: Rookery) -> None:
    remote.send("worker", "question: Which colour? | Red | Blue")
    eventually(lambda: asked(remote))

    typo = remote.run("answer", "worker", "blau")
    right = remote.run("answer", "worker", "blu")

    assert (typo.returncode, "1. Red, 2. Blue" in typo.stderr) == (2, True)
    assert "--text blau" in typo.stderr
    assert right.stdout == "Answered: Which colour? → Blue\n"
    assert last_answer(remote) == "You chose Blue"


@pytest.mark.spec("D5", "I1")
def test_a_number_beyond_the_options_is_no_answer_unless_it_is_said_to_be(
    remote: Rookery,
) -> None:
    remote.send("worker", "question: Which colour? | Red | Blue")
    eventually(lambda: asked(remote))

    wrong = remote.run("answer", "worker", "3")
    with pytest.raises(Answered) as refused:
        remote.client.post("permissions", "worker", "answer", decision="answer", answers=["0"])
    still = asked(remote)
    own = remote.run("answer", "worker", "--text", "3")

    assert wrong.returncode == 2
    assert "3 is none of the options: 1. Red, 2. Blue." in wrong.stderr
    assert refused.value.code == "bad-input"
    assert len(still) == 1
    assert own.returncode == 0
    assert last_answer(remote) == "You chose 3"


@pytest.mark.spec("D2", "K3")
@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_a_request_outlives_a_daemon_that_is_killed(remote: Rookery, decision: str) -> None:
    request = ask(remote)
    remote.kill()
    remote.up()

    (after,) = asked(remote)
    remote.run(decision, "worker")

    assert after["id"] == request["id"]
    word = {"allow": "Done.", "deny": "Denied"}[decision]
    eventually(lambda: screen_has(remote, word))
    (kept,) = remote.json("audit")["decisions"]
    assert kept["request"] == request["id"]


@pytest.mark.spec("D2")
def test_of_many_answers_at_once_one_counts(remote: Rookery) -> None:
    request = ask(remote)

    def answer(number: int) -> str:
        decision = "allow" if number % 2 else "deny"
        try:
            remote.client.post("permissions", request["id"], "answer", decision=decision)
        except Answered as refusal:
            return refusal.code
        return decision

    with ThreadPoolExecutor(8) as people:
        said = list(people.map(answer, range(8)))

    (winner,) = [word for word in said if word != "request-closed"]
    (kept,) = remote.json("audit")["decisions"]
    assert kept["decision"] == {"allow": "allowed", "deny": "denied"}[winner]


@pytest.mark.spec("D2")
def test_an_answer_at_the_keyboard_closes_the_request(remote: Rookery) -> None:
    request = ask(remote)
    eventually(lambda: screen_has(remote, "1. Yes"))

    remote.tmux("send-keys", "-t", remote.session("worker")["tmux_pane"], "1")

    assert last_answer(remote) == "Done."
    (found,) = remote.client.get("permissions", all=True)["requests"]
    assert (found["id"], found["outcome"]) == (request["id"], "gone")
    assert found["answered_by"] == "terminal"
    (kept,) = remote.json("audit")["decisions"]
    assert (kept["decision"], kept["by"]) == ("allowed", "terminal")
    late = remote.run("allow", request["id"])
    assert (late.returncode, "already answered" in late.stderr) == (1, True)


@pytest.mark.spec("D3")
def test_silence_is_a_no(cold: Rookery) -> None:
    cold.configure('[permissions]\ndeadline_seconds = 1\non_timeout = "deny"\n')
    cold.up()
    cold.json("mode", "remote")
    cold.start("worker")

    cold.send("worker", REMOVE)

    eventually(lambda: screen_has(cold, "Not answered in time."))
    (kept,) = cold.json("audit")["decisions"]
    assert (kept["decision"], kept["by"]) == ("denied", "the clock")


@pytest.mark.spec("D3")
def test_at_the_deadline_the_agents_own_dialog_takes_over_and_it_is_marked_missed(
    cold: Rookery,
) -> None:
    cold.configure("[permissions]\ndeadline_seconds = 1\n")
    cold.up()
    cold.json("mode", "remote")
    cold.start("worker")
    cold.send("worker", REMOVE)
    eventually(lambda: asked(cold) and asked(cold)[0]["missed"])

    in_list, first, second = (
        cold.run(*words).stdout for words in (["ls"], ["permissions"], ["permissions"])
    )
    stands = screen_has(cold, "1. Yes")
    done = cold.run("allow", "worker")

    assert "[missed]" in in_list
    assert ("missed: not answered in time" in first, "missed" in second) == (True, False)
    assert stands
    assert done.returncode == 0, done.stderr
    assert last_answer(cold) == "Done."
    (kept,) = cold.json("audit")["decisions"]
    assert (kept["decision"], kept["by"]) == ("allowed", "person")


@pytest.mark.spec("D3")
def test_the_deadline_of_a_request_is_shown(remote: Rookery) -> None:
    ask(remote)

    assert "its terminal takes over in 4m" in remote.run("permissions").stdout
    assert "[4m" in remote.run("ls").stdout
    remote.environment["COLUMNS"] = "200"
    assert "its terminal takes over in 4m" in remote.run("ls").stdout


@pytest.mark.spec("D5")
def test_a_dialog_whose_hook_program_was_killed_can_still_be_answered(remote: Rookery) -> None:
    request = ask(remote)
    eventually(lambda: screen_has(remote, "1. Yes"))
    kill_hooks(remote)
    eventually(lambda: asked(remote) and asked(remote)[0]["by_keys"])

    done = remote.run("allow", "worker")

    assert done.returncode == 0, done.stderr
    assert last_answer(remote) == "Done."
    (found,) = remote.client.get("permissions", all=True)["requests"]
    assert (found["id"], found["outcome"]) == (request["id"], "allowed")


@pytest.mark.spec("D4", "D5")
def test_a_dialog_whose_hook_program_was_killed_can_be_answered_at_the_keyboard(
    remote: Rookery,
) -> None:
    ask(remote, words="permission: Bash make;; sleep: 60")
    eventually(lambda: screen_has(remote, "1. Yes"))
    kill_hooks(remote)
    eventually(lambda: asked(remote) and asked(remote)[0]["by_keys"])

    remote.tmux("send-keys", "-t", remote.session("worker")["tmux_pane"], "1")

    eventually(lambda: remote.session("worker")["activity"] == "working")
    eventually(
        lambda: [each["by"] for each in remote.json("audit")["decisions"]] == ["terminal"]
    )
    assert asked(remote) == []


def kill_hooks(rookery: Rookery) -> None:
    for process in hooks_of(rookery):
        with suppress(psutil.NoSuchProcess):  # one that told of something else has ended
            process.kill()


def hooks_of(rookery: Rookery) -> list[psutil.Process]:
    """Find the hook programs that wait for an answer."""
    door = str(rookery.home.hook_door)
    below = psutil.Process().children(recursive=True)
    tmux = [each for each in psutil.process_iter() if str(rookery.home.tmux) in _words(each)]
    below += [child for each in tmux for child in each.children(recursive=True)]
    found = {
        each
        for each in below
        if "hook" in _words(each) and "rookery.programs.demo" not in _words(each)
    }
    assert found, door
    return [*found]


def _words(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


@pytest.mark.spec("D4")
def test_a_request_that_ended_because_of_an_interruption_says_so(remote: Rookery) -> None:
    ask(remote)
    eventually(lambda: screen_has(remote, "1. Yes"))

    remote.run("interrupt", "worker")

    eventually(lambda: remote.session("worker")["activity"] == "idle")
    (kept,) = remote.json("audit")["decisions"]
    assert (kept["decision"], kept["reason"]) == ("gone", "interrupted by person")
    assert "interrupted by person" in remote.run("permissions", "--all").stdout


@pytest.mark.spec("D2")
def test_a_reason_that_no_dialog_takes_is_said_not_to_be_delivered(rookery: Rookery) -> None:
    rookery.start("worker")
    ask(rookery)

    done = rookery.run("deny", "worker", "--reason", "Not on a Sunday.")

    assert done.returncode == 0
    assert "The agent did not receive your reason" in done.stderr


@pytest.mark.spec("D2")
def test_who_has_died_gets_no_answer(remote: Rookery) -> None:
    request = ask(remote)
    remote.run("end", "worker")

    late = remote.run("allow", request["id"])

    assert late.returncode == 1
    assert asked(remote) == []


@pytest.mark.spec("D1", "D3", "I5")
def test_rules_decide_before_anybody_is_asked(rookery: Rookery) -> None:
    rookery.start("worker")
    rookery.home.rules.write_text(
        '[[deny]]\nname = "no rm"\ntool = "Bash"\ninput.command = "rm *"\nreason = "No."\n'
        '[[allow]]\ntool = "Bash"\n'
    )
    call = {"tool": "Bash", "input": {"command": "rm -r x"}}

    allowed = rookery.ask("worker", "permission: Bash ls;; say: Listed.")
    rookery.send("worker", REMOVE)
    eventually(lambda: rookery.session("worker")["denial_count"] == 1)
    tested = rookery.run("permissions", "test", json.dumps(call)).stdout
    other = rookery.run("permissions", "test", '{"tool": "Read"}').stdout

    assert allowed == "Listed."
    assert tested == "deny by the rule 'no rm'. No.\n"
    assert (
        other == "No rule matches: the agent's own permission mode decides whether it asks.\n"
    )
    rules = [(each["rule"], each["decision"]) for each in rookery.json("audit")["decisions"]]
    assert rules == [("allow 1", "allowed"), ("no rm", "denied")]


@pytest.mark.spec("D1", "I5")
def test_rules_are_tested_from_the_current_folder_unless_another_is_named(
    rookery: Rookery,
) -> None:
    rookery.home.rules.write_text(
        '[[deny]]\nname = "not these"\ntool = "Read"\ninput.file_path = "/etc/*"\n'
    )
    (rookery.project / "link").symlink_to("/etc")
    (rookery.project / "below").mkdir()
    call = json.dumps({"tool": "Read", "input": {"file_path": "link/passwd"}})

    here = rookery.run("permissions", "test", call).stdout
    below = rookery.run("permissions", "test", "--project", "below", call).stdout

    assert here.startswith("deny by the rule 'not these'.")
    assert below.startswith("No rule matches")


@pytest.mark.spec("D1")
def test_broken_rules_are_said_and_change_nothing(rookery: Rookery) -> None:
    rookery.home.rules.write_text('[[deny]]\nname = "no rm"\ninput.command = "rm *"\n')
    call = json.dumps({"tool": "Bash", "input": {"command": "rm x"}})
    before = rookery.run("permissions", "test", call).stdout

    rookery.home.rules.write_text("[[allow]")

    assert rookery.run("permissions", "test", call).stdout == before
    assert "not TOML" in rookery.run("permissions").stderr


@pytest.mark.spec("D1", "D3", "I5")
def test_rules_that_are_broken_at_a_restart_stay_in_force_and_every_command_says_so(
    cold: Rookery,
) -> None:
    cold.configure("")
    cold.home.rules.write_text('[[deny]]\nname = "no rm"\ninput.command = "rm *"\n')
    cold.up()
    eventually(cold.home.offline_answers.exists)
    left = cold.home.offline_answers.read_text()
    cold.stop()
    cold.home.rules.write_text("[[deny")
    call = json.dumps({"tool": "Bash", "input": {"command": "rm x"}})

    up = cold.run("up", "--detach").stderr
    said = [cold.run(command) for command in ("status", "ls", "doctor")]
    tested = cold.run("permissions", "test", call).stdout
    cold.run("down")

    for each in (up, *(done.stderr + done.stdout for done in said)):
        assert "not TOML" in each
        assert "the last valid version applies (1 rule)" in each
    assert "PreToolUse" in left
    assert "no rm" in tested
    assert cold.home.offline_answers.read_text() == left


@pytest.mark.spec("D1", "I5")
def test_the_doctor_tells_of_the_rules_in_force_not_of_the_file(cold: Rookery) -> None:
    cold.configure("")
    cold.home.rules.write_text('[[deny]]\nname = "no rm"\ninput.command = "rm *"\n')
    cold.home.rules.chmod(0o666)
    call = json.dumps({"tool": "Bash", "input": {"command": "rm x"}})
    cold.up()

    refused = cold.run("doctor").stdout
    asked = cold.run("permissions", "test", call).stdout
    cold.home.rules.chmod(0o600)
    decided = cold.run("permissions", "test", call).stdout

    assert "every call is asked about" in refused
    assert asked.startswith("ask by the rule 'no valid rules'")
    assert decided.startswith("deny by the rule 'no rm'")
    assert "1 of" in cold.run("doctor").stdout


@pytest.mark.spec("D3")
def test_locally_an_agent_asks_in_its_own_terminal(rookery: Rookery) -> None:
    rookery.start("worker")

    request = ask(rookery)

    assert request["deadline"] is None
    eventually(lambda: screen_has(rookery, "1. Yes"))
    rookery.tmux("send-keys", "-t", rookery.session("worker")["tmux_pane"], "1")
    assert last_answer(rookery) == "Done."
    assert asked(rookery) == []


@pytest.mark.spec("C3", "D3")
@pytest.mark.parametrize(
    ("when_away", "seen"), [("ask", "1. Yes"), ("deny", "No Rookery daemon runs")]
)
def test_a_call_under_a_rule_is_not_let_through_while_no_daemon_runs(
    cold: Rookery, when_away: str, seen: str
) -> None:
    cold.configure(f'[permissions]\nwhen_away = "{when_away}"\n')
    cold.up()
    cold.home.rules.write_text('[[deny]]\ntool = "Bash"\ninput.command = "rm *"\n')
    cold.start("worker")
    pane = str(cold.session("worker")["tmux_pane"])
    eventually(lambda: "PreToolUse" in cold.home.offline_answers.read_text())
    cold.kill()

    cold.tmux("send-keys", "-t", pane, "-l", "tool: Bash rm -r build")
    cold.tmux("send-keys", "-t", pane, "Enter")

    eventually(lambda: seen in cold.tmux("capture-pane", "-p", "-t", pane))


@pytest.mark.spec("C3", "D3")
def test_a_call_is_asked_about_while_no_daemon_runs_and_its_offline_answers_are_damaged(
    cold: Rookery,
) -> None:
    cold.configure("")
    cold.home.rules.write_text('[[deny]]\ntool = "Bash"\ninput.command = "rm *"\n')
    cold.up()
    cold.start("worker")
    pane = str(cold.session("worker")["tmux_pane"])
    left = cold.home.offline_answers.read_bytes()
    cold.home.offline_answers.write_bytes(b"")
    eventually(lambda: cold.home.offline_answers.read_bytes() == left)  # the daemon mends it
    cold.kill()
    cold.home.offline_answers.write_bytes(bytes(len(left)))

    cold.tmux("send-keys", "-t", pane, "-l", "tool: Bash rm -r build")
    cold.tmux("send-keys", "-t", pane, "Enter")

    eventually(lambda: "1. Yes" in cold.tmux("capture-pane", "-p", "-t", pane))


@pytest.mark.spec("D3", "K5")
def test_no_session_answers_for_itself(remote: Rookery) -> None:
    request = ask(remote)
    badge = badge_of(remote, "worker")

    with pytest.raises(Answered) as refusal:
        remote.client_of(badge).post("permissions", request["id"], "answer", decision="allow")

    assert refusal.value.code == "forbidden"
    assert asked(remote) == [request]


@pytest.mark.spec("E2", "D3", "K5")
def test_a_question_is_answered_by_who_started_the_session_and_by_no_stranger(
    rookery: Rookery,
) -> None:
    rookery.json("mode", "remote")
    for name in ("parent", "stranger"):
        rookery.start(name)
    parent, stranger = (
        rookery.client_of(badge_of(rookery, name)) for name in ("parent", "stranger")
    )
    parent.post("sessions", agent="demo", name="worker", project=str(rookery.project))
    rookery.client.get("sessions", "worker", "wait", until="up", timeout=40.0)
    request = ask(rookery, words="question: Which colour? | Red | Blue")
    own = rookery.client_of(badge_of(rookery, "worker"))

    refused = []
    for other in (stranger, own):
        with pytest.raises(Answered) as refusal:
            other.post("permissions", request["id"], "words", words="Blue")
        refused.append(refusal.value.code)
    parent.post("permissions", request["id"], "words", words="2")

    assert refused == ["request-unknown", "forbidden"]
    assert last_answer(rookery) == "You chose Blue"


@pytest.mark.spec("D3", "K5")
@pytest.mark.parametrize("may", [True, False])
def test_a_parent_answers_for_its_child_only_if_it_may(cold: Rookery, *, may: bool) -> None:
    cold.configure(f"[permissions]\nparents_may_answer = {str(may).lower()}\n")
    cold.up()
    cold.json("mode", "remote")
    cold.start("parent")
    parent = cold.client_of(badge_of(cold, "parent"))
    parent.post("sessions", agent="demo", name="worker", project=str(cold.project))
    cold.client.get("sessions", "worker", "wait", until="up", timeout=20.0)
    request = ask(cold)

    try:
        parent.post("permissions", request["id"], "answer", decision="allow")
        answered = True
    except Answered:
        answered = False

    assert answered is may


@pytest.mark.spec("D6")
def test_an_agent_that_stops_with_an_error_tries_another_way_twice(cold: Rookery) -> None:
    cold.configure('[stops]\npolicy = "retry"\npattern = "did not work"\n')
    cold.up()
    cold.start("worker")

    cold.ask("worker", "say: That did not work.")

    (turn,) = cold.json("output", "worker")["turns"]
    with cold.database() as db:
        held = db.execute(
            "select count(*) from entries where body like '%StopHeld%'"
        ).fetchone()
    assert held == (2,)
    assert turn["how"] == "finished"


@pytest.mark.spec("D6", "D5")
def test_a_person_says_how_it_goes_on_after_an_error(cold: Rookery) -> None:
    cold.configure('[stops]\npolicy = "ask"\n')
    cold.environment["COLUMNS"] = "200"
    cold.up()
    cold.start("worker")
    cold.send("worker", "say: It failed.")
    eventually(lambda: cold.session("worker")["activity"] == "question")
    listed = [cold.run(command).stdout for command in ("permissions", "ls")]

    cold.run("answer", "worker", "--text", "say: Now it works.")

    for each in listed:
        assert "it may stop in 4m" in each

    eventually(lambda: cold.session("worker")["activity"] == "idle")
    assert cold.json("output", "worker")["turns"][-1]["answer"] == "Now it works."


@pytest.mark.spec("D2", "D3")
@pytest.mark.parametrize(("decision", "seen"), [("allow", "Done."), ("deny", "❯")])
def test_an_answer_reaches_an_agent_that_asks_in_its_own_terminal(
    rookery: Rookery, decision: str, seen: str
) -> None:
    rookery.start("worker")
    request = ask(rookery)

    done = rookery.run(decision, "worker")

    assert done.returncode == 0
    eventually(lambda: rookery.session("worker")["activity"] == "idle")
    assert screen_has(rookery, seen)
    (found,) = rookery.client.get("permissions", all=True)["requests"]
    assert (found["id"], found["answered_by"]) == (request["id"], "person")


@pytest.mark.spec("D2", "B0")
def test_an_answer_is_pressed_into_no_other_dialog(rookery: Rookery) -> None:
    rookery.start("worker")
    request = ask(rookery)
    rookery.kill()
    pane = rookery.tmux("list-panes", "-a", "-F", "#{session_name} #{pane_id}").split()
    pane = pane[pane.index(f"rk_{request['session'][:8]}") + 1 :][:1]
    rookery.tmux("send-keys", "-t", pane[0], "1")
    # The prompt has these words, too; keys that come with the answer belong to the dialog.
    eventually(lambda: rookery.tmux("capture-pane", "-p", "-t", pane[0]).count("Done.") > 1)
    rookery.tmux("send-keys", "-t", pane[0], "-l", "permission: Bash halt;; say: Halted.")
    rookery.tmux("send-keys", "-t", pane[0], "Enter")
    eventually(lambda: "1. Yes" in rookery.tmux("capture-pane", "-p", "-t", pane[0]))
    rookery.up()

    late = rookery.run("allow", request["id"])

    assert (late.returncode, "already answered" in late.stderr) == (1, True)
    assert screen_has(rookery, "1. Yes")


@pytest.mark.spec("D2")
def test_a_request_whose_hook_was_cut_off_waits_for_nobody(remote: Rookery) -> None:
    payload = {"session_id": "outside", "cwd": "/", "hook_event_name": "PermissionRequest"}
    call = json.dumps({**payload, "tool_name": "Bash", "tool_input": {}}).encode()
    with socket.socket(socket.AF_UNIX) as door:
        door.connect(str(remote.home.hook_door))
        door.sendall(f"cut-off demo {len(call)} - - 1 -\n".encode() + call)
        eventually(lambda: asked(remote))
        # Closed with something unread, a line is reset: so it is when an agent kills its hook.

    eventually(lambda: not asked(remote))


@pytest.mark.spec("A7", "D2", "K3")
def test_an_answer_takes_effect_although_its_hook_gave_up_while_no_daemon_ran(
    remote: Rookery,
) -> None:
    request = ask(remote)
    eventually(lambda: screen_has(remote, "1. Yes"))
    remote.kill()
    kill_hooks(remote)  # after 30 s they end by themselves
    remote.up()

    done = remote.run("allow", "worker")

    assert (done.returncode, done.stdout) == (0, "Allowed: May it use Bash? rm -r build\n")
    assert last_answer(remote) == "Done."
    (found,) = remote.client.get("permissions", all=True)["requests"]
    assert (found["id"], found["delivery"]) == (request["id"], "pressed")
    (kept,) = remote.json("audit")["decisions"]
    assert (kept["decision"], kept["by"]) == ("allowed", "person")


def is_spooled(rookery: Rookery, event: bytes) -> bool:
    spooled = [each for each in rookery.home.spool.iterdir() if each.suffix != ".part"]
    return any(event in each.read_bytes() for each in spooled)


@pytest.mark.spec("C3", "D2", "K3")
def test_a_call_whose_hook_gave_up_on_a_daemon_that_hung_can_be_answered(
    remote: Rookery,
) -> None:
    pane = remote.session("worker")["tmux_pane"]
    os.kill(remote.pid, signal.SIGSTOP)
    try:
        remote.tmux("send-keys", "-t", pane, "-l", REMOVE)
        eventually(lambda: REMOVE in remote.tmux("capture-pane", "-p", "-t", pane))
        remote.tmux("send-keys", "-t", pane, "Enter")
        eventually(lambda: is_spooled(remote, b"PermissionRequest"))
    finally:
        os.kill(remote.pid, signal.SIGCONT)
    eventually(lambda: asked(remote) and asked(remote)[0]["by_keys"])

    done = remote.run("allow", "worker")

    assert done.returncode == 0, done.stderr
    assert last_answer(remote) == "Done."
