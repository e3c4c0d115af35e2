"""Hostile agents with a badge, other processes, web pages, careless people: all fail closed."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import pytest

from rookery.hook_setup import programs
from rookery.model.errors import Answered
from tests.support.real.http import badge_of
from tests.support.real.outsiders import outsider
from tests.support.real.rookery import SOON, Rookery, eventually
from tests.support.real.turns import turns

pytestmark = pytest.mark.real

#: A smuggled option is one word; what follows the name of an option is taken for its value.
OPTION = "--dangerously-skip-permissions"

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}'

#: What is no request, or none that can be carried out.
STRANGE = (
    b"",
    b"null",
    b"[]",
    b'"x"',
    b"\xff\xfe\x00",
    b"[" * 200_000,
    b'{"jsonrpc":"2.0","id":1}',
    b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":5}',
    b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":3,"arguments":[]}}',
    CALL % (b"send_message", b'{"session_id":"anna","message":"\\ud800"}'),
    CALL % (b"get_session_data", b'{"session_id":"anna","since":"0001-01-01T00:00+14:00"}'),
    CALL % (b"list_sessions", b'{"a":' * 150 + b"1" + b"}" * 150),
)


def refusal(rookery: Rookery, name: str, *path: str, **words: object) -> str:
    """Ask for something with the badge of a session; return why it is not done."""
    client = rookery.client_of(badge_of(rookery, name))
    with pytest.raises(Answered) as refused:
        client.post(*path, **words)
    return str(refused.value)


def bridge(rookery: Rookery, lines: bytes, badge: str = "") -> list[dict[str, Any]]:
    """Give an agent's bridge something to read; return what it answers, line by line."""
    done = subprocess.run(
        programs.mcp_argv(rookery.home),
        input=lines,
        env={"ROOKERY_BADGE": badge} if badge else {},
        capture_output=True,
        timeout=SOON,
        check=False,
    )
    assert done.stderr == b""
    return [json.loads(line) for line in done.stdout.splitlines()]


def log_of(rookery: Rookery) -> str:
    return rookery.home.log.read_text(encoding="utf-8")


@pytest.mark.spec("K5", "F4")
def test_who_was_taken_out_of_a_relay_neither_hears_nor_comes_back(rookery: Rookery) -> None:
    for name in ("anna", "bert", "cleo"):
        rookery.start(name)
    members = [{"session": name} for name in ("anna", "bert", "cleo")]
    relay = rookery.client.post("relays", members=members)["id"]
    anna = rookery.client_of(badge_of(rookery, "anna"))
    was_in = anna.get("relays", relay)["relay"]["id"]

    rookery.client.post("relays", relay, "leave", session="anna")

    assert was_in == relay
    with pytest.raises(Answered, match="does not exist, or the caller"):
        anna.get("relays", relay)
    with pytest.raises(Answered, match="family"):
        anna.get("sessions", "bert", "data")
    for path, words in (("join", {"session": "anna"}), ("close", {})):
        assert "does not exist, or the caller" in refusal(
            rookery, "anna", "relays", relay, path, **words
        )
    present = rookery.client.get("relays", relay)["relay"]["members"]
    assert [each["session"] for each in present if each["left_at"] is None] == [
        rookery.session(name)["id"] for name in ("bert", "cleo")
    ]


@pytest.mark.spec("K5")
def test_a_badge_learns_nothing_of_strangers_from_a_refusal(rookery: Rookery) -> None:
    rookery.start("anna")
    others = [rookery.start(name) for name in ("secret-one", "secret-two")]
    anna = rookery.client_of(badge_of(rookery, "anna"))

    said = []
    for word in ("secret", "secret-o", others[0]["id"][:6]):
        with pytest.raises(Answered) as refused:
            anna.get("sessions", word)
        said.append(str(refused.value))
        said.append(refusal(rookery, "anna", "listeners", "stop", target=word, caller=word))
        said.append(refusal(rookery, "anna", "permissions", "answer", permission=word,
                            decision="allow"))  # fmt: skip

    told = " ".join(said)
    assert [each["id"] for each in others if each["id"] in told] == []
    assert "secret-one" not in told
    assert "secret-two" not in told


