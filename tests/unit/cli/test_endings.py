"""People read by whom a session was ended; the record says killed."""

from __future__ import annotations

import pytest

from rookery.cli.session_table import SessionTable
from rookery.client.sessions import SessionInfo
from rookery.presentation.states import ended_by
from tests.support.cli import session

pytestmark = pytest.mark.spec("A4")

AGENT = "11111111-1111-4111-8111-111111111111"


@pytest.mark.parametrize(
    ("status", "by", "read"),
    [
        ("killed", "person", "ended by you"),
        ("killed", f"session {AGENT}", f"ended by session {AGENT}"),
        ("killed", "idle", "ended after a long time without activity"),
        ("killed", "shutdown", "ended by shutdown"),
        ("completed", "itself", ""),
        ("failed", "itself", ""),
        ("running", "", ""),
    ],
)
def test_it_is_said_by_whom_a_session_was_ended(status: str, by: str, read: str) -> None:
    assert ended_by(SessionInfo(status=status, ended_by=by)) == read


def test_the_list_names_who_ended_a_session() -> None:
    asked = {"activity": None, "status": "killed", "reason": "asked to end"}
    boss = session("boss", id=AGENT, ended_by="person", **asked)
    child = session("child", ended_by=f"session {AGENT}", **asked)

    said = "\n".join(SessionTable([boss, child]).lines(120))

    assert "killed" not in said
    assert "ended by you" in said
    assert "ended by boss" in said
