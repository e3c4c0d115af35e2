"""People read by whom a session was ended; the record says killed."""

from __future__ import annotations

from typing import Any

import pytest

from rookery.cli.endings import ended_by
from rookery.cli.render import show_sessions

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
    assert ended_by({"status": status, "ended_by": by}) == read


def test_the_list_names_who_ended_a_session(capsys: pytest.CaptureFixture[str]) -> None:
    usual: dict[str, Any] = {
        "agent": "demo",
        "activity": None,
        "status": "killed",
        "since": "2026-11-16T08:00:00+00:00",
        "created_at": "2026-11-16T08:00:00+00:00",
        "project_path": "/code",
        "title": "work",
        "parent": None,
    }
    boss = {**usual, "id": AGENT, "name": "boss", "ended_by": "person"}
    child = {**usual, "id": "2", "name": "child", "ended_by": f"session {AGENT}"}
    asked = {"reason": "asked to end"}

    show_sessions([{**boss, **asked}, {**child, **asked}])

    said = capsys.readouterr().out
    assert "killed" not in said
    assert "ended by you" in said
    assert "ended by boss" in said
