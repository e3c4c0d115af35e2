"""The daemon is killed at every moment of start, send and end, and at random under load.

Nothing that was accepted is lost, nothing is typed twice, no session is misreported, and no
tmux of others is touched. `make prove` runs this; the figures are kept in docs/proofs.md.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from rookery.model.errors import RookeryError
from tests.support.prove.deaths import Mortal, die_at_every_moment, heard, tmux_of_others
from tests.support.real.rookery import Rookery, eventually

pytestmark = pytest.mark.prove

#: How often the daemon is killed under load.
KILLS = int(os.environ.get("ROOKERY_KILLS", "200"))
SEED = int(os.environ.get("ROOKERY_SEED", "0")) or random.SystemRandom().randrange(10**6)


@pytest.fixture
def others(tmp_path: Path) -> Iterator[Callable[[], str]]:
    yield from tmux_of_others(tmp_path)


def tell_the_story(rookery: Mortal) -> None:
    """Start a session with words, say more, end it; each command insisted upon."""
    start = {"agent": "demo", "name": "hero", "project": str(rookery.project)}
    post = rookery.post_or_raise
    rookery.insist(lambda: post("/v1/sessions", {**start, "prompt": "say: one"}, key="start"))
    rookery.insist(lambda: _stopped(rookery))
    words = {"words": "say: two"}
    rookery.insist(lambda: post("/v1/sessions/hero/messages", words, key="send"))
    rookery.insist(lambda: _stopped(rookery))
    rookery.insist(lambda: post("/v1/sessions/hero/end", {}, key="end"))
    rookery.insist(lambda: rookery.ended("hero", within=40.0))
    rookery.insist(lambda: rookery.session("hero"))


def _stopped(rookery: Mortal) -> None:
    rookery.client.get("sessions", "hero", "wait", until="stop", timeout=40.0)


def check(rookery: Mortal) -> None:
    session = rookery.insist(lambda: rookery.session("hero"))
    with rookery.database() as db:
        steps = [row[0] for row in db.execute("select step from messages order by id")]
        kinds = Counter(row[0] for row in db.execute("select kind from entries"))
        turns = db.execute(
            "select prompt, answer, how from turns order by started_by"
        ).fetchall()
    assert [each for each in heard(rookery, session["id"]) if each != "/exit"] == [
        "say: one",
        "say: two",
    ]
    assert steps == ["acknowledged", "acknowledged"]
    assert turns == [("say: one", "one", "finished"), ("say: two", "two", "finished")]
    assert (session["status"], session["ended_by"]) == ("killed", "person")
    assert kinds["session-requested"] == kinds["end-requested"] == kinds["session-ended"] == 1
    eventually(lambda: rookery.tmux("list-sessions", "-F", "#S").split() == ["rookery"])


@pytest.mark.timeout(3_600)
@pytest.mark.spec("A3", "A4", "A7", "K3")
def test_a_daemon_that_dies_at_any_moment_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, others: Callable[[], str]
) -> None:
    before = others()

    moments = die_at_every_moment(tmp_path, tell_the_story, check)

    assert moments > 40
    assert others() == before


@pytest.mark.timeout(7_200)
@pytest.mark.spec("K3")
def test_random_kills_under_load_lose_nothing(
    tmp_path: Path, others: Callable[[], str]
) -> None:
    print(f"\nseed {SEED}, {KILLS} kills")  # noqa: T201 - to repeat it
    chance = random.Random(SEED)  # noqa: S311 - to be repeated, not to be guessed
    before, rookery = others(), Mortal(tmp_path / "load", -1)
    rookery.up()
    try:
        names = [f"s{number}" for number in range(6)]
        for name in names:
            rookery.start(name)
        sent: dict[str, list[str]] = {name: [] for name in names}
        stop = Event()
        senders = [
            Thread(target=_keep_sending, args=(rookery, name, sent[name], stop))
            for name in names
        ]
        for sender in senders:
            sender.start()
        for _ in range(KILLS):
            stop.wait(chance.uniform(0.0, 0.6))
            rookery.kill()
            rookery.up()
        stop.set()
        for sender in senders:
            sender.join()
        _check_load(rookery, sent)
    finally:
        stop.set()
        rookery.clear_away()
    assert others() == before


def _keep_sending(rookery: Rookery, name: str, sent: list[str], stop: Event) -> None:
    """Send numbered words; whatever was not answered is sent again under the same key."""
    number = 0
    while not stop.is_set():
        words = f"say: {name} {number}"
        while True:
            try:
                rookery.post_or_raise(
                    f"/v1/sessions/{name}/messages", {"words": words}, key=f"{name}-{number}"
                )
            except (RookeryError, OSError):
                stop.wait(0.05)
            else:
                sent.append(words)
                break
        number += 1
        stop.wait(0.2)


def _check_load(rookery: Rookery, sent: dict[str, list[str]]) -> None:
    """Every word that was accepted arrived, once, in order; nothing else did."""
    for name in sent:
        rookery.client.get("sessions", name, "wait", until="stop", timeout=120.0)
    with rookery.database() as db:
        unsure = db.execute("select count(*) from messages where step <> 'acknowledged'")
        assert unsure.fetchone() == (0,)
    total = 0
    for name, words in sent.items():
        session = rookery.session(name)
        prompts = heard(rookery, session["id"])
        arrived = [word for prompt in prompts for word in prompt.split("\n\n")]
        assert arrived == words
        assert session["status"] == "running"
        total += len(words)
    print(f"{total} messages, each arrived once")  # noqa: T201 - figures for the docs
    assert total >= KILLS
