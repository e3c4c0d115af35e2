"""resume --lost and --all, tags and hidden sessions on the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from rookery.model.errors import Answered
from tests.support.cli import FakeClient, Scripted, made, typed

pytestmark = pytest.mark.spec("A10", "I5")

NOW = datetime.now(UTC).isoformat()


def lost(name: str, obstacle: str = "") -> dict[str, Any]:
    session = made(name, status="failed", activity=None, reason="lost", ended_at=NOW)
    return {"session": session, "obstacle": obstacle}


class Daemon(FakeClient):
    """Has these lost sessions; one whose name begins with x cannot be started."""

    def __init__(self, *sessions: dict[str, Any]) -> None:
        super().__init__()
        self.lost = {"sessions": [*sessions], "hours": 24}
        self.query: dict[str, object] = {}
        self.resumed: list[str] = []

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        assert path == ("lost",)
        self.query = query
        return self.lost

    def post(self, *path: str, **_: object) -> Any:  # noqa: ANN401 - JSON
        if path[1].startswith("x"):
            raise Answered("project-unknown", "The project is gone.")
        self.resumed.append(path[1])
        return made(path[1])


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Give a terminal in which a person says yes."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.confirm", lambda _: True)
    return monkeypatch


def test_each_is_resumed_and_a_failure_does_not_stop_the_rest(
    here: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Daemon(lost("ann"), lost("xaver"), lost("fresh", "it had no turn yet"), lost("bo"))

    code = typed(here, daemon, "resume", "--lost")

    printed = capsys.readouterr()
    assert code == 1
    assert daemon.resumed == ["ann", "bo"]
    assert daemon.query == {"all": False}
    assert "not resumable: it had no turn yet" in printed.out
    assert "Resumed 2 of 3 sessions." in printed.out
    assert "xaver was not resumed. The project is gone." in printed.err


@pytest.mark.parametrize("answer", [True, False])
def test_a_person_is_asked_first(
    here: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, answer: bool
) -> None:
    asked: list[str] = []

    def confirm(question: str) -> bool:
        asked.append(question)
        return answer

    here.setattr("click.confirm", confirm)
    daemon = Daemon(lost("ann"), lost("bo"))

    code = typed(here, daemon, "resume", "--all", "--within", "3")

    assert asked == ["Resume 2 sessions?"]
    assert (code, daemon.resumed) == ((None, ["ann", "bo"]) if answer else (130, []))
    assert daemon.query == {"all": True, "hours": 3.0}
    capsys.readouterr()


def test_without_a_terminal_only_yes_is_a_yes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Daemon(lost("ann"))

    refused = typed(monkeypatch, daemon, "resume", "--lost")
    before = [*daemon.resumed]
    capsys.readouterr()
    done = typed(monkeypatch, daemon, "resume", "--lost", "--yes", "--json")

    assert (refused, before) == (2, [])
    assert (done, daemon.resumed) == (None, ["ann"])
    assert json.loads(capsys.readouterr().out)["resumed"][0]["name"] == "ann"


class Cutting(Daemon):
    """A daemon whose sessions were cut off in a turn, with messages that wait."""

    letters = 1

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        if path == ("inbox",):
            return {"letters": [{"message": 7, "step": "failed"}] * self.letters}
        if path[-1] == "turns":
            turn = {"prompt": "Fix it\nall", "how": "failed", "ended_at": NOW}
            return {"session": lost("ann")["session"], "turns": [turn]}
        return super().get(*path, **query)

    def post(self, *path: str, **given: object) -> Any:  # noqa: ANN401 - JSON
        return {**super().post(*path, **given), "continues": f"{path[1]}-1"}


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        (0, ""),
        (1, "ann: 1 message was not delivered:  rookery inbox resend 7\n"),
        (2, "ann: 2 messages were not delivered:  rookery inbox\n"),
    ],
)
def test_what_was_cut_off_is_told_of_each_that_is_resumed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    letters: int,
    said: str,
) -> None:
    daemon = Cutting(lost("ann"))
    daemon.letters = letters

    assert typed(monkeypatch, daemon, "resume", "--lost", "--yes") is None

    cut = "ann: its turn was cut off (❯ Fix it).\n"
    assert f"{cut}{said}Resumed 1 of 1 session." in capsys.readouterr().out


def test_nothing_that_was_lost_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(monkeypatch, Daemon(), "resume", "--all") is None
    assert capsys.readouterr().out == "No session ended unexpectedly in the last 24 hours.\n"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--yes"],
        ["ann", "--lost"],
        ["--all", "--fork"],
        ["--lost", "--name", "x"],
        ["--lost", "--agent", "demo"],
        ["--lost", "--project", "/"],
        ["--all", "--wait"],
        ["--all", "--timeout", "3"],
        ["--lost", "--on-permission", "fail"],
    ],
)
def test_options_that_do_not_go_together_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    daemon = Daemon(lost("ann"))

    assert typed(monkeypatch, daemon, "resume", *words) == 2
    assert not daemon.resumed
    capsys.readouterr()


def test_a_list_says_how_many_sessions_were_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Scripted(sessions={"sessions": [], "lost": 6})

    typed(monkeypatch, daemon, "ls")

    assert capsys.readouterr().err == "6 lost sessions can be resumed:  rookery resume --lost\n"


@pytest.mark.parametrize(
    ("words", "add", "remove"),
    [
        (["urgent", "ui"], ["urgent", "ui"], []),
        (["+urgent", "-ui", "-hot"], ["urgent"], ["ui", "hot"]),
    ],
)
def test_tags_are_added_and_with_a_minus_removed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    add: list[str],
    remove: list[str],
) -> None:
    daemon = Scripted(sessions=made("ann", tags=["urgent"]))

    typed(monkeypatch, daemon, "tag", "ann", *words)

    assert daemon.asked == [(("sessions", "ann", "tags"), {"add": add, "remove": remove})]
    assert capsys.readouterr().out == "ann: urgent\n"


def test_tags_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Scripted(sessions=[made("ann", tags=["a", "b"]), made("bo")])

    typed(monkeypatch, daemon, "tag", "ann")
    typed(monkeypatch, daemon, "tag", "bo")

    assert capsys.readouterr().out == "ann: a, b\nbo: no tags\n"


def test_sessions_with_a_tag_are_ended_together(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    over = made("old", status="completed", ended_at=NOW)
    ended = made("ann", status="killed", activity=None)
    turns = {"session": ended, "turns": [], "unheard": []}
    daemon = Scripted(sessions=[{"sessions": [made("ann"), over]}, ended, ended, turns])

    typed(monkeypatch, daemon, "end", "--tag", "old-ui")

    assert daemon.asked[0] == (("sessions",), {"all": True, "tags": ("old-ui",)})
    assert [path for path, _ in daemon.asked[1:2]] == [("sessions", "ann", "end")]
    assert capsys.readouterr().out == "ann was ended.\n"
