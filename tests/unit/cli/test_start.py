"""Start an agent by its name, with arguments of its own; run one for a single answer."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from rookery.home import find_home
from rookery.model.errors import Answered
from rookery.model.permissions import DIALOG
from rookery.presentation.texts import as_sentence
from tests.support.cli import Scripted, made, typed

pytestmark = pytest.mark.spec("I5")


class Starting(Scripted):
    """A client whose daemon starts every session, and says what the agent answers."""

    how, answer, asks, asked_tool = "finished", "It is done.", False, "Bash"

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        self.asked.append((path, query))
        activity = "permission" if self.asks else "idle"
        session = made("api", first_prompt="x", activity=activity, reason="May it?")
        if path[-1] == "turns":
            turn = {"answer": self.answer, "how": self.how, "ended_at": "now", "prompt": "x"}
            return {"session": session, "turns": [] if self.asks else [turn], "count": 1}
        request = {"session": session["id"], "kind": "permission", "outcome": "open"}
        asked = [{**request, "tool": self.asked_tool}] if self.asks else []
        return {"requests": asked} if path[0] == "permissions" else session

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


def test_without_an_agent_the_daemon_says_which_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(monkeypatch, Choosy(), "start", "fix it") == 2
    assert capsys.readouterr().err == "rookery: Which agent?\n"


@pytest.mark.parametrize(
    "words",
    [
        ("start", "cluade"),
        ("start", "cluade", "delete nothing"),
        ("run", "cluade", "delete", "nothing"),
    ],
)
def test_a_misspelt_agent_does_not_become_a_part_of_the_prompt(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    daemon: Starting,
    words: tuple[str, ...],
) -> None:
    assert typed(monkeypatch, daemon, *words) == 2

    assert daemon.asked == []
    assert capsys.readouterr().err == (
        "rookery: 'cluade' is no agent. Did you mean claude? If it belongs to the prompt, name"
        " the agent with an option:  --agent NAME cluade\n"
    )


def test_a_misspelt_agent_of_the_configuration_is_told_too(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    daemon: Starting,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("ROOKERY_HOME", str(tmp_path))
    settings = find_home(os.environ).settings
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('[agents.goose]\nacp = ["goose"]\n')

    assert typed(monkeypatch, daemon, "start", "gooze", "fix it") == 2

    assert "Did you mean goose?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "prompt"),
    [
        (("codex hi",), "codex hi"),
        (("review", "it"), "review it"),
        (("--agent", "demo", "cluade", "is", "misspelt"), "cluade is misspelt"),
    ],
)
def test_a_prompt_that_begins_like_an_agent_can_be_given(
    monkeypatch: pytest.MonkeyPatch, daemon: Starting, words: tuple[str, ...], prompt: str
) -> None:
    assert not typed(monkeypatch, daemon, "start", *words)

    assert daemon.order["prompt"] == prompt


def test_starting_and_waiting_prints_the_answer_and_the_state_beside_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], daemon: Starting
) -> None:
    assert not typed(monkeypatch, daemon, "start", "demo", "--wait", "x")

    told = capsys.readouterr()
    assert told.out == "It is done.\n"
    assert told.err.startswith("api is idle")


def test_an_answer_that_a_start_waited_for_was_seen(
    monkeypatch: pytest.MonkeyPatch, daemon: Starting
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)

    assert not typed(monkeypatch, daemon, "start", "demo", "--wait", "x")

    seen = [(path[1], given["until"]) for path, given in daemon.asked if path[-1] == "seen"]
    assert seen == [("api", "now")]


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
@pytest.mark.parametrize(("tool", "is_advised"), [("Bash", True), (DIALOG, False)])
def test_a_rule_is_advised_only_where_rules_can_answer(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    daemon: Starting,
    *,
    tool: str,
    is_advised: bool,
) -> None:
    daemon.asks, daemon.asked_tool = True, tool

    typed(monkeypatch, daemon, "run", "demo", "x")

    assert ("by a rule" in (said := capsys.readouterr().err)) is is_advised
    assert "use --keep" in said


@pytest.mark.parametrize(
    ("text", "sentence"), [("May it", "May it."), ("May it?", "May it?"), ("Ja.", "Ja.")]
)
def test_a_question_keeps_its_own_end(text: str, sentence: str) -> None:
    assert as_sentence(text) == sentence


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
    ended = " The session was ended." if is_run else ""
    assert f"rookery: api waits for you: May it?{ended}\n" in capsys.readouterr().err
    assert daemon.ended is is_run


class Crashing(Starting):
    """A client whose daemon starts sessions that fail in their first turn."""

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        answer = super().get(*path, **query)
        failed = {"status": "failed", "activity": None, "reason": "its program crashed"}
        if path[-1] == "turns":
            return {**answer, "session": {**answer["session"], **failed}}
        return {**answer, **failed} if "name" in answer else answer

    post = get


@pytest.mark.parametrize(
    ("client", "said"),
    [
        (Crashing, "rookery: The turn failed.\napi failed: its program crashed\n"),
        (Starting, "rookery: The turn failed.\napi is idle"),
    ],
)
def test_a_failed_turn_without_an_answer_is_told_before_the_reason_of_the_session(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    client: type[Starting],
    said: str,
) -> None:
    daemon = client()
    daemon.how, daemon.answer = "failed", ""
    monkeypatch.setattr("sys.stdin", _Pipe())

    typed(monkeypatch, daemon, "start", "demo", "--wait", "crash:")

    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", [("start", "-P", "fast"), ("run", "--profile", "fast")])
def test_an_agent_named_beside_a_profile_does_not_become_a_part_of_the_prompt(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    daemon: Starting,
    tmp_path: Path,
    words: tuple[str, ...],
) -> None:
    monkeypatch.setenv("ROOKERY_HOME", str(tmp_path))
    settings = find_home(os.environ).settings
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[profiles.fast]\nagent = "demo"\n')

    assert typed(monkeypatch, daemon, *words, "codex", "fix it") == 2

    assert daemon.asked == []
    assert capsys.readouterr().err == (
        "rookery: The profile fast starts demo, not codex. Leave out codex, or leave out"
        " --profile. If it belongs to the prompt, put the prompt in quotes.\n"
    )
    assert not typed(monkeypatch, daemon, *words, "demo", "fix it")
    assert daemon.order["prompt"] == "fix it"


def test_a_quoted_prompt_may_begin_with_the_name_of_another_agent_than_the_profile(
    monkeypatch: pytest.MonkeyPatch, daemon: Starting, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROOKERY_HOME", str(tmp_path))

    assert not typed(monkeypatch, daemon, "start", "-P", "fast", "codex is here")

    assert daemon.order["prompt"] == "codex is here"
