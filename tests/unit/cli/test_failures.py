"""How errors are told: one style, the program's name, and JSON for programs."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from rookery.cli import autostart
from rookery.cli.detached_daemon import StartedDaemon
from rookery.cli.failures import asks_for_json
from rookery.cli.program_name import program_name
from rookery.cli.render import complain, complain_of, say, say_verbatim
from rookery.client import Client
from rookery.client.daemon import StatusInfo
from rookery.home import Home
from rookery.model.errors import Answered, BadInput
from tests.support.cli import FakeClient, typed

pytestmark = pytest.mark.spec("I5")


class Refusing(FakeClient):
    """A client whose daemon refuses everything."""

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        raise Answered("session-unknown", "There is no session 'ap'. Did you mean api?")

    post = get


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["ls", "--nonsense"], 2, "No such option '--nonsense'."),
        (["rename", "a"], 2, "Missing argument 'NEW_NAME'."),
        (["end"], 2, "Name a session, or use --all or --tag."),
        (["output", "ap"], 5, "There is no session 'ap'. Did you mean api?"),
    ],
)
def test_an_error_is_one_sentence_after_the_programs_name(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    said: str,
) -> None:
    assert typed(monkeypatch, Refusing(), *words) == code

    first, *more = capsys.readouterr().err.splitlines()
    assert first == f"rookery: {said}"
    assert more in ([], [f"See:  rookery {words[0]} --help"])


@pytest.mark.parametrize("words", [("inbox", "rm", "x"), ("copy", "a", "--block", "x")])
def test_a_text_that_is_no_number_is_told_in_plain_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert typed(monkeypatch, Refusing(), *words) == 2

    assert "'x' is not a number.\n" in capsys.readouterr().err


def test_an_empty_name_is_refused_before_the_daemon_is_asked() -> None:
    with pytest.raises(BadInput, match="must not be empty"):
        Client(Path("/nowhere")).get("sessions", "", "details")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_person_is_told_if_the_daemon_takes_long_to_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_terminal: bool
) -> None:
    told = Event()
    home = Home(tmp_path, tmp_path, tmp_path / "run")

    def start(here: Home) -> StartedDaemon:
        if is_terminal:
            assert told.wait(20)
        return StartedDaemon(1, StatusInfo())

    monkeypatch.setattr(autostart, "TELL_AFTER_S", 0.0)
    monkeypatch.setattr(autostart, "start_in_background", start)
    monkeypatch.setattr(autostart, "remark", lambda _: told.set())
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)

    autostart.start_daemon(home)

    assert told.is_set() is is_terminal


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (["ls", "--json", "--nonsense"], 2, "usage"),
        (["end", "--json"], 2, "bad-input"),
        (["output", "ap", "--json"], 5, "session-unknown"),
    ],
)
def test_with_json_an_error_is_json_with_the_same_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    status: int,
    code: str,
) -> None:
    assert typed(monkeypatch, Refusing(), *words) == status

    told = json.loads(capsys.readouterr().err)
    assert told["error"]["code"] == code
    assert told["error"]["message"]


def test_an_option_for_the_agent_does_not_ask_for_json() -> None:
    assert asks_for_json(["start", "demo", "--json", "--", "-x"])
    assert not asks_for_json(["start", "demo", "--", "--json"])


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Call the program by its path in a folder below this one."""
    program = tmp_path / "bin" / "rookery"
    program.parent.mkdir()
    program.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(program)])
    monkeypatch.setenv("PATH", "/nowhere")
    return "bin/rookery"


def test_the_program_is_named_as_it_was_called(called: str) -> None:
    assert program_name() == called


@pytest.mark.parametrize("argv", ["rookery", "/x/site-packages/rookery/__main__.py"])
def test_a_program_without_a_path_is_named_by_its_name(
    monkeypatch: pytest.MonkeyPatch, argv: str
) -> None:
    monkeypatch.setattr("sys.argv", [argv])

    assert program_name() == "rookery"


@pytest.mark.usefixtures("called")
def test_hints_name_the_program_as_it_was_called(capsys: pytest.CaptureFixture[str]) -> None:
    say("api is idle.  rookery attach api  |  rookery output api")
    complain("attach needs a terminal; use `rookery output`.")

    told = capsys.readouterr()
    assert told.out == "api is idle.  bin/rookery attach api  |  bin/rookery output api\n"
    assert told.err == "rookery: attach needs a terminal; use `bin/rookery output`.\n"


@pytest.mark.usefixtures("called")
def test_agents_words_stay_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    words = "Type:  rookery ls  or `rookery up`"

    say_verbatim(words)
    complain_of(words)

    told = capsys.readouterr()
    assert told.out == f"{words}\n"
    assert told.err == f"rookery: {words}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["answer"], "Give an answer:  rookery answer [REQUEST] ANSWER..."),
        (["completion"], "Give one of: bash, zsh, fish."),
        (["wait", "a", "--count", "2"], "--count is 2, but only 1 session is named."),
        (["deny", "api", "not now"], "A reason needs an option:  --reason 'not now'"),
    ],
)
def test_a_usage_error_is_one_line_in_plain_words(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    assert typed(monkeypatch, Refusing(), *words) == 2

    assert capsys.readouterr().err.splitlines()[0] == f"rookery: {said}"
