"""Agents together, by command: who waits for whom, who talks, what waits, what goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.model.errors import Answered
from rookery.presentation.deliveries import HELD
from tests.support.real.http import badge_of
from tests.support.real.rookery import SOON, Rookery, eventually
from tests.support.real.turns import turns
from tests.support.real.typed import are_waiting, begun

pytestmark = pytest.mark.real

STRANGER = "0f8a3c1e-58d4-4b5e-9a53-0c8de7d2a111"


@pytest.fixture
def three(rookery: Rookery) -> Rookery:
    """Have Anna, Bert and Cleo up."""
    for name in ("anna", "bert", "cleo"):
        rookery.start(name)
    return rookery


def prompts(rookery: Rookery, name: str) -> list[str]:
    return [turn["prompt"] for turn in turns(rookery, name)]


def within(rookery: Rookery, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Type a command as the agent of a session does."""
    return subprocess.run(
        [sys.executable, "-m", "rookery", *words],
        env={**rookery.environment, "ROOKERY_BADGE": badge_of(rookery, name)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=rookery.project,
    )


@pytest.mark.spec("E1", "E2", "I5")
def test_who_listens_is_told_in_its_own_pane_once(three: Rookery) -> None:
    said = three.run("listen", "bert", "--for", "anna").stdout
    again = three.run("listen", "bert", "--for", "anna")
    waiting = three.run("listen").stdout

    three.ask("bert", "say: built")
    eventually(lambda: turns(three, "anna"))
    three.ask("bert", "say: once more")

    assert said == "anna waits for bert to stop.\n"
    assert (again.returncode, again.stdout) == (1, "bert: it waits for that one already\n")
    assert waiting.startswith("anna waits for bert to stop; since ")
    assert "finished its turn" in three.screen("anna")
    assert three.run("listen").stdout == "No session waits for another.\n"
    assert len(turns(three, "anna")) == 1


@pytest.mark.spec("E7", "I5")
def test_who_listens_to_several_is_told_once_of_all_of_them(three: Rookery) -> None:
    three.run("listen", "bert", "cleo", "--for", "anna", "--all", "--timeout", "600")
    waiting = three.run("listen").stdout.splitlines()

    three.ask("bert", "say: one")
    early, later = turns(three, "anna"), three.run("listen").stdout
    three.ask("cleo", "say: two")
    eventually(lambda: turns(three, "anna"))

    (told,) = prompts(three, "anna")
    assert early == []
    assert told.count("finished its turn") == 2
    assert len(waiting) == 2
    assert all(" to stop, told once all 2 are there or at " in each for each in waiting)
    assert later.startswith("anna waits for cleo to stop, told once all 2 are there (1 so far)")


@pytest.mark.spec("E7", "I5")
def test_who_closes_a_ring_of_waiting_sessions_is_told_so(three: Rookery) -> None:
    three.send("bert", "sleep: 60")
    three.run("listen", "anna", "--for", "bert")

    said = three.run("listen", "bert", "--for", "anna").stdout

    ring = "These sessions now wait for each other:  anna → bert → anna\n"
    assert said == f"anna waits for bert to stop.\n{ring}"


@pytest.mark.spec("E3", "I5")
def test_who_stops_listening_is_told_nothing(three: Rookery) -> None:
    three.run("listen", "bert", "--for", "anna", "--repeat")
    stopped = three.run("listen", "--stop", "bert", "--for", "anna").stdout
    none = three.json("listen", "--stop", "bert", "--for", "anna")

    three.ask("bert", "say: built")
    three.ask("anna", "say: after")

    assert stopped == "anna no longer waits for bert.\n"
    assert none == {"stopped": {"bert": False}}
    assert prompts(three, "anna") == ["say: after"]


@pytest.mark.spec("E4")
@pytest.mark.parametrize("survive", ["true", "false"])
def test_a_restart_keeps_the_listeners_unless_it_is_set_to_drop_them(
    cold: Rookery, survive: str
) -> None:
    cold.configure(f"[listeners]\nsurvive_restart = {survive}")
    cold.up()
    for name in ("anna", "bert"):
        cold.start(name)
    cold.run("listen", "bert", "--for", "anna")

    cold.stop()
    cold.up()

    waiting = cold.json("listen")["listeners"]
    cold.ask("bert", "say: built")
    cold.ask("anna", "say: after")
    told = [each for each in prompts(cold, "anna") if "finished its turn" in each]
    assert (len(waiting), len(told)) == ((1, 1) if survive == "true" else (0, 0))


@pytest.mark.spec("E1", "I5", "K5")
def test_an_agent_listens_for_itself_and_a_person_says_for_whom(rookery: Rookery) -> None:
    rookery.start("anna")
    rookery.client_of(badge_of(rookery, "anna")).post(
        "sessions", agent="demo", name="child", project=str(rookery.project)
    )
    rookery.run("wait", "child", "--until", "up")

    nobody = rookery.run("listen", "child")
    own = within(rookery, "anna", "listen", "child")
    other = within(rookery, "anna", "listen", "child", "--for", "child")

    assert nobody.returncode == 2
    assert "--for SESSION" in nobody.stderr
    assert (own.returncode, own.stdout) == (0, "This session waits for child to stop.\n")
    assert other.returncode == 1
    assert [each["caller"] for each in rookery.json("listen")["listeners"]] == [
        rookery.session("anna")["id"]
    ]


@pytest.mark.spec("F1", "F2", "F4", "I5")
def test_a_relay_is_held_shown_and_let_go_again(three: Rookery) -> None:
    made = three.json("relay", "anna", "bert", "--as", "Ann", "--max-hops", "2")
    held = three.run("hold").stdout
    sent = three.run("send", "anna", "say: Hello Bert").stdout
    three.run("release")
    eventually(lambda: len(turns(three, "anna")) == 2)
    three.run("hold")
    three.run("wait", "anna", "bert")
    shown = three.run("relay", "show", made["id"][:6]).stdout
    listed = three.run("relay").stdout

    three.run("release")
    three.run("send", "anna", "say: And again")
    eventually(lambda: "[Ann] (1):\n\nAnd again" in prompts(three, "bert"))

    assert held == f"{HELD}\n"
    assert sent == f"Queued (1). {HELD}\n"
    assert prompts(three, "bert")[0] == "[Ann] (1):\n\nHello Bert"
    assert prompts(three, "anna")[1] == "[bert] (2):\n\nEcho: Hello Bert"
    assert "  1. Ann: anna\n  2. bert: bert\n" in shown
    assert "  [Ann] (1):\n    Hello Bert\n" in shown
    assert "  [bert] (2):\n    Echo: Hello Bert\n" in shown
    assert "went no further: 2 relayed answers in a row" in shown
    assert listed.startswith(f"{made['id']}  open since ")


@pytest.mark.spec("F4", "I5")
def test_what_is_held_keeps_quiet_and_everybody_says_so(three: Rookery) -> None:
    relay = three.json("relay", "anna", "bert")["id"]
    three.run("send", "anna", "sleep: 2;; say: Hello Bert")
    eventually(lambda: three.session("anna")["activity"] == "working")

    three.run("hold")
    eventually(lambda: three.session("anna")["activity"] == "idle")
    shown = three.run("relay", "show", relay).stdout
    inbox = three.run("inbox").stdout
    of_cleo = three.run("inbox", "cleo").stdout
    listed, status = three.run("ls"), three.run("status").stdout
    quiet = turns(three, "bert")
    three.run("release")
    eventually(lambda: turns(three, "bert"))

    assert quiet == []
    assert "    (bert has not received it yet)\n" in shown
    assert f"to bert, from relay {relay}, " in inbox
    assert " ago: waits, deliveries are on hold.\n" in inbox
    assert of_cleo == f"{HELD}\nNo messages wait.\n"
    assert listed.stderr == f"{HELD}\n"
    assert listed.stdout.startswith("NAME")
    assert HELD in status
    assert three.json("status")["holding"] is False
    assert HELD not in three.run("ls").stderr


@pytest.mark.spec("F1", "F4", "I5")
def test_members_come_and_go_and_a_relay_is_closed(three: Rookery) -> None:
    relay = three.json("relay", "new", "anna", "bert")["id"]

    joined = three.run("relay", "join", relay, "cleo", "--as", "C").stdout
    left = three.run("relay", "leave", relay, "bert").stdout
    closed = three.run("relay", "close", relay).stdout
    unknown = three.run("relay", "show", "nothing")
    alone = three.run("relay", "anna")

    assert joined == f"anna, bert, C talk in relay {relay}.\n"
    assert left == f"bert has left relay {relay}; anna, C stay.\n"
    assert closed == f"Relay {relay} is closed by you.\n"
    assert three.run("relay", "ls", "cleo").stdout.startswith(f"{relay}  closed since ")
    assert (unknown.returncode, alone.returncode) == (5, 2)
    assert "rookery relay ls" in unknown.stderr


@pytest.mark.spec("E6", "I5")
def test_an_inbox_has_what_never_arrived(three: Rookery) -> None:
    three.run("send", "bert", "sleep: 60")
    eventually(lambda: three.session("bert")["activity"] == "working")
    three.run("send", "bert", "say: too late")
    waiting = three.run("inbox").stdout
    three.run("end", "bert")

    lost = three.json("inbox", "bert")["letters"]

    why = "it is working; the message is delivered when it stops."
    assert f": waits, {why}\n    say: too late\n" in waiting
    assert [(each["words"], each["step"]) for each in lost] == [("say: too late", "failed")]


@pytest.mark.spec("E7", "I5")
def test_of_several_each_is_told_of_as_it_gets_there(three: Rookery) -> None:
    for name in ("anna", "bert", "cleo"):
        three.send(name, "sleep: 60")
        eventually(lambda: three.session(name)["activity"] == "working")  # noqa: B023 - now
    with begun(three, "wait", "anna", "bert", "cleo") as wait:
        assert wait.stdout
        three.run("interrupt", "cleo")
        first = wait.stdout.readline()
        still = wait.poll()
        three.run("interrupt", "anna")
        three.run("interrupt", "bert")
        rest, _ = wait.communicate(timeout=SOON)

    assert first.startswith("cleo is idle")
    assert still is None
    assert sorted(line.split()[0] for line in rest.splitlines()) == ["anna", "bert"]
    assert wait.returncode == 0


@pytest.mark.spec("E7", "I5")
def test_some_of_several_may_be_enough_or_late_or_fail(three: Rookery) -> None:
    three.send("cleo", "sleep: 60")
    eventually(lambda: three.session("cleo")["activity"] == "working")

    some = three.json("wait", "bert", "cleo", "--any")
    late = three.run("wait", "anna", "bert", "cleo", "--timeout", "0.5")
    three.send("bert", "fail: no model")
    failed = three.run("wait", "anna", "bert", "cleo", "--count", "2")
    unknown = three.run("wait", "anna", "nobody")

    assert [each["name"] for each in some["sessions"]] == ["bert"]
    assert late.returncode == 4
    assert "cleo is working" in late.stderr
    assert failed.returncode == 1
    assert "bert is idle; its last turn failed." in failed.stdout
    assert unknown.returncode == 5


@pytest.mark.spec("A7", "E7", "I5")
def test_whoever_waits_for_several_goes_on_over_a_restart(three: Rookery) -> None:
    for name in ("anna", "bert"):
        three.send(name, "sleep: 60")
        eventually(lambda: three.session(name)["activity"] == "working")  # noqa: B023 - now
    with begun(three, "wait", "anna", "bert") as wait:
        eventually(lambda: are_waiting(three, 1))
        three.kill()
        three.up()
        three.run("interrupt", "anna")
        three.run("interrupt", "bert")
        told, _ = wait.communicate(timeout=SOON)

    assert sorted(line.split()[0] for line in told.splitlines()) == ["anna", "bert"]
    assert wait.returncode == 0


@pytest.mark.spec("E7", "I1")
def test_one_request_waits_for_all_or_so_many(three: Rookery) -> None:
    three.send("cleo", "sleep: 60")
    eventually(lambda: three.session("cleo")["activity"] == "working")
    names = ("anna", "bert", "cleo")

    two = three.client.get("wait", sessions=names, needed=2, timeout=SOON)
    with pytest.raises(Answered) as late:
        three.client.get("wait", sessions=names, timeout=0.2)
    ended = three.client.get("wait", sessions=("cleo",), until="up", timeout=SOON)

    assert [each["name"] for each in two["there"]] == ["anna", "bert"]
    assert [each["name"] for each in two["awaited"]] == ["cleo"]
    assert late.value.code == "still-working"
    assert [each["name"] for each in ended["there"]] == ["cleo"]


@pytest.mark.spec("I5")
def test_a_tree_shows_children_below_their_parents(rookery: Rookery) -> None:
    rookery.start("anna")
    project = str(rookery.project)
    anna = rookery.client_of(badge_of(rookery, "anna"))
    anna.post("sessions", agent="demo", name="child", project=project)
    rookery.start("bert")
    rookery.run("wait", "child", "--until", "up")

    rows = rookery.run("ls", "--tree").stdout.splitlines()[1:]

    assert [row.split("  demo")[0].rstrip() for row in rows] == ["anna", "  child", "bert"]
    trees, lists = (rookery.json("ls", *words)["sessions"] for words in (["--tree"], []))
    assert [each["id"] for each in trees] == [each["id"] for each in lists]


@pytest.mark.spec("A10", "I5")
def test_a_session_that_is_over_goes_on_as_a_new_one(rookery: Rookery) -> None:
    old = rookery.start("anna", permission_mode="plan")
    rookery.ask("anna", "say: before")
    alive = rookery.run("resume", "anna")
    rookery.run("end", "anna")
    rookery.kill()
    rookery.up()

    new = rookery.json("resume", "anna", "--wait", "say: after")
    again = rookery.run("resume", old["id"])

    assert alive.returncode == 1
    assert "rookery end anna" in alive.stderr
    kept = ("agent", "project_path", "model", "permission_mode", "native_id", "name")
    assert {each: new[each] for each in kept} == {each: old[each] for each in kept}
    assert (new["continues"], new["id"] != old["id"]) == (old["id"], True)
    assert [turn["answer"] for turn in turns(rookery, new["id"])] == ["after"]
    lines = Path(new["transcript_path"]).read_text(encoding="utf-8").splitlines()
    said = [each["text"] for each in map(json.loads, lines) if each["type"] == "assistant"]
    assert said == ["before", "after"]
    assert again.returncode == 1
    assert "anna is still running in this conversation." in again.stderr


@pytest.mark.spec("A10", "I5", "K5")
def test_what_cannot_go_on_says_why_and_what_to_do(rookery: Rookery) -> None:
    rookery.start("anna")
    rookery.start("terminal", agent="shell", command=["sh"])
    where = ("--agent", "demo", "--project", ".")

    branched = rookery.run("fork", "anna")
    shell = rookery.run("resume", "terminal")
    unknown = rookery.run("resume", "nobody", *where)
    stranger = rookery.run("resume", STRANGER)
    known = rookery.run("resume", "anna", *where)
    by_agent = within(rookery, "anna", "resume", STRANGER, *where)
    met = rookery.json("resume", STRANGER, *where, "--name", "met", "--wait")

    assert "demo cannot branch" in branched.stderr
    assert "terminal has no turn" in shell.stderr
    assert unknown.returncode == 5
    assert (stranger.returncode, known.returncode) == (2, 2)
    assert "--agent NAME --project FOLDER" in stranger.stderr
    assert "Not permitted" in by_agent.stderr
    assert (met["native_id"], met["continues"], met["status"]) == (STRANGER, None, "running")


@pytest.mark.spec("A10", "I5", "K5")
def test_an_agent_starts_resumes_and_waits_for_its_own(rookery: Rookery) -> None:
    rookery.start("anna")

    begun = within(rookery, "anna", "start", "-a", "demo", "-n", "child", "say: before")
    rookery.run("wait", "child")
    rookery.run("end", "child")
    resumed = within(rookery, "anna", "resume", "child", "--wait", "say: after")

    assert (begun.stderr, resumed.stdout) == ("", "after\n")
    assert rookery.session("child")["parent"] == rookery.session("anna")["id"]
    assert [turn["answer"] for turn in turns(rookery, "child")] == ["after"]


@pytest.mark.spec("A3", "A10")
def test_a_resumption_under_one_key_happens_once(rookery: Rookery) -> None:
    rookery.start("anna")
    rookery.run("end", "anna")

    answers = [
        rookery.post("/v1/sessions/anna/resume", {"prompt": "say: x"}, key="k") for _ in "ab"
    ]

    assert [status for status, _ in answers] == [200, 200]
    assert answers[0] == answers[1]
    assert len(rookery.json("ls", "--all")["sessions"]) == 2
