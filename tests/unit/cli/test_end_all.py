"""Ending all sessions needs a confirmation."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest

from rookery.model.errors import Answered
from tests.support.cli import FakeClient, made, typed

pytestmark = pytest.mark.spec("A4", "I5")


class Daemon(FakeClient):
    """Has two sessions of Rookery and one that it found; remembers what is ended."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[tuple[str, ...]] = []

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        if path == ("sessions",):
            found = made("found", runtime="observed")
            return {"sessions": [made("api"), made("web"), found]}
        if path[-1] == "turns":
            return {"session": made(path[1]), "unheard": []}
        return made(path[1], status="killed", ended_by="person", activity=None)

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        self.ended.append(path)
        return {"ended": ["api", "web"]} if path == ("sessions", "end") else made(path[1])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the questions to a person at a terminal, who says no."""
    questions: list[str] = []

    def refuse(question: str, **_: object) -> bool:
        questions.append(question)
        return False

    monkeypatch.setattr(click, "confirm", refuse)
    return questions


class Choosy(Daemon):
    """A daemon that does not know the session "gone"."""

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        if path[1] == "gone":
            raise Answered("session-unknown", "There is no session gone.")
        return super().post(*path, **body)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_several_sessions_are_ended_also_if_one_cannot_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: tuple[str, ...]
) -> None:
    daemon = Choosy()

    assert typed(monkeypatch, daemon, "end", "api", "gone", "web", "api", *form) == 1

    assert [path[1] for path in daemon.ended] == ["api", "web"]
    told = capsys.readouterr()
    if form:
        assert [each["name"] for each in json.loads(told.out)["sessions"]] == ["api", "web"]
    else:
        assert told.out == "api was ended.\nweb was ended.\n"
    assert "gone was not ended. There is no session gone." in told.err


@pytest.mark.parametrize("which", [("--all", "--yes"), ("--tag", "night")])
def test_all_are_ended_also_if_one_cannot_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], which: tuple[str, ...]
) -> None:
    class Stuck(Daemon):
        def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
            if path[:2] == ("sessions", "api"):
                raise Answered("still-working", "It has not ended within 30 s.")
            return super().get(*path, **query)

    assert typed(monkeypatch, Stuck(), "end", *which) == 1

    told = capsys.readouterr()
    assert "web was ended." in told.out
    assert "api was not ended. It has not ended within 30 s." in told.err


def test_a_person_is_asked_with_the_names(
    monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    daemon = Daemon()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)

    code = typed(monkeypatch, daemon, "end", "--all")

    assert asked == ["End 2 sessions (api, web)?"]
    assert (bool(code), daemon.ended) == (True, [])


def test_without_a_terminal_it_has_to_be_confirmed_by_an_option(
    monkeypatch: pytest.MonkeyPatch, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Daemon()
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)

    assert typed(monkeypatch, daemon, "end", "--all") == 2
    assert "rookery end --all --yes" in capsys.readouterr().err
    assert daemon.ended == []

    assert typed(monkeypatch, daemon, "end", "--all", "--yes") in {None, 0}
    assert daemon.ended[0] == ("sessions", "end")
    assert asked == []


def test_sessions_that_rookery_did_not_start_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, Daemon(), "end", "--all", "--yes")

    *ended, others = capsys.readouterr().out.splitlines()
    assert ended == ["api was ended.", "web was ended."]
    assert others == (
        "Not ended, because Rookery did not start them: found."
        " To end one:  rookery end found --force"
    )
