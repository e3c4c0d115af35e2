"""What the commands for notifications print, and what they ask."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rookery.cli.exit_codes import NOT_RUNNING, USAGE
from rookery.cli.notifications import KINDS
from rookery.model.errors import NotRunning
from rookery.model.notifications import NotificationKind
from tests.support.cli import FakeClient, Scripted, typed

pytestmark = pytest.mark.spec("H4", "I5")

#: Long enough ago that a slow machine tells the same time.
THEN = (datetime.now(UTC) - timedelta(minutes=150)).isoformat()


def told(**more: object) -> dict[str, object]:
    usual = {"name": "api", "kind": "needs-you", "channel": "desktop", "text": "May it? ls"}
    return {**usual, "at": THEN, "state": "sent", **more}


NO_TERMINAL = "no terminal of yours is attached to tmux"


class Absent(FakeClient):
    """A client whose daemon does not run."""

    def get(self, *path: str, **query: object) -> object:
        raise NotRunning


def test_every_kind_of_notification_can_be_asked_for() -> None:
    assert tuple(NotificationKind) == KINDS


def test_the_line_for_a_status_bar_is_short(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Scripted(counts={"waiting": 2, "failed": 1, "line": "2 wait · 1 failed"})

    assert typed(monkeypatch, daemon, "status", "--line") is None
    assert capsys.readouterr() == ("2 wait · 1 failed\n", "")


def test_the_line_is_empty_if_no_session_needs_the_user_or_no_daemon_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = [
        typed(monkeypatch, daemon, "status", "--line")
        for daemon in (Scripted(counts={"line": ""}), Absent())
    ]

    assert codes == [None, NOT_RUNNING]
    assert capsys.readouterr() == ("", "")


def test_the_list_shows_what_became_of_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    skipped = told(state="skipped", reason="the session is muted", channel="bell")
    waiting = told(is_reminder=True, state="waiting")
    daemon = Scripted(notifications={"notifications": [waiting, told(), skipped]})

    typed(monkeypatch, daemon, "notify", "ls", "-n", "3")

    assert daemon.asked == [(("notifications",), {"last": 3})]
    assert capsys.readouterr().out.splitlines() == [
        "AGO  CHANNEL  KIND       SESSION  STATE    TEXT",
        "2h   desktop  needs-you  api      sent     May it? ls",
        "2h   bell     needs-you  api      skipped  (the session is muted) May it? ls",
    ]


def test_an_empty_list_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, Scripted(notifications={"notifications": []}), "notify", "ls")

    assert "rookery notify test" in capsys.readouterr().out


def test_a_test_says_for_each_channel_whether_and_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = {
        "title": "api needs you",
        "body": "/code/api\nMay it? ls",
        "kind": "needs-you",
        "quiet": "the session is muted",
        "configuration": "/conf/config.toml",
        "reminder_minutes": 10.0,
        "channels": [
            {"channel": "command", "enabled": True, "kinds": ["failed"], "sent": True},
            {"channel": "desktop", "enabled": False, "switch": "[x]\nenabled = true"},
            {
                "channel": "bell",
                "enabled": True,
                "kinds": ["needs-you"],
                "hindrance": f"{NO_TERMINAL}.",
            },
        ],
    }
    daemon = Scripted(notifications=trial)

    typed(monkeypatch, daemon, "notify", "test", "api", "--send")

    asked = {"session": "api", "kind": "needs-you", "send": True}
    assert daemon.asked == [(("notifications", "test"), asked)]
    assert capsys.readouterr().out.splitlines() == [
        "No notification about api would be sent now: the session is muted.",
        "A notification of the kind needs-you:",
        "    api needs you",
        "    /code/api",
        "    May it? ls",
        "command  sent",
        "desktop  off; to turn it on, add to the configuration:",
        "             [x]",
        "             enabled = true",
        f"bell     on, but not this one: {NO_TERMINAL} (it carries needs-you)",
        "tmux     off",
        "The configuration is /conf/config.toml; changes take effect after:",
        "    rookery down; rookery up -d",
        "A reminder of an open request follows after 10 min.",
    ]


@pytest.mark.parametrize(
    ("span", "seconds"), [("90s", 90.0), ("30m", 1800.0), ("1.5h", 5400.0), ("2d", 172800.0)]
)
def test_a_session_is_muted_for_a_time(
    monkeypatch: pytest.MonkeyPatch, span: str, seconds: float
) -> None:
    daemon = Scripted(sessions={"name": "api", "muted": True, "until": THEN})

    assert typed(monkeypatch, daemon, "mute", "api", "--for", span) is None
    assert daemon.asked == [(("sessions", "api", "mute"), {"seconds": seconds})]


@pytest.mark.parametrize("span", ["1y", "soon", "0m", "-5m", "h"])
def test_a_time_that_cannot_be_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], span: str
) -> None:
    assert typed(monkeypatch, Scripted(), "mute", "api", f"--for={span}") == USAGE
    assert "90s, 30m, 2h or 1d" in capsys.readouterr().err


def test_muted_sessions_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, Scripted(muted={"sessions": [{"name": "api", "muted": True}]}), "mute")
    typed(monkeypatch, Scripted(muted={"sessions": []}), "mute")

    said = capsys.readouterr().out.splitlines()
    assert said == ["api is muted.", "No session is muted."]
