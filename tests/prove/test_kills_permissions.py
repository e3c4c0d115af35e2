"""The daemon is killed at every moment of a permission dialog: by hook, and by keys.

No answer is lost or given twice, and the audit tells the truth. `make prove` runs this.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from rookery.model.errors import Answered
from tests.support.prove.deaths import Mortal, die_at_every_moment
from tests.support.real.rookery import eventually

pytestmark = pytest.mark.prove

#: Asks twice for the very same, so that a key pressed twice would allow the second, too.
WORDS = "permission: Bash make;; permission: Bash make;; say: done"


def tell_the_story(rookery: Mortal, *, mode: str) -> None:
    """Have a session ask twice; allow the first, deny the second; each insisted upon."""
    post = rookery.post_or_raise
    rookery.insist(lambda: post("/v1/mode", {"mode": mode}, key="mode"))
    start = {"agent": "demo", "name": "hero", "project": str(rookery.project)}
    rookery.insist(lambda: post("/v1/sessions", {**start, "prompt": WORDS}, key="start"))
    first = _asked(rookery, "")
    _answer(rookery, first, {"decision": "allow"})
    second = _asked(rookery, first)
    _answer(rookery, second, {"decision": "deny"})
    rookery.insist(lambda: _idle(rookery))


def _asked(rookery: Mortal, before: str) -> str:
    """Wait for a request that is open, and is not the one before; return its id."""
    found: list[str] = []

    def is_asked() -> bool:
        listed = rookery.insist(lambda: rookery.client.get("permissions"))["requests"]
        found[:] = [each["id"] for each in listed if each["id"] != before]
        return bool(found)

    eventually(is_asked)
    return found[0]


def _answer(rookery: Mortal, request: str, verdict: dict[str, str]) -> None:
    """Answer until it is seen to have taken effect; an answer that was not given, again."""
    tries = 0

    def is_answered() -> bool:
        nonlocal tries
        now = rookery.insist(lambda: rookery.client.get("permissions", request))
        if now["outcome"] == "open":
            tries += 1
            path, key = f"/v1/permissions/{request}/answer", f"answer {request} {tries}"
            give = partial(rookery.post_or_raise, path, verdict, key=key)
            try:
                rookery.insist(give)
            except Answered as refused:
                assert "already answered" in str(refused)  # noqa: PT017 - by the same answer
            return False
        return bool(now["delivery"] != "due")

    eventually(is_answered)


def _idle(rookery: Mortal) -> None:
    eventually(lambda: rookery.session("hero")["activity"] == "idle")


def check(rookery: Mortal) -> None:
    audit = rookery.insist(lambda: rookery.client.get("audit"))["decisions"]
    decided = [(each["decision"], each["by"]) for each in audit]
    # An answer that was not given is said to be, and was given again.
    given = [each for each in decided if each[0] not in {"undelivered", "unsure"}]
    assert given[-1] == ("denied", "person")
    assert set(given) == {("allowed", "person"), ("denied", "person")}
    assert len(given) == 2 + len(decided) - len(given)
    with rookery.database() as db:
        states = db.execute("select outcome, keys from requests order by asked_at").fetchall()
        (used,) = db.execute("select count(*) from entries where kind = 'tool-used'").fetchone()
    assert used == 1  # the first call was allowed, the second never
    assert [outcome for outcome, _ in states] == ["allowed", "denied"]
    assert all(keys != "due" for _, keys in states)


@pytest.mark.timeout(3_600)
@pytest.mark.spec("D2", "D4", "K3")
@pytest.mark.parametrize("mode", ["local", "remote"])
def test_no_answer_is_lost_or_doubled_whenever_the_daemon_dies(
    tmp_path: Path, mode: str
) -> None:
    moments = die_at_every_moment(tmp_path, partial(tell_the_story, mode=mode), check)

    assert moments > 20
