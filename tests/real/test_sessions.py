"""What a person does with Rookery all day, on a real daemon, a real tmux and the demo agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.real.rookery import Rookery, eventually

pytestmark = pytest.mark.real


@pytest.mark.spec("A3", "I5")
def test_a_session_is_started_asked_read_and_ended(rookery: Rookery) -> None:
    started = rookery.run("start", "--agent", "demo", "--name", "hello", "--wait", "say: Hello")
    answer = rookery.run("ask", "hello", "say: It is me.")
    turns = rookery.json("output", "hello")["turns"]
    ended = rookery.run("end", "hello")

    assert started.stdout == "Hello\n"
    assert "hello is idle" in started.stderr
    assert answer.stdout == "It is me.\n"
    assert [(turn["prompt"], turn["answer"]) for turn in turns] == [
        ("say: Hello", "Hello"),
        ("say: It is me.", "It is me."),
    ]
    assert all(turn["started_at"] <= turn["ended_at"] for turn in turns)
    assert ended.stdout == "hello was ended.\n"


@pytest.mark.spec("A1", "B1")
def test_a_session_tells_what_it_is(rookery: Rookery) -> None:
    rookery.run("start", "--agent", "demo", "--wait", "Please fix the login page, quickly!")

    (session,) = rookery.json("ls")["sessions"]

    assert session["name"] == "fix-login-page"
    assert session["title"] == "Please fix the login page, quickly!"
    assert session["agent"] == "demo"
    assert session["runtime"] == "tmux"
    assert (session["status"], session["activity"]) == ("running", "idle")
    assert session["project_path"] == str(rookery.project.resolve())
    assert session["tmux_session"] == f"rk_{session['id'][:8]}"
    assert session["native_id"] == session["id"]
    assert session["owner"] == "person"
    assert session["created_at"] <= session["started_at"] <= session["last_activity_at"]
    size = rookery.tmux(
        "display-message", "-p", "-t", session["tmux_pane"], "#{window_width}x#{window_height}"
    )
    assert size.strip() == "200x50"


@pytest.mark.spec("A2")
def test_the_activity_follows_the_agent(rookery: Rookery) -> None:
    rookery.start("busy")

    rookery.send("busy", "sleep: 0.3;; permission: Bash rm -rf build;; say: Gone.")
    eventually(lambda: rookery.session("busy")["activity"] == "working")
    eventually(lambda: rookery.session("busy")["activity"] == "permission")
    reason = rookery.session("busy")["reason"]
    rookery.tmux("send-keys", "-t", rookery.session("busy")["tmux_pane"], "1")
    eventually(lambda: rookery.session("busy")["activity"] == "idle")

    assert reason == "May it use Bash? rm -rf build"
    assert rookery.json("output", "busy")["turns"][-1]["answer"] == "Gone."


@pytest.mark.spec("A4")
def test_ending_twice_is_a_success_that_does_nothing(rookery: Rookery) -> None:
    rookery.start("twice")

    first, second = rookery.json("end", "twice"), rookery.json("end", "twice")

    assert first["status"] == "killed"
    assert first["ended_by"] == "person"
    assert second == first


@pytest.mark.spec("A4")
def test_ending_all_leaves_nothing_behind(rookery: Rookery) -> None:
    for name in ("one", "two", "three"):
        rookery.start(name)

    ended = rookery.json("end", "--all", "--yes")["sessions"]

    assert sorted(each["name"] for each in ended) == ["one", "three", "two"]
    eventually(lambda: rookery.tmux("list-sessions", "-F", "#S").split() == ["rookery"])


@pytest.mark.spec("A4")
def test_what_was_on_the_screen_stays_readable_after_the_end(rookery: Rookery) -> None:
    session = rookery.start("diary")
    rookery.ask("diary", "say: These are my last words.")

    rookery.run("end", "diary")

    kept = rookery.home.artifacts / f"{session['id']}.txt"
    eventually(kept.exists)
    eventually(lambda: "These are my last words." in kept.read_text())
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.spec("A6", "B4")
@pytest.mark.parametrize(
    ("step", "status", "reason"),
    [
        ("exit: 0", "completed", "it exited with status 0"),
        ("exit: 3", "failed", "it exited with status 3"),
        ("crash:", "failed", "it was killed by SIGKILL"),
    ],
)
def test_how_a_program_ended_is_known(
    rookery: Rookery, step: str, status: str, reason: str
) -> None:
    rookery.start("mortal")

    rookery.send("mortal", step)
    session = rookery.ended("mortal", within=5.0)

    assert session["status"] == status
    assert session["reason"].startswith(reason)
    assert session["ended_by"] == "itself"


@pytest.mark.spec("A6", "A5")
@pytest.mark.parametrize("how", ["kill-session", "kill-window", "kill-pane", "kill-server"])
def test_a_pane_that_is_taken_away_is_noticed(rookery: Rookery, how: str) -> None:
    session = rookery.start("robbed")
    target = [] if how == "kill-server" else ["-t", session["tmux_pane"]]
    rookery.tmux(how, *target)

    over = rookery.ended("robbed", within=10.0)
    again = rookery.start("next")

    assert over["status"] == "failed"
    assert again["status"] == "running"


@pytest.mark.spec("A3")
def test_an_agent_that_never_comes_up_fails_and_leaves_nothing(cold: Rookery) -> None:
    cold.configure(
        "[limits]\nstart_deadline = 1.5\n"
        '[agents.demo]\narguments = ["--startup-delay", "600"]\n'
    )
    cold.up()

    done = cold.run("start", "--agent", "demo", "--name", "late", "--wait")

    assert done.returncode == 1
    assert "did not come up within 1.5 s" in done.stdout
    assert "Starting" in cold.run("output", "late").stdout
    eventually(lambda: cold.tmux("list-sessions", "-F", "#S").split() == ["rookery"])


@pytest.mark.spec("A3")
def test_a_program_that_dies_at_once_says_why(rookery: Rookery) -> None:
    rookery.run(
        "start",
        "--agent",
        "shell",
        "--name",
        "bad",
        "--",
        "/bin/sh",
        "-c",
        "echo Oh no; exit 7",
    )

    session = rookery.ended("bad")

    assert session["status"] == "failed"
    assert "it exited with status 7" in session["reason"]
    assert "Oh no" in session["reason"]


@pytest.mark.spec("A1")
def test_names_are_unique_among_the_living(rookery: Rookery) -> None:
    rookery.start("twin")
    taken = rookery.run("start", "--agent", "demo", "--name", "twin")
    made = [rookery.json("start", "--agent", "demo", "say: hi there")["name"] for _ in range(2)]
    rookery.run("end", "twin")

    again = rookery.start("twin")

    assert taken.returncode == 1
    assert "already has the name 'twin'" in taken.stderr
    assert made == ["say-hi", "say-hi-2"]
    assert again["status"] == "running"


@pytest.mark.spec("A3", "K4")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--agent", "nobody"], "There are: claude, codex"),
        (["--agent", "demo", "--project", "/no/such/folder"], "not an existing folder"),
        (["--agent", "demo", "--project", "/etc/hostname"], "not an existing folder"),
        (["--agent", "demo", "--name", "a/b"], "A name has letters"),
        (["--agent", "demo", "--name", ".."], "A name has letters"),
        (["--agent", "demo", "--runtime", "moon"], "it has: tmux"),
        (["--agent", "shell", "--", "/no/such/program"], "was not found"),
    ],
)
def test_a_start_that_cannot_be_is_refused_with_what_to_do(
    served: Rookery, words: list[str], complaint: str
) -> None:
    done = served.run("start", *words)

    assert done.returncode == 2
    assert complaint in done.stderr
    assert served.json("ls", "--all")["sessions"] == []


@pytest.mark.spec("A3")
def test_there_are_at_most_as_many_sessions_as_allowed(cold: Rookery) -> None:
    cold.configure("[limits]\ntmux_sessions = 1\n")
    cold.up()
    cold.start("one")

    done = cold.run("start", "--agent", "demo", "--name", "two")

    assert done.returncode == 1
    assert "limits.tmux_sessions" in done.stderr


@pytest.mark.spec("A3")
def test_a_retry_with_the_same_key_is_the_same_command(rookery: Rookery) -> None:
    body = {"agent": "demo", "name": "once", "project": str(rookery.project)}

    first = rookery.post("/v1/sessions", body, key="k1")
    second = rookery.post("/v1/sessions", body, key="k1")
    other = rookery.post("/v1/sessions", {**body, "name": "else"}, key="k1")

    assert first[0] == second[0] == 200
    assert first[1]["id"] == second[1]["id"]
    assert other[0] == 409
    assert len(rookery.json("ls")["sessions"]) == 1


@pytest.mark.spec("A3", "K5")
def test_a_session_runs_in_the_users_environment_and_its_badge_is_nowhere_else(
    rookery: Rookery, tmp_path: Path
) -> None:
    rookery.environment["SSH_AUTH_SOCK"] = "/run/agent"
    rookery.environment["ANTHROPIC_BASE_URL"] = "http://evil.example"
    program = "import json,os;json.dump(dict(os.environ),open('seen.json','w'));input()"
    rookery.run(
        "start", "--agent", "shell", "--name", "env", "--wait", "--", "python3", "-c", program
    )
    seen_file = rookery.project / "seen.json"
    eventually(seen_file.exists)
    eventually(lambda: seen_file.read_text().endswith("}"))

    seen = json.loads(seen_file.read_text())

    assert seen["SSH_AUTH_SOCK"] == "/run/agent"
    assert seen["HOME"] == str(rookery.folder)
    assert "ANTHROPIC_BASE_URL" not in seen
    assert "UTF-8" in seen.get("LC_ALL", seen["LANG"])
    assert seen["ROOKERY_HOME"] == str(rookery.home.state)
    assert seen["ROOKERY_SESSION"] == rookery.session("env")["id"]
    badge = seen["ROOKERY_BADGE"]
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert badge.encode() not in line.read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
    assert badge.encode() not in rookery.home.database.read_bytes()
    assert badge not in rookery.home.log.read_text()
    assert badge not in rookery.tmux("show-environment", "-g")


@pytest.mark.spec("A4", "I5")
def test_a_session_of_a_run_is_not_ended_by_the_person(rookery: Rookery) -> None:
    assert rookery.run("run", "demo", "--name", "job", "say: Hello").stdout == "Hello\n"

    rookery.run("wait", "job", "--until", "end")

    assert "ended when its run was done" in rookery.run("why", "job").stdout
