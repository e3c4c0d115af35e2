"""Real agents talk: what one answers, the others hear, once and under its name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.support.real.agents import configure
from tests.support.real.relayed import exchange, relay
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


@pytest.fixture
def rookery(cold: Rookery) -> Iterator[Rookery]:
    with ModelServer() as models:
        configure(cold, models.url)
        cold.up()
        yield cold


def nested(depth: int) -> str:
    """Write words whose answer is the same with one less: so each in a conversation is new."""
    return "say: " * depth + "the end"


def is_said(rookery: Rookery, relay: str, count: int) -> bool:
    return len(exchange(rookery, relay)) == count


def prompts(rookery: Rookery, name: str) -> list[str]:
    return [turn["prompt"] for turn in rookery.json("output", name)["turns"]]


def are_idle(rookery: Rookery, *names: str) -> bool:
    found: dict[str, Any] = rookery.client.get("sessions")
    return set(names) <= {
        each["name"] for each in found["sessions"] if each["activity"] == "idle"
    }


def are_at_rest(rookery: Rookery, *names: str) -> bool:
    # Also none that is on its way.
    return are_idle(rookery, *names) and not rookery.client.get("inbox")["letters"]


def type_by_hand(rookery: Rookery, name: str, words: str) -> None:
    """Type into a session's pane as its person does."""
    pane = str(rookery.session(name)["tmux_pane"])
    rookery.tmux("send-keys", "-t", pane, "-l", words)
    eventually(lambda: words in rookery.screen(name))
    rookery.tmux("send-keys", "-t", pane, "Enter")


def stayed(rookery: Rookery, found: str) -> str:
    """Return why the last words of a relay stayed where they were said."""
    return str(rookery.client.get("relays", found)["relay"]["stayed"])


@pytest.mark.spec("F2", "F3")
def test_two_agents_exchange_ten_turns_and_stop(rookery: Rookery) -> None:
    rookery.start("anna", agent="claude")
    rookery.start("bert", agent="codex")
    found = relay(rookery, "anna", "bert", max_hops=10)

    rookery.send("anna", nested(13))

    eventually(lambda: len(exchange(rookery, found)) == 10, within=120.0)
    eventually(lambda: stayed(rookery, found).startswith("10 relayed answers in a row"))
    eventually(lambda: are_at_rest(rookery, "anna", "bert"))
    spoken = [
        (("anna", 1) if hop % 2 == 0 else ("bert", 2), nested(12 - hop)) for hop in range(10)
    ]
    said = [(name, f"[{name}] ({number}):\n\n{words}") for (name, number), words in spoken]
    assert exchange(rookery, found) == said
    assert prompts(rookery, "anna") == [
        nested(13),
        *(words for who, words in said if who == "bert"),
    ]
    assert prompts(rookery, "bert") == [words for who, words in said if who == "anna"]


@pytest.mark.spec("F1", "F2")
def test_three_in_one_relay_hear_each_other_once(rookery: Rookery) -> None:
    names = ("anna", "bert", "carl")
    for name, agent in zip(names, ("claude", "codex", "demo"), strict=True):
        rookery.start(name, agent=agent)
    found = relay(rookery, *names, max_hops=2)

    rookery.send("anna", nested(4))

    eventually(lambda: len(exchange(rookery, found)) >= 3)
    eventually(lambda: are_at_rest(rookery, *names))
    authors = sorted(name for name, _ in exchange(rookery, found))
    assert authors == ["anna", "bert", "carl"]
    for name in names:
        lines = "\n".join(prompts(rookery, name)).splitlines()
        heard = [each for line in lines for each in names if line.startswith(f"[{each}] (")]
        assert sorted(heard) == sorted(set(names) - {name})


@pytest.mark.spec("F1")
def test_two_relays_at_once_do_not_mix(rookery: Rookery) -> None:
    pairs = {"one": ("anna", "bert"), "two": ("carl", "dora")}
    for name, agent in (("anna", "claude"), ("bert", "codex"), ("carl", "claude")):
        rookery.start(name, agent=agent)
    rookery.start("dora")
    found = {word: relay(rookery, *pair, max_hops=4) for word, pair in pairs.items()}

    for word, (first, _) in pairs.items():
        rookery.send(first, f"{nested(6)} of {word}")

    for word, (first, second) in pairs.items():
        eventually(partial(is_said, rookery, found[word], 4), within=90.0)
        eventually(partial(are_at_rest, rookery, first, second))
        heard = "\n".join(words for _, words in exchange(rookery, found[word]))
        assert heard.count(f"the end of {word}") == 4
        other = next(each for each in pairs if each != word)
        everything = "\n".join((*prompts(rookery, first), *prompts(rookery, second)))
        assert f"of {other}" not in everything


@pytest.mark.spec("F1", "F4", "F5")
def test_a_direct_message_begins_a_conversation_that_ends_with_one_of_them(
    rookery: Rookery,
) -> None:
    rookery.start("anna", agent="claude")
    start = {"agent": "demo", "project": str(rookery.project), "name": "bert"}
    rookery.ask("anna", f"tool: rookery__start_session {json.dumps(start)};; result:")
    to = {"computer": "local", "session_id": rookery.session("bert")["id"]}
    words = {**to, "message": "say: hello, Anna", "direct": True}

    rookery.send("anna", f"tool: rookery__send_message {json.dumps(words)};; say: sent")

    eventually(lambda: "[bert] (2):\n\nhello, Anna" in "\n".join(prompts(rookery, "anna")))
    (open_one,) = rookery.client.get("relays")["relays"]
    rookery.run("end", "bert")
    closed = "The relay is closed: bert has ended."
    eventually(lambda: closed in "\n".join(prompts(rookery, "anna")))
    assert rookery.client.get("relays", open_one["id"])["relay"]["closed_at"]


@pytest.mark.spec("F4")
def test_what_is_held_is_said_after_the_release_and_a_restart_between_changes_nothing(
    rookery: Rookery,
) -> None:
    rookery.start("anna", agent="claude")
    for name in ("bert", "carl"):
        rookery.start(name)
    found = relay(rookery, "anna", "bert", max_hops=2)
    rookery.client.post("hold")
    message, other = rookery.send("anna", nested(3)), rookery.send("carl", "say: later")
    rookery.kill()
    rookery.up()
    # Carl's words would be pasted before these are typed, as soon as the daemon is up.
    type_by_hand(rookery, "carl", "say: by hand")
    eventually(lambda: "by hand" in "".join(prompts(rookery, "carl")))
    eventually(lambda: are_idle(rookery, "anna", "carl"))
    steps = [rookery.step(each)[0] for each in (message, other)]
    heard = [prompts(rookery, name) for name in ("anna", "carl")]

    rookery.client.post("release")

    eventually(lambda: len(exchange(rookery, found)) == 2)
    eventually(lambda: prompts(rookery, "carl") == ["say: by hand", "say: later"])
    assert steps == ["pending", "pending"]
    assert heard == [[], ["say: by hand"]]
