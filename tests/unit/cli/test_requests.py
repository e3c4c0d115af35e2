"""Before a person allows a call, they see all of it, or that there is more of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from rookery.model.permissions import Call
from tests.support.cli import FakeClient, made, typed

pytestmark = pytest.mark.spec("D5", "I5")

LONG = "echo " + "a" * 3_000 + "; rm -rf ~/x"
COMMENTED = "echo hello # a comment\nrm -rf ~/x"


def request(tool: str, **given: object) -> dict[str, Any]:
    return {
        "id": "r1",
        "session": "anna",
        "kind": "permission",
        "tool": tool,
        "input": given,
        "questions": [],
        "message": Call(tool, given).summary,
        "outcome": "open",
        "asked_at": datetime.now(UTC).isoformat(),
        "deadline": None,
        "missed": False,
        "source": "hook",
        "delivery": "none",
        "answers": {},
        "answered_by": "",
        "note": "",
        "reason": "",
    }


class Daemon(FakeClient):
    """Answers as if one request was open, and lets it be answered."""

    def __init__(self, request: dict[str, Any]) -> None:
        super().__init__()
        self.request = request

    def get(self, *path: str, **_: object) -> Any:  # noqa: ANN401 - JSON
        if path[0] == "sessions":
            return {"sessions": [made("anna")]}
        listed = {"requests": [self.request], "trouble": "", "on_timeout": "deny"}
        return listed if len(path) == 1 else self.request

    def post(self, *_: str, **verdict: object) -> Any:  # noqa: ANN401 - JSON
        outcome = {"allow": "allowed", "deny": "denied"}[str(verdict["decision"])]
        return {**self.request, "outcome": outcome}


class Terminal:
    """A person's terminal."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def type(self, request: dict[str, Any], *words: str) -> str:
        typed(self._monkeypatch, Daemon(request), *words)
        return self._capsys.readouterr().out


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(monkeypatch, capsys)


def test_a_list_says_that_a_command_is_cut_and_where_it_is_whole(terminal: Terminal) -> None:
    listed = terminal.type(request("Bash", command=LONG), "permissions")

    assert "more characters)" in listed
    assert "rookery permissions show r1" in listed


def test_a_list_shows_where_a_line_of_a_command_ends(terminal: Terminal) -> None:
    listed = terminal.type(request("Bash", command=COMMENTED), "permissions")

    assert "echo hello # a comment ↵ rm -rf ~/x" in listed
    assert "rookery permissions show r1" in listed


def test_a_list_names_the_fields_that_it_does_not_show(terminal: Terminal) -> None:
    writing = request("Write", file_path="/code/x", content="evil")

    listed = terminal.type(writing, "permissions")

    assert "May it use Write? /code/x  (also: content)" in listed


def test_what_is_shown_whole_is_shown_as_before(terminal: Terminal) -> None:
    asked = request("Bash", command="rm -r build", description="Clean up")

    listed = terminal.type(asked, "permissions")
    allowed = terminal.type(asked, "allow", "anna")

    assert "May it use Bash? rm -r build\n" in listed
    assert "permissions show" not in listed
    assert allowed == "Allowed: May it use Bash? rm -r build\n"


@pytest.mark.parametrize("word", ["r1", "anna"])
def test_one_request_is_shown_whole_by_its_id_or_its_session(
    terminal: Terminal, word: str
) -> None:
    asked = request("Edit", file_path="/x", old_string="a\nb", new_string="    c", all=True)

    shown = terminal.type(asked, "permissions", "show", word)

    for expected in (
        "    tool: Edit\n    file_path: /x\n",
        "    old_string:\n      | a\n      | b\n",
        "    new_string:     c\n",
        "    all: true\n",
    ):
        assert expected in shown


def test_a_value_cannot_pass_for_another_field(terminal: Terminal) -> None:
    asked = request("Write", file_path="/x", content="x\n    file_path: /harmless")

    shown = terminal.type(asked, "permissions", "show", "r1")

    assert "\n    file_path: /harmless" not in shown


@pytest.mark.parametrize("decision", ["allow", "deny"])
@pytest.mark.parametrize("command", [LONG, COMMENTED])
def test_who_answers_is_told_the_whole_command(
    terminal: Terminal, decision: str, command: str
) -> None:
    told = terminal.type(request("Bash", command=command), decision, "anna")

    for line in command.splitlines():
        assert line in told


def test_the_input_of_an_unknown_tool_is_shown(terminal: Terminal) -> None:
    listed = terminal.type(request("mcp__shop__pay", amount=7, to="evil"), "permissions")

    assert 'May it use mcp__shop__pay? {"amount": 7, "to": "evil"}\n' in listed


def test_the_commands_for_several_questions_are_those_that_its_agent_takes(
    terminal: Terminal,
) -> None:
    """OpenCode's own dialog for several questions is not answered by Rookery."""
    asked = {"text": "Which?", "options": ["S", "P"], "takes_several": False}
    several = {**request("question"), "kind": "question", "questions": [asked, asked]}

    by_answers = terminal.type(several, "permissions")
    by_keys = terminal.type({**several, "takes_options": False}, "permissions")

    assert "rookery answer r1 ANSWER1 ANSWER2" in by_answers
    assert "rookery attach anna  |  rookery keys anna KEY" in by_keys
    assert "rookery answer" not in by_keys


@pytest.mark.spec("D2")
def test_a_reason_is_offered_only_where_the_agent_gets_it(terminal: Terminal) -> None:
    asked = request("Bash", command="ls")

    taken = terminal.type(asked, "permissions")
    refused = terminal.type({**asked, "takes_reason": False}, "permissions")

    assert "rookery deny r1 --reason WORDS" in taken
    assert "rookery deny r1\n" in refused
