"""Start an agent by its name, with arguments of its own; run one for a single answer."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from rookery.model.errors import Answered
from tests.support.cli import Scripted, made, typed

pytestmark = pytest.mark.spec("I5")


class Starting(Scripted):
    """A client whose daemon starts every session, and says what the agent answers."""

    how, answer, asks = "finished", "It is done.", False

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        self.asked.append((path, query))
        activity = "permission" if self.asks else "idle"
        session = made("api", first_prompt="x", activity=activity, reason="May it?")
        if path[-1] == "turns":
            turn = {"answer": self.answer, "how": self.how, "ended_at": "now", "prompt": "x"}
            return {"session": session, "turns": [] if self.asks else [turn], "count": 1}
        return {"requests": []} if path[0] == "permissions" else session

    post = get

    @property
    def order(self) -> dict[str, Any]:
        """What the daemon was asked to start."""
        return next(body for path, body in self.asked if path == ("sessions",))

    @property
    def ended(self) -> bool:
        return any(path[-1] == "end" for path, _ in self.asked)


class _Pipe(io.TextIOWrapper):
    """Standard input that is no terminal."""

    def __init__(self, text: str = "") -> None:
        super().__init__(io.BytesIO(text.encode()))


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Starting:
    monkeypatch.setattr("sys.stdin", _Pipe())
    return Starting()


@pytest.mark.parametrize(
    ("words", "started"),
    [
        (["claude", "fix it"], ("claude", "fix it", [])),
        (["claude", "fix", "it"], ("claude", "fix it", [])),
        (["-a", "demo", "claude", "is", "here"], ("demo", "claude is here", [])),
        (["fix it"], ("", "fix it", [])),
        (["claude", "fix", "--", "--add-dir", "x"], ("claude", "fix", ["--add-dir", "x"])),
        (["codex", "--", "--search"], ("codex", "", ["--search"])),
        (["demo", "--worktree", "fix it"], ("demo", "fix it", [])),
        (["--worktree", "demo", "fix it"], ("demo", "fix it", [])),
    ],
)
def test_the_first_word_may_be_the_agent_and_what_follows_dashes_is_for_it(
    monkeypatch: pytest.MonkeyPatch,
    daemon: Starting,
    words: list[str],
    started: tuple[str, str, list[str]],
) -> None:
    assert not typed(monkeypatch, daemon, "start", *words)

    order = daemon.order
    assert (order["agent"], order["prompt"], order.get("arguments", [])) == started


@pytest.mark.parametrize(
    "words", [["shell", "--", "python3", "-i"], ["-a", "shell", "--", "python3", "-i"]]
)
def test_for_a_shell_the_words_after_the_dashes_are_its_command(
    monkeypatch: pytest.MonkeyPatch, daemon: Starting, words: list[str]
) -> None:
    typed(monkeypatch, daemon, "start", *words)

    assert daemon.order["command"] == ["python3", "-i"]
    assert daemon.order["prompt"] == ""
    assert "arguments" not in daemon.order


def test_options_that_are_not_given_are_not_sent_to_an_older_daemon(
    monkeypatch: pytest.MonkeyPatch, daemon: Starting
) -> None:
    typed(monkeypatch, daemon, "start", "demo")

    newer = {"tags", "profile", "worktree", "branch", "base", "arguments"}
    assert not newer & set(daemon.order)


class Choosy(Starting):
    """A client whose daemon has no default agent."""

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        raise Answered("bad-input", "Invalid input: which agent?", missing="agent")


@pytest.mark.parametrize(
    ("word", "said"),
    [("cluade", "'cluade' is no agent. Did you mean claude?"), ("fix it", "Which agent?")],
)
def test_a_misspelt_agent_is_told_which_may_be_meant(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], word: str, said: str
) -> None:
    assert typed(monkeypatch, Choosy(), "start", word) == 2
    assert capsys.readouterr().err == f"rookery: {said}\n"


def test_starting_and_waiting_prints_the_answer_and_the_state_beside_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], daemon: Starting
) -> None:
    assert not typed(monkeypatch, daemon, "start", "demo", "--wait", "x")

    told = capsys.readouterr()
    assert told.out == "It is done.\n"
    assert told.err.startswith("api is idle")


def test_starting_and_waiting_adds_the_answer_to_the_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], daemon: Starting
) -> None:
    typed(monkeypatch, daemon, "start", "demo", "--wait", "--json", "x")

    told = json.loads(capsys.readouterr().out)
    assert (told["name"], told["answer"], told["how"]) == ("api", "It is done.", "finished")


@pytest.mark.parametrize(
    ("how", "code"), [("finished", None), ("failed", 1), ("interrupted", 1)]
)
def test_a_run_prints_the_answer_ends_the_session_and_exits_as_its_turn_did(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    daemon: Starting,
    how: str,
    code: int | None,
) -> None:
    daemon.how = how

    assert typed(monkeypatch, daemon, "run", "demo", "x") == code

    assert (capsys.readouterr().out == "It is done.\n") is (how != "failed")
    assert daemon.ended


def test_a_run_can_keep_its_session(monkeypatch: pytest.MonkeyPatch, daemon: Starting) -> None:
    typed(monkeypatch, daemon, "run", "demo", "--keep", "x")

    assert not daemon.ended


def test_a_run_reads_its_prompt_from_a_pipe(
    monkeypatch: pytest.MonkeyPatch, daemon: Starting
) -> None:
    monkeypatch.setattr("sys.stdin", _Pipe("Look at this."))

    typed(monkeypatch, daemon, "run", "demo")

    assert daemon.order["prompt"] == "Look at this."


def test_a_run_without_a_prompt_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], daemon: Starting
) -> None:
    assert typed(monkeypatch, daemon, "run", "demo") == 2
    assert "There is no prompt" in capsys.readouterr().err


def test_a_run_that_is_stopped_says_what_became_of_its_session(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], daemon: Starting
) -> None:
    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rookery.cli.run.awaited_until_interrupted", stop)

    assert typed(monkeypatch, daemon, "run", "demo", "x") == 130
    assert capsys.readouterr().err == "\nStopped; api was ended.\n"
    assert daemon.ended


@pytest.mark.spec("D2")
@pytest.mark.parametrize("command", [["run", "demo"], ["start", "demo", "--wait"]])
def test_whoever_needs_a_person_where_there_is_none_ends_with_its_own_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    daemon: Starting,
    command: list[str],
) -> None:
    daemon.asks = True

    assert typed(monkeypatch, daemon, *command, "x") == 6
    is_run = command[0] == "run"
    ended = ". The session was ended." if is_run else ""
    assert f"rookery: api waits for you: May it?{ended}\n" in capsys.readouterr().err
    assert daemon.ended is is_run
