"""The daemon is killed at every moment while sessions wait for each other and talk."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.prove.deaths import Mortal, die_at_every_moment, heard, tmux_of_others
from tests.support.real.rookery import eventually

pytestmark = pytest.mark.prove

NAMES = ("anna", "worker")

#: What Anna is told, and what the two say to each other: the second hop is the last.
SAID = "[worker] (2):\n\nhello"


@pytest.fixture
def others(tmp_path: Path) -> Iterator[Callable[[], str]]:
    yield from tmux_of_others(tmp_path)


def tell_the_story(rookery: Mortal) -> None:
    """Have Anna wait for the worker, then talk with it; each command insisted upon."""
    for name in NAMES:
        _post(rookery, "sessions", agent="demo", name=name, project=str(rookery.project))
        _wait(rookery, name, "up")
    _post(rookery, "listeners", targets=["worker"], caller="anna")
    _post(rookery, "sessions/worker/messages", words="say: done")
    rookery.insist(lambda: _are_acknowledged(rookery, 2))
    for name in NAMES:
        _wait(rookery, name, "stop")
    members = [{"session": name} for name in NAMES]
    _post(rookery, "relays", members=members, max_hops=2)
    _post(rookery, "sessions/worker/messages", words="say: hello")
    rookery.insist(lambda: _are_acknowledged(rookery, 5))
    for name in NAMES:
        _wait(rookery, name, "stop")


def _post(rookery: Mortal, path: str, **asked: Any) -> None:  # noqa: ANN401 - JSON
    key = json.dumps(asked)
    rookery.insist(lambda: rookery.post_or_raise(f"/v1/{path}", asked, key=key))


def _wait(rookery: Mortal, name: str, until: str) -> None:
    def wait() -> None:
        rookery.client.get("sessions", name, "wait", until=until, timeout=40.0)

    rookery.insist(wait)


def _are_acknowledged(rookery: Mortal, count: int) -> None:
    def are_there() -> bool:
        rookery.client.get("status")  # it may have died: whoever insists starts it again
        with rookery.database() as db:
            query = "select count(*) from messages where step = 'acknowledged'"
            return bool(db.execute(query).fetchone()[0] >= count)

    eventually(are_there)


def check(rookery: Mortal) -> None:
    ids = {name: rookery.insist(partial(rookery.session, name))["id"] for name in NAMES}
    with rookery.database() as db:
        steps = Counter(row[0] for row in db.execute("select step from messages"))
        listeners = db.execute("select count(*) from listeners").fetchone()[0]
        parked = db.execute("select count(*) from parked").fetchone()[0]
    anna, worker = heard(rookery, ids["anna"]), heard(rookery, ids["worker"])
    told = f"Session {ids['worker']} on "
    assert [told in anna[0], anna[0].count(told), anna[1:]] == [True, 1, [SAID]]
    assert worker[:2] == ["say: done", "say: hello"]
    assert [words.startswith("[anna] (1):\n\n") for words in worker[2:]] == [True]
    assert (steps, listeners, parked) == ({"acknowledged": 5}, 0, 0)


@pytest.mark.timeout(3_600)
@pytest.mark.spec("A7", "E4", "E6", "F4", "K3")
def test_whenever_the_daemon_dies_each_is_told_once_and_talks_on(
    tmp_path: Path, others: Callable[[], str]
) -> None:
    before = others()

    moments = die_at_every_moment(tmp_path, tell_the_story, check)

    assert moments > 40
    assert others() == before
