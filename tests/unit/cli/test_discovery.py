"""How the panes of a user's tmux are shown."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import TypeAlias

import pytest

from tests.support.cli import Scripted, typed

Show: TypeAlias = Callable[..., list[str]]

EVIL = "\x1b]0;owned\x07\x1b[2Jred"
LONG = "/very/long" * 12 + "/project"


def pane(**known: object) -> dict[str, object]:
    usual = {"server": "/tmp/tmux-0/default", "tmux_session": "main", "window": 0}  # noqa: S108
    more = {"window_name": "zsh", "index": 1, "pane": "%1", "cwd": "/repo", "command": "node"}
    return {**usual, **more, "session": "", **known}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Show:
    def show(*listed: dict[str, object], columns: int = 120) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        typed(monkeypatch, Scripted(panes={"panes": listed}), "panes")
        return capsys.readouterr().out.splitlines()

    return show


def width(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in line)


@pytest.mark.spec("B7", "I5")
def test_panes_stand_in_columns_below_their_server(shown: Show) -> None:
    own = {"server": "/run/own", "pane": "%12", "tmux_session": "rk_1", "session": "worker"}

    head, default, first, socket, second = shown(pane(), pane(**own, window_name="言葉"))

    titles = ["PANE", "WINDOW", "SESSION", "COMMAND", "FOLDER"]
    assert head.split() == titles
    assert (default, socket) == ("/tmp/tmux-0/default", "/run/own")  # noqa: S108
    assert first.split() == ["%1", "main:0.1", "zsh", "–", "node", "/repo"]
    assert second.split() == ["%12", "rk_1:0.1", "言葉", "worker", "node", "/repo"]
    starts = [width(line[: line.index("node")]) for line in (first, second)]
    assert starts == [head.index("COMMAND")] * 2


@pytest.mark.spec("B7", "I5")
@pytest.mark.parametrize("columns", [30, 40, 60, 80, 120])
def test_panes_fit_and_of_a_path_its_end_is_shown(shown: Show, columns: int) -> None:
    listed = [pane(cwd=LONG, server=LONG, window_name="言葉" * 20), pane(session="worker")]

    lines = shown(*listed, columns=columns)

    assert max(map(width, lines)) <= columns
    assert lines[1].startswith("…")
    assert lines[1].endswith("/project")
    if columns >= 80:
        assert lines[2].endswith("/project")
        assert "  …" in lines[2]
    assert "worker" in lines[-1]


@pytest.mark.spec("B7", "K2")
def test_no_pane_is_obeyed(shown: Show) -> None:
    evil = f"{EVIL}\nx"

    lines = shown(pane(cwd=evil, command=evil, window_name=evil))

    assert len(lines) == 3
    assert not set("".join(lines)) & set("\x1b\x07")


@pytest.mark.spec("I5")
def test_no_panes_are_an_invitation(shown: Show) -> None:
    assert "rookery start" in shown()[0]
