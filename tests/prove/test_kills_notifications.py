"""The daemon is killed at every moment while it tells a person what sessions need."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.contract.notifiers import recorded, recorder
from tests.support.prove.deaths import Mortal, die_at_every_moment, tmux_of_others
from tests.support.real.rookery import eventually

pytestmark = pytest.mark.prove

CONFIGURATION = """
[notifications]
batch_seconds = 0
waiting_seconds = 0
[notifications.command]
run = ["~/tell"]
"""

#: The request and the finished turn.
OUTCOMES = 2


@pytest.fixture
def others(tmp_path: Path) -> Iterator[Callable[[], str]]:
    yield from tmux_of_others(tmp_path)


def tell_the_story(rookery: Mortal) -> None:
    """Have a session finish a turn and ask for a permission; each command insisted upon."""
    recorder(rookery.folder, "tell")
    start = {"agent": "demo", "name": "hero", "project": str(rookery.project)}
    prompt = {"prompt": "say: one"}
    post = rookery.post_or_raise
    rookery.insist(lambda: post("/v1/sessions", {**start, **prompt}, key="start"))
    rookery.insist(lambda: _are_settled(rookery, 1))
    words = {"words": "permission: Bash ls"}
    rookery.insist(lambda: post("/v1/sessions/hero/messages", words, key="send"))
    rookery.insist(lambda: _are_settled(rookery, OUTCOMES))


def _are_settled(rookery: Mortal, count: int) -> None:
    def are_settled() -> bool:
        rookery.client.get("status")  # it may have died: the caller starts it again
        return len(_settled(rookery)) >= count

    eventually(are_settled)


def _settled(rookery: Mortal) -> list[tuple[str, str]]:
    with rookery.database() as db:
        found: list[tuple[str, str]] = db.execute(
            "select kind, state from notifications"
            " where not is_reminder and state not in ('waiting', 'sending')"
        ).fetchall()
    return found


def check(rookery: Mortal) -> None:
    told = Counter(
        json.loads(json.loads(each)[-1])["kind"]
        for each in recorded(rookery.folder / "tell.received")
    )
    settled = _settled(rookery)
    assert len(settled) == OUTCOMES
    for kind, state in settled:
        times = told.pop(kind, 0)
        assert times in {"sent": {1}, "unsure": {0, 1}}[state], (kind, state, times)
    assert not told


@pytest.mark.timeout(3_600)
@pytest.mark.spec("H5", "K3")
def test_whenever_the_daemon_dies_no_outcome_is_told_twice(
    tmp_path: Path, others: Callable[[], str]
) -> None:
    before = others()

    moments = die_at_every_moment(tmp_path, tell_the_story, check, CONFIGURATION)

    assert moments > 40
    assert others() == before
