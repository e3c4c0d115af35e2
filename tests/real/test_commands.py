"""What the commands say and how they end, as a person meets them the first day."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from time import monotonic
from typing import Any

import pytest

from rookery.api.servers import SHUTDOWN_TIMEOUT_SECONDS
from rookery.model.errors import Answered
from tests.support.real.rookery import SOON, Rookery, eventually
from tests.support.real.typed import REMOVE, are_waiting, begun, is_doing

pytestmark = pytest.mark.real


def until_the_end(events: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """Read events as JSON, up to the one that ends a session."""
    assert events.stdout
    for line in events.stdout:
        event = json.loads(line)
        yield event
        if event.get("kind") == "session-ended":
            return


def working(rookery: Rookery) -> list[str]:
    found = rookery.client.get("sessions")["sessions"]
    return [each["name"] for each in found if each["activity"] == "working"]


@pytest.mark.spec("A7", "I5")
def test_whoever_waits_goes_on_over_a_restart_of_the_daemon(rookery: Rookery) -> None:
    rookery.start("worker")
    with (
        begun(rookery, "ask", "worker", "sleep: 5;; say: Done.") as ask,
        begun(rookery, "events", "--json") as events,
    ):
        eventually(lambda: is_doing(rookery, "working"))
        with (
            begun(rookery, "wait", "worker") as wait,
            begun(rookery, "output", "worker", "-f") as output,
        ):
            eventually(lambda: are_waiting(rookery, 4))

            rookery.kill()
            rookery.up()
            said = [each.communicate(timeout=SOON) for each in (ask, wait)]
            rookery.ask("worker", "say: More.")
            rookery.run("end", "worker")
            read, _ = output.communicate(timeout=SOON)
            snapshot, *told = until_the_end(events)

    assert [each.returncode for each in (ask, wait, output)] == [0, 0, 0]
    assert said[0][0] == "Done.\n"
    assert said[1][0].startswith("worker is idle.")
    began = "❯ sleep: 5;; say: Done.\n… (it is working)\n\n"
    assert read == f"{began}Done.\n\n❯ say: More.\nMore.\n\n"
    seqs = [each["seq"] for each in told]
    assert seqs == list(range(snapshot["seq"] + 1, seqs[-1] + 1))
    assert "session-recovered" in [each["kind"] for each in told]


@pytest.mark.spec("A7", "I5")
def test_whoever_waits_in_vain_for_a_daemon_is_told_what_is_true(rookery: Rookery) -> None:
    rookery.start("worker")
    with (
        begun(rookery, "events") as events,
        begun(rookery, "ask", "worker", "sleep: 60") as ask,
        begun(rookery, "wait", "worker", "--until", "end") as wait,
        begun(rookery, "output", "worker", "-f") as output,
        begun(rookery, "start", "-a", "demo", "-n", "new", "--wait", "sleep: 60") as start,
    ):
        eventually(lambda: len(working(rookery)) == 2)
        eventually(lambda: are_waiting(rookery, 5))

        began = monotonic()
        rookery.stop()
        took = monotonic() - began
        waiting = {"worker": (ask, wait, output), "new": (start,)}
        told = [
            (name, each.communicate(timeout=SOON)[1])
            for name, commands in waiting.items()
            for each in commands
        ]
        followed = events.communicate(timeout=SOON)[1]

    assert [each.returncode for each in (ask, wait, output, start, events)] == [3] * 5
    for name, words in told:
        assert f"The daemon stopped while this waited; {name} keeps working." in words
        assert f"rookery up  then:  rookery output {name}" in words
    assert "rookery events --after " in followed
    assert took < SHUTDOWN_TIMEOUT_SECONDS
    assert "Traceback" not in rookery.home.log.read_text()


@pytest.mark.spec("I5", "D2")
def test_asking_says_at_once_that_the_agent_waits_for_its_person(rookery: Rookery) -> None:
    rookery.start("worker")
    with begun(rookery, "ask", "--on-permission", "wait", "worker", REMOVE) as ask:
        assert ask.stderr
        first, second = ask.stderr.readline(), ask.stderr.readline()
        rookery.run("keys", "worker", "1")
        answer, _ = ask.communicate(timeout=SOON)

    assert first == "rookery: worker waits for you: May it use Bash? rm -r build\n"
    asked = re.search(r"rookery allow (\w{8})  \|  rookery deny (\w{8})", second)
    assert asked
    assert asked[1] == asked[2]
    assert (answer, ask.returncode) == ("Gone.\n", 0)


@pytest.mark.spec("I5", "D2")
def test_of_two_dialogs_each_is_told(rookery: Rookery) -> None:
    rookery.start("worker")
    with begun(
        rookery, "ask", "--on-permission", "wait", "worker", f"permission: Bash one;; {REMOVE}"
    ) as ask:
        assert ask.stderr
        told = []
        for _ in range(2):
            told.append(ask.stderr.readline())
            ask.stderr.readline()
            rookery.run("keys", "worker", "1")
        answer, _ = ask.communicate(timeout=SOON)

    assert [line.split("? ")[-1] for line in told] == ["one\n", "rm -r build\n"]
    assert answer == "Gone.\n"


@pytest.mark.spec("E6", "I5")
def test_of_two_who_ask_at_the_same_time_each_has_its_own_answer(rookery: Rookery) -> None:
    rookery.start("worker")
    rookery.send("worker", REMOVE)
    eventually(lambda: is_doing(rookery, "permission"))
    ask = ("ask", "--on-permission", "wait", "worker")
    with (
        begun(rookery, *ask, "say: answer A") as first,
        begun(rookery, *ask, "say: answer B") as second,
    ):
        eventually(lambda: len(waiting(rookery)) == 2)
        rookery.run("keys", "worker", "1")
        answers = [each.communicate(timeout=SOON)[0] for each in (first, second)]

    assert answers == ["answer A\n", "answer B\n"]


def waiting(rookery: Rookery) -> list[str]:
    found = rookery.client.get("sessions", "worker", "turns")["unheard"]
    return [each["words"] for each in found]


@pytest.mark.spec("E6", "I5")
def test_sending_says_whether_the_words_left_and_why_not(rookery: Rookery) -> None:
    rookery.start("worker")

    idle = rookery.run("send", "worker", f"sleep: 1;; {REMOVE}")
    eventually(lambda: is_doing(rookery, "working"))
    working = rookery.run("send", "worker", "say: one")
    eventually(lambda: is_doing(rookery, "permission"))
    asking = rookery.run("send", "worker", "say: t\x07wo")
    rookery.environment["COLUMNS"] = "120"
    listed = rookery.run("ls").stdout

    assert idle.stdout == "Sent.\n"
    waits = "it is working; the message is delivered when it stops."
    assert working.stdout == f"Queued (2): {waits}\n"
    assert asking.stdout.startswith(
        "Queued (3): it asks for permission (May it use Bash? rm -r build)."
        " 1 control character was removed."
    )
    assert "rm -r build; 2 messages wait" in listed


@pytest.mark.spec("E6", "I5")
def test_words_that_wait_for_somebodys_draft_say_so(rookery: Rookery) -> None:
    pane = str(rookery.start("worker")["tmux_pane"])
    rookery.tmux("send-keys", "-t", pane, "-l", "a draft")
    eventually(lambda: "a draft" in rookery.screen("worker"))

    sent = rookery.run("send", "worker", "say: hello")
    rookery.environment["COLUMNS"] = "120"
    listed = rookery.run("ls").stdout

    assert sent.stdout == "Queued (1): there is unsent text in its input box.\n"
    assert "1 message waits: there is unsent text in its input box." in listed


@pytest.mark.spec("A4", "I5")
def test_words_that_were_never_delivered_are_named_at_the_end(rookery: Rookery) -> None:
    rookery.start("worker")
    rookery.run("send", "worker", "sleep: 60")
    eventually(lambda: is_doing(rookery, "working"))
    rookery.run("send", "worker", "say: Never.")

    first, again = rookery.run("end", "worker"), rookery.run("end", "worker")
    shown = rookery.run("output", "worker").stdout

    assert first.stdout == "worker was ended. 1 message was not delivered.\n"
    assert again.stdout == "worker had already ended: ended by you.\n"
    assert shown.endswith("❯ say: Never.  (not delivered)\n")


@pytest.mark.spec("I5")
def test_a_turn_that_fails_is_told_by_words_and_exit_code(rookery: Rookery) -> None:
    started = rookery.run("start", "-a", "demo", "-n", "worker", "--wait", "fail: No luck")
    asked = rookery.run("ask", "worker", "fail: Oh no")
    waited = rookery.run("wait", "worker")
    listed = rookery.run("ls").stdout

    assert [each.returncode for each in (started, asked, waited)] == [1, 1, 1]
    assert started.stdout == ""
    assert "The turn failed: No luck\nworker is idle; its last turn failed." in started.stderr
    assert (asked.stdout, asked.stderr) == ("", "rookery: The turn failed: Oh no\n")
    assert "turn failed" in listed
    assert "Oh no" in listed


@pytest.mark.spec("I5")
def test_a_driven_session_that_crashes_is_told_as_failed_not_as_idle(
    rookery: Rookery,
) -> None:
    words = ("start", "demo", "--runtime", "acp", "-n", "worker", "--wait", "crash:")

    started = rookery.run(*words)

    assert started.returncode == 1
    assert "worker failed: its program was killed by SIGKILL" in started.stderr
    assert "idle" not in started.stderr


@pytest.mark.spec("I5")
def test_output_says_that_an_agent_waits_for_its_person(rookery: Rookery) -> None:
    rookery.start("worker")
    rookery.send("worker", REMOVE)
    eventually(lambda: is_doing(rookery, "permission"))

    shown = rookery.run("output", "worker").stdout
    screen = rookery.run("screen", "worker").stdout

    assert "… (it waits for you: May it use Bash? rm -r build)" in shown
    assert "Do you want to proceed?" in screen


@pytest.mark.spec("I5", "K4")
def test_what_is_over_or_idle_is_not_pressed(rookery: Rookery) -> None:
    rookery.start("worker")
    command = ["sh", "-c", "echo Oh no; exit 7"]
    rookery.client.post(
        "sessions", agent="shell", name="over", project=str(rookery.project), command=command
    )
    rookery.ended("over")

    idle = rookery.run("interrupt", "worker")
    refused = [
        rookery.run("interrupt", "over"),
        rookery.run("keys", "over", "1"),
        rookery.run("send", "over", "hello"),
    ]

    assert idle.returncode == 1
    assert "worker is idle; there is nothing to interrupt." in idle.stderr
    with rookery.database() as db:
        assert not db.execute("select 1 from entries where kind = 'keys-pressed'").fetchone()
    words = "The session has ended: over (failed: it exited with status 7)."
    assert all(words in each.stderr for each in refused)
    assert "Oh no" not in refused[0].stderr


@pytest.mark.spec("I5", "A3")
def test_why_a_session_failed_is_one_line_and_its_screen_is_in_the_output(
    rookery: Rookery,
) -> None:
    words = ["start", "-a", "shell", "-n", "bad", "--wait", "--"]
    started = rookery.run(*words, "sh", "-c", "echo Oh no; exit 7")

    shown = rookery.run("output", "bad").stdout

    hint = "Its last screen:  rookery output bad"
    assert started.stdout == f"bad failed: it exited with status 7: Oh no. {hint}\n"
    assert shown.endswith(
        "bad failed: it exited with status 7; its screen ended with:\nOh no\n"
    )


@pytest.mark.spec("I5", "K4")
def test_a_command_line_in_quotes_is_no_program(rookery: Rookery) -> None:
    done = rookery.run("start", "-a", "shell", "--", "python3 -i")

    assert done.returncode == 2
    assert "leave out the quotes:  -- python3 -i" in done.stderr


@pytest.mark.spec("I5", "K4")
def test_the_doctor_looks_around_without_a_daemon(cold: Rookery) -> None:
    never = cold.run("doctor")
    cold.configure("[limits]\nnonsense = 1\n")
    broken = cold.run("doctor", "--json")

    checks = {each["name"]: each for each in json.loads(broken.stdout)["checks"]}
    assert (never.returncode, broken.returncode) == (3, 3)
    assert "it does not run" in never.stdout
    assert "tmux" in never.stdout
    assert checks["daemon"]["detail"] == "it does not run and cannot start: see config"
    assert "there is no key 'limits.nonsense'" in checks["config"]["detail"]


@pytest.mark.spec("I5", "K4")
def test_the_doctor_finds_a_damaged_database_without_a_daemon(rookery: Rookery) -> None:
    rookery.stop()
    well = rookery.run("doctor", "--json")
    rookery.home.database.write_bytes(b"no tables" * 1000)

    up, damaged = rookery.run("up"), rookery.run("doctor", "--json")

    assert _check(well, "database")["ok"] is True
    assert _check(damaged, "database")["ok"] is False
    assert "rookery restore FILE" in up.stderr
    assert f"mv '{rookery.home.database}'*" in up.stderr


def _check(done: subprocess.CompletedProcess[str], name: str) -> dict[str, object]:
    checks: list[dict[str, object]] = json.loads(done.stdout)["checks"]
    return next(each for each in checks if each["name"] == name)


@pytest.mark.spec("I5", "K3")
def test_the_doctor_names_words_that_may_not_have_arrived(rookery: Rookery) -> None:
    rookery.start("worker")
    rookery.ask("worker", f"say: {'long ' * 30}")
    rookery.stop()
    with closing(sqlite3.connect(rookery.home.database)) as db, db:
        db.execute("update messages set step = 'unsure', acknowledged_by = null")
    rookery.up()

    done = rookery.run("doctor")
    found = _check(rookery.run("doctor", "--json"), "unsure")

    (line,) = [each for each in done.stdout.splitlines() if "worker, 2" in each]
    assert done.returncode == 1
    assert line.endswith(f": say: {'long ' * 11}…")
    assert found["items"] == [line.strip()]


@pytest.mark.spec("I5")
def test_no_daemon_is_nothing_to_stop_and_its_home_is_named(cold: Rookery) -> None:
    down, listed = cold.run("down"), cold.run("ls")

    assert (down.returncode, down.stdout) == (
        0,
        "No daemon is running; there is nothing to stop.\n",
    )
    assert listed.returncode == 3
    assert str(cold.home.state) in listed.stderr


@pytest.mark.spec("I5", "A7")
def test_who_comes_back_is_told_of_their_sessions(rookery: Rookery) -> None:
    rookery.start("one")
    rookery.start("two")
    rookery.send("two", REMOVE)
    eventually(lambda: is_doing(rookery, "permission", "two"))
    rookery.stop()

    again = rookery.run("up", "--detach").stdout
    rookery.run("down")

    assert "2 sessions found again, 1 waits for you:" in again
    assert "--agent demo" not in again


@pytest.mark.spec("I5")
def test_events_have_names_and_can_be_read_without_following(rookery: Rookery) -> None:
    rookery.start("worker")
    rookery.ask("worker", "say: hello")
    rookery.run("rename", "worker", "other")

    everything = rookery.run("events", "--no-follow").stdout.splitlines()
    late = rookery.run("events", "--no-follow", "--after", "2", "--json").stdout.splitlines()

    assert len(everything) == len(late) + 2
    assert [json.loads(line)["seq"] for line in late] == list(range(3, len(everything) + 1))
    assert all(" other " in line for line in everything)
    assert [line for line in everything if "turn-started        say: hello" in line]


@pytest.mark.spec("I5")
def test_following_events_begins_with_a_line_that_one_understands(rookery: Rookery) -> None:
    rookery.start("worker")
    with begun(rookery, "events") as events:
        assert events.stdout
        first = events.stdout.readline()
        rookery.send("worker", "say: hello")
        second = events.stdout.readline()

    assert first.startswith("1 session. Events after entry ")
    assert second.split()[2:] == ["worker", "message-written", "person"]


@pytest.mark.spec("I5")
def test_a_minted_secret_stands_alone(rookery: Rookery) -> None:
    made = rookery.run("token", "mint")
    status = rookery.run("status").stdout

    (secret,) = made.stdout.splitlines()
    assert secret.isascii()
    assert " " not in secret
    assert "it is not shown again" in made.stderr
    assert f"HTTP {rookery.client.get('status')['url']}" in status


@pytest.mark.spec("I5")
def test_what_answers_something_answers_in_json_too(rookery: Rookery) -> None:
    copy = rookery.folder / "copy.db"
    token = rookery.json("token", "mint")["token"]["id"]
    rookery.json("backup", str(copy))
    again = rookery.run("backup", str(copy))

    revoked = rookery.json("token", "revoke", token)
    down = rookery.json("down")
    rookery.reap()
    restored = [rookery.json("restore", str(copy)) for _ in range(2)]

    assert f"{copy} already exists" in again.stderr
    assert revoked == {"revoked": token}
    assert down["stopped"]["home"] == str(rookery.home.state)
    assert len({each["kept"] for each in restored}) == 2
    assert all(os.path.exists(each["kept"]) for each in restored)  # noqa: PTH110 - from JSON
    assert rookery.json("config", "path") == {"file": str(rookery.home.settings)}
    assert rookery.json("config", "check")["exists"] is False


@pytest.mark.spec("I5")
def test_a_restored_database_brings_no_tokens_back(rookery: Rookery) -> None:
    copy = rookery.folder / "copy.db"
    own, made = rookery.home.token.read_text(), rookery.json("token", "mint")["secret"]
    rookery.run("backup", str(copy))
    rookery.stop()

    done = rookery.run("restore", str(copy))
    rookery.up()

    assert "All tokens are invalid" in done.stdout
    for secret in (own, made):
        with pytest.raises(Answered, match="not valid"):
            rookery.client_of(secret).get("status")
    assert rookery.client_of(rookery.home.token.read_text()).get("status")


@pytest.mark.spec("I5", "K4")
def test_settings_of_an_agent_that_nobody_knows_are_refused(cold: Rookery) -> None:
    cold.configure('[agents.cluade]\ncommand = ["x"]\n')

    done = cold.run("config", "check")

    assert done.returncode == 2
    assert "[agents.cluade]. Did you mean claude?" in done.stderr


@pytest.mark.spec("I5")
def test_a_shell_completes_the_names_of_sessions_and_agents(rookery: Rookery) -> None:
    rookery.start("hello")
    rookery.start("world")

    sessions = completed(rookery, "rookery send h", 2)
    agents = completed(rookery, "rookery start --agent c", 3)
    rookery.stop()
    nobody = completed(rookery, "rookery send h", 2)

    assert sessions.stdout.split() == ["plain,hello"]
    assert agents.stdout.split() == ["plain,claude", "plain,codex"]
    assert (nobody.stdout.split(), nobody.stderr, nobody.returncode) == ([], "", 0)


def completed(rookery: Rookery, line: str, word: int) -> subprocess.CompletedProcess[str]:
    """Ask what bash asks when somebody presses Tab."""
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(word)}
    return subprocess.run(
        [sys.executable, "-c", "from rookery.cli import main; main()"],
        env={**rookery.environment, **asked, "_ROOKERY_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.spec("I5")
def test_a_configuration_that_was_broken_meanwhile_is_said_before_it_is_needed(
    cold: Rookery,
) -> None:
    cold.up()
    cold.configure("[[[broken")

    doctor, down = cold.run("doctor"), cold.run("down")
    cold.reap()

    assert "look  config" in doctor.stdout
    assert down.returncode == 0
    assert "The next `rookery up` will fail:" in down.stderr
