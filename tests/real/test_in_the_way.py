"""What is in the way of words, and what is not there: said to whoever wonders."""

from __future__ import annotations

import pytest

from rookery.cli.exit_codes import PERSON_NEEDED
from rookery.model.errors import Answered
from rookery.presentation.deliveries import HELD
from tests.support.real.http import badge_of
from tests.support.real.rookery import Rookery, eventually
from tests.support.real.typed import REMOVE, begun, is_doing

pytestmark = pytest.mark.real


@pytest.mark.spec("F4", "I5")
def test_whoever_waits_behind_a_hold_is_told_so_and_so_is_who_asks_the_doctor(
    rookery: Rookery,
) -> None:
    rookery.start("worker")
    well = rookery.run("doctor").stdout
    rookery.run("hold")
    rookery.run("send", "worker", "say: hello")

    late = rookery.run("wait", "worker", "--timeout", "5")
    sick = rookery.run("doctor")
    with begun(rookery, "wait", "worker") as wait:
        assert wait.stderr
        meanwhile = wait.stderr.readline()
        rookery.run("release")
        rest, _ = wait.communicate(timeout=60)

    assert "messages are delivered" in well
    assert late.returncode == 4
    early, end = late.stderr.splitlines()
    assert early == HELD
    assert end.endswith(
        "worker is idle; messages for it are held (`rookery release` delivers them)."
    )
    assert sick.returncode == 1
    assert "look  hold            deliveries are on hold since 2" in sick.stdout
    assert ": no message is sent to any session\n      rookery release\n" in sick.stdout
    assert meanwhile == f"{HELD}\n"
    assert (wait.returncode, rest.startswith("worker is idle.")) == (0, True)


@pytest.mark.spec("E6", "I5")
def test_whoever_waits_behind_somebodys_draft_is_told_so(rookery: Rookery) -> None:
    pane = str(rookery.start("worker")["tmux_pane"])
    rookery.start("other")
    rookery.tmux("send-keys", "-t", pane, "-l", "a draft")
    eventually(lambda: "a draft" in rookery.screen("worker"))
    message = rookery.send("worker", "say: hello")
    eventually(lambda: rookery.step(message)[1])

    late = rookery.run("wait", "worker", "other", "--timeout", "5")
    with pytest.raises(Answered) as refused:
        rookery.client.get("sessions", "worker", "wait", timeout=0.1)

    why = "there is unsent text in its input box."
    assert late.returncode == 4
    assert late.stderr.startswith(f"Messages for worker wait: {why}\n")
    assert late.stderr.endswith(f": worker is idle; messages for it wait: {why}\n")
    assert str(refused.value).endswith(f": worker is idle; messages for it wait: {why}")


@pytest.mark.spec("E6", "I5")
def test_a_wait_with_queued_words_is_over_when_a_dialog_is_open(rookery: Rookery) -> None:
    rookery.start("worker")
    rookery.send("worker", REMOVE)
    eventually(lambda: is_doing(rookery, "permission"))
    rookery.send("worker", "say: after")

    waited = rookery.run("wait", "worker", "--timeout", "60")
    kept = rookery.json("ls")["kept"]

    assert waited.returncode == PERSON_NEEDED
    assert "worker waits for your answer: May it use Bash? rm -r build" in waited.stdout
    (asked,) = rookery.client.get("permissions")["requests"]
    assert f"rookery allow {asked['id']}  |  rookery deny {asked['id']}" in waited.stdout
    why = "it asks for permission"
    blocked = {"code": "permission", "detail": why}
    (found,) = kept.values()
    assert found == {"messages": 1, "why": why, "obstacle": why, "blocked": blocked}


@pytest.mark.spec("A2", "E6")
def test_a_list_says_why_words_wait(rookery: Rookery) -> None:
    pane = str(rookery.start("drafted")["tmux_pane"])
    rookery.tmux("send-keys", "-t", pane, "-l", "a draft")
    eventually(lambda: "a draft" in rookery.screen("drafted"))
    rookery.start("busy")
    rookery.send("busy", "sleep: 600")
    eventually(lambda: rookery.session("busy")["activity"] == "working")
    for name in ("drafted", "busy", "busy"):
        rookery.send(name, "say: hello")

    def why() -> dict[str, tuple[int, str]]:
        found = rookery.json("ls")
        names = {each["id"]: each["name"] for each in found["sessions"]}
        return {
            names[session]: (kept["messages"], kept["why"])
            for session, kept in found["kept"].items()
        }

    eventually(lambda: why()["drafted"][1])
    listed = rookery.run("ls").stdout

    assert why()["drafted"] == (
        1,
        "Nothing was typed, because there is unsent text in its input box.",
    )
    assert why()["busy"] == (2, "it is working")
    assert "1 message waits: there is unsent text" in listed
    assert "2 messages wait" in listed


@pytest.mark.spec("I1", "I5")
@pytest.mark.parametrize(
    "words",
    [
        ("session", "send", "nobody", "hello"),
        ("relay", "relay", "show", "nothing"),
        ("request", "allow", "nothing"),
        ("token", "token", "revoke", "nothing"),
    ],
    ids=lambda words: words[0],
)
def test_what_is_unknown_has_one_exit_code(served: Rookery, words: tuple[str, ...]) -> None:
    done = served.run(*words[1:])

    assert done.returncode == 5
    assert "'nothing'" in done.stderr or "nobody" in done.stderr


@pytest.mark.spec("F1", "I5")
def test_people_read_names_and_no_ids(rookery: Rookery) -> None:
    rookery.start("anna")
    anna = rookery.client_of(badge_of(rookery, "anna"))
    anna.post("sessions", agent="demo", name="child", project=str(rookery.project))
    rookery.run("wait", "child", "--until", "up")
    members = [{"session": each, "name": ""} for each in ("anna", "child")]
    relay = anna.post("relays", members=members)["id"]
    rookery.run("hold")
    anna.post("sessions", "child", "messages", words="say: hello", listen=True)

    shown = rookery.run("relay", "show", relay).stdout
    inbox, waiting = rookery.run("inbox").stdout, rookery.run("listen").stdout
    anna.post("relays", relay, "close")
    closed = rookery.run("relay", "show", relay).stdout
    rookery.run("release")
    anna.post("sessions", "child", "end")
    rookery.run("wait", "child", "--until", "end")
    told, listed = rookery.run("events", "--no-follow").stdout, rookery.run("ls", "-a").stdout
    # The other session answers with an id.
    listed = next(line for line in listed.splitlines() if line.startswith("child"))

    assert ". By anna, at " in shown
    assert "to child, from anna, " in inbox
    assert waiting.startswith("anna waits for child to stop")
    assert "(closed by anna)" in closed
    assert "ended by anna" in listed
    ids = [rookery.session(name)["id"] for name in ("anna", "child")]
    read = f"{shown}{inbox}{waiting}{closed}{listed}"
    assert not [each for each in ids if each in read]
    # What agents were told, and their files, have ids; who did something has a name.
    assert not [each for each in ids if f"session {each}" in told]
    assert "end-requested       anna\n" in told
