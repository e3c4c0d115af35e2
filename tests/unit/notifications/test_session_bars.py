"""What attached terminals show below a session."""

from __future__ import annotations

import pytest

from rookery.model.facts import SessionId
from rookery.model.notifications import SessionBar
from rookery.notifications.session_bars import bars_of
from rookery.store.notifications import CountedSession


def counted(
    name: str, state: str = "idle", *, program: str | None = None, muted: bool = False
) -> CountedSession:
    counts = {"permission": "waiting", "failed": "failed", "working": "working"}
    return CountedSession(
        id=SessionId(name),
        name=name,
        agent="demo",
        program=f"rk_{name}" if program is None else program,
        state=state,
        counts_as=counts.get(state, "idle"),
        is_counted=not muted,
    )


@pytest.mark.spec("B1", "I5")
def test_a_bar_counts_the_other_sessions_and_knows_the_next_that_waits() -> None:
    sessions = [
        counted("api", "working"),
        counted("web", "permission"),
        counted("docs", "permission"),
        counted("gone", "failed", program=""),
        counted("elsewhere", "permission", program=""),
        counted("quiet", "permission", muted=True),
    ]

    bars = bars_of(sessions, counts_others=True)

    assert bars == {
        "rk_api": SessionBar("api · demo · working", "3 wait · 1 failed", "rk_web"),
        "rk_web": SessionBar("web · demo · permission", "2 wait · 1 failed", "rk_docs"),
        "rk_docs": SessionBar("docs · demo · permission", "2 wait · 1 failed", "rk_web"),
        "rk_quiet": SessionBar("quiet · demo · permission", "3 wait · 1 failed", "rk_web"),
    }


def test_a_session_is_not_the_next_after_itself() -> None:
    bars = bars_of([counted("web", "permission")], counts_others=False)

    assert bars == {"rk_web": SessionBar("web · demo · permission", "", "")}
