from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.cli import FakeClient, made, typed

pytestmark = pytest.mark.spec("B1", "I5")

AT = "2026-11-01T00:00:09+00:00"


class Daemon(FakeClient):
    """Has some sessions; remembers of which ones the answers were marked as seen."""

    def __init__(self, *sessions: dict[str, Any]) -> None:
        super().__init__()
        self.sessions = {each["id"]: {**each, "last_activity_at": AT} for each in sessions}
        self.seen: list[str] = []

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        match path:
            case ("sessions",):
                return {"sessions": [*self.sessions.values()]}
            case ("sessions", name):
                return self.sessions[name]
            case _:
                return {"tmux_socket": "/own"}

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        assert path[-1] == "seen"
        self.seen.append(path[1])
        return {}


class Tmux:
    """Attaches to a tmux session, which is left by detaching from the one named ``left``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, left: str, code: int = 0) -> None:
        self.left, self.code, self.panes = left, code, ""
        self.words: Sequence[str] = ()
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.delenv("TMUX", raising=False)
        monkeypatch.setattr("rookery.cli.attach.run_in_terminal", self.attach)
        monkeypatch.setattr("rookery.cli.attach._tmux", self.ask)

    def attach(self, words: Sequence[str]) -> tuple[int, str]:
        self.words = words
        return self.code, f"[detached (from session {self.left})]\n"

    def ask(self, socket: str, *words: str) -> str:
        return self.panes if words[0] == "list-panes" else "C-b\n"


def test_the_attached_session_is_reported_if_others_are_in_its_tmux_session(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = {"tmux_session": "main", "tmux_server": "/user", "runtime": "observed"}
    daemon = Daemon(made("api", **theirs), made("web", **theirs))
    Tmux(monkeypatch, left="main")

    typed(monkeypatch, daemon, "attach", "web")

    assert "Left web running" in capsys.readouterr().out
    assert set(daemon.seen) == {"web"}


def test_a_tmux_session_of_the_same_name_on_another_server_is_not_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Daemon(
        made("api", tmux_session="other", tmux_server="/first"),
        made("web", tmux_session="main", tmux_server="/second"),
    )
    Tmux(monkeypatch, left="other")

    typed(monkeypatch, daemon, "attach", "web")

    assert "Left web running" in capsys.readouterr().out


def test_the_session_that_was_switched_to_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Daemon(made("api", tmux_session="rk_1"), made("web", tmux_session="rk_2"))
    Tmux(monkeypatch, left="rk_2")

    typed(monkeypatch, daemon, "attach", "api")

    assert "Left web running" in capsys.readouterr().out
    assert set(daemon.seen) == {"api", "web"}


def test_an_answer_is_not_seen_if_tmux_cannot_attach(monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = Daemon(made("api", tmux_session="rk_1"))
    Tmux(monkeypatch, left="", code=1)

    assert typed(monkeypatch, daemon, "attach", "api") == 1

    assert daemon.seen == []


@pytest.mark.parametrize(
    ("server", "target"), [("/user", "=rookery:1"), (None, "=rk_1:0")], ids=["theirs", "own"]
)
def test_the_windows_of_the_hub_are_skipped_on_the_own_server_only(
    monkeypatch: pytest.MonkeyPatch, server: str | None, target: str
) -> None:
    known = {"tmux_session": "rk_1", "tmux_server": server, "tmux_pane": "%3"}
    tmux = Tmux(monkeypatch, left="rk_1")
    tmux.panes = "%1 main:0\n%3 rookery:1\n%3 rk_1:0\n"

    typed(monkeypatch, Daemon(made("api", **known)), "attach", "api")

    assert tmux.words[-1] == target