@pytest.mark.spec("K5")
@pytest.mark.parametrize("prompt", ["permission: Bash ls", "question: Which?"])
def test_a_badge_cannot_tell_whether_a_request_of_a_stranger_exists(
    rookery: Rookery, prompt: str
) -> None:
    rookery.start("anna")
    rookery.start("stranger")
    rookery.send("stranger", prompt)
    eventually(lambda: bool(rookery.client.get("permissions")["requests"]))
    (request,) = rookery.client.get("permissions")["requests"]
    anna = rookery.client_of(badge_of(rookery, "anna"))

    said = []
    for known in (request["id"], "deadbeef"):
        with pytest.raises(Answered) as shown:
            anna.get("permissions", known)
        words = refusal(rookery, "anna", "permissions", known, "words", words="1")
        yes = refusal(rookery, "anna", "permissions", known, "answer", decision="allow")
        said.append([each.replace(known, "ID") for each in (str(shown.value), words, yes)])

    assert said[0] == said[1]


@pytest.mark.spec("K5", "A10")
def test_no_option_is_smuggled_in_as_a_model_or_a_conversation(rookery: Rookery) -> None:
    rookery.start("anna")
    project = str(rookery.project)
    with outsider(rookery) as forger:
        hook = {"session_id": OPTION, "cwd": project}
        forger.tell({**hook, "hook_event_name": "SessionStart"})
        forger.tell({**hook, "hook_event_name": "SessionEnd", "reason": "other"})

    model = refusal(rookery, "anna", "sessions", agent="demo", project=project, model=OPTION)
    listed = rookery.client.get("sessions")["sessions"]
    (forged,) = [each["id"] for each in listed if each["native_id"] == OPTION]
    with pytest.raises(Answered, match="is not a conversation of claude"):
        rookery.client.post("sessions", forged, "resume")

    assert "model" in model
    assert len(rookery.client.get("sessions")["sessions"]) == len(listed)


@pytest.mark.spec("I2", "K4")
def test_whatever_comes_through_the_mcp_door_is_answered_and_harms_nobody(
    rookery: Rookery,
) -> None:
    rookery.start("anna")

    with ThreadPoolExecutor(32) as crowd:
        answers = list(crowd.map(lambda raw: rookery.post("/mcp", None, raw=raw), STRANGE[:8]))
        many = list(crowd.map(lambda raw: asked(rookery, raw), STRANGE * 12))
    began = monotonic()
    listed = rookery.client.get("sessions")["sessions"]

    assert all(answer["error"]["message"] for _, answer in answers)
    assert max(many) < 500
    assert monotonic() - began < 5
    assert [each["name"] for each in listed] == ["anna"]
    assert turns(rookery, "anna") == []
    assert "Traceback" not in log_of(rookery)


def asked(rookery: Rookery, raw: bytes) -> int:
    """Return the status of what a strange request is answered; it may be no JSON."""
    try:
        return rookery.post("/mcp", None, raw=raw)[0]
    except json.JSONDecodeError:
        return 202


@pytest.mark.spec("I2", "K4")
def test_the_bridge_answers_garbage_and_what_is_far_too_long_at_once(rookery: Rookery) -> None:
    ping = b'{"jsonrpc":"2.0","id":7,"method":"ping"}\n'
    long = b'{"jsonrpc":"2.0","id":8,"method":"ping","x":"' + b"x" * 10_000_000 + b'"}\n'
    shapeless = b'{"jsonrpc":"2.0","id":9,"method":"ping","params":5}\n'
    batch = b"[" + ping.strip() + b"," + ping.strip() + b"]\n"
    half = b'{"jsonrpc":"2.0","id":10,"meth'
    began = monotonic()

    answers = bridge(
        rookery,
        b"\xff\x00\x1b\n\n[[[\n" + long + shapeless + batch + ping + half,
        badge="x\r\ny: z",
    )
    worn = badge_of_anybody(rookery)
    well = bridge(rookery, long + shapeless + batch + ping, badge=worn)

    assert monotonic() - began < 20
    assert all("error" in each for each in answers)
    said = {each["id"]: each for each in well if each["id"] is not None}
    assert said[7]["result"] == {}
    assert "At most" in said[8]["error"]["message"]
    assert said[9]["error"]["message"]
    assert len(well) == 4


def badge_of_anybody(rookery: Rookery) -> str:
    rookery.start("anna")
    return badge_of(rookery, "anna")


@pytest.mark.spec("F4")
def test_words_that_are_held_wait_over_a_restart_and_fail_with_their_session(
    rookery: Rookery,
) -> None:
    rookery.start("anna")
    rookery.start("bert")
    rookery.client.post("sessions", "anna", "messages", words="do: sleep 2\nsay: first")
    rookery.client.post("hold")
    later = rookery.send("anna", "say: later")
    ended = rookery.send("bert", "say: never")

    rookery.client.post("sessions", "bert", "end")
    rookery.ended("bert")
    rookery.kill()
    rookery.up()

    assert rookery.step(ended)[0] == "failed"
    assert rookery.step(later)[0] == "pending"
    rookery.client.post("release")
    eventually(lambda: rookery.step(later)[0] == "acknowledged")
    assert [turn["prompt"].count("say: later") for turn in turns(rookery, "anna")].count(1) == 1
    assert "Traceback" not in log_of(rookery)


@pytest.mark.spec("F3", "K5")
@pytest.mark.parametrize("limit", ["max_hops", "max_a_minute"])
def test_no_session_lets_others_talk_for_longer_than_its_person_does(
    rookery: Rookery, limit: str
) -> None:
    rookery.start("anna")
    anna = rookery.client_of(badge_of(rookery, "anna"))
    project = str(rookery.project)
    anna.post("sessions", agent="demo", name="child", project=project)
    members = [{"session": name} for name in ("anna", "child")]

    said = refusal(rookery, "anna", "relays", members=members, **{limit: 1_000})
    made = anna.post("relays", members=members, **{limit: 1})
    by_person = rookery.client.post("relays", members=members, **{limit: 1_000})

    assert "at most" in said
    assert 1 in made["limits"].values()
    assert 1_000 in by_person["limits"].values()


def test_a_bridge_whose_agent_has_left_leaves_without_a_word(rookery: Rookery) -> None:
    words = programs.mcp_argv(rookery.home)
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={}
    ) as left:
        assert left.stdin
        assert left.stdout
        assert left.stderr
        left.stdout.close()
        left.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        left.stdin.flush()
        said = left.stderr.read()

    assert said == b""


@pytest.mark.spec("B2", "K5")
@pytest.mark.parametrize("direct", [True, False])
def test_no_agent_has_its_parents_shell_run_what_it_says(
    rookery: Rookery, *, direct: bool
) -> None:
    rookery.start("shell", agent="shell", command=["/bin/sh"])
    shell = rookery.client_of(badge_of(rookery, "shell"))
    shell.post("sessions", agent="demo", name="child", project=str(rookery.project))
    rookery.client.get("sessions", "child", "wait", until="up", timeout=SOON)
    made = rookery.project / "made"
    words = f"touch {made}"

    to = ("sessions", "shell", "messages")
    said = refusal(rookery, "child", *to, words=words, direct=direct)
    members = [{"session": name} for name in ("child", "shell")]
    talks = refusal(rookery, "child", "relays", members=members)

    assert "only a person may send it one" in said
    assert "only a person may send it one" in talks
    assert not made.exists()
