"""allow, deny and answer without a name, for all, and always."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from rookery.model.errors import Answered
from tests.support.cli import FakeClient, made, typed

pytestmark = pytest.mark.spec("D2", "I5")

QUESTION = {"text": "Which?", "options": ["Postgres", "SQLite"]}

#: What was posted: the path and the body.
Posted = tuple[tuple[str, ...], dict[str, object]]


def permission(request: str, session: str = "anna") -> dict[str, Any]:
    return {
        "id": request,
        "session": session,
        "kind": "permission",
        "tool": "Bash",
        "input": {"command": request},
        "message": f"May it use Bash? {request}",
        "outcome": "open",
        "asked_at": datetime.now(UTC).isoformat(),
    }


def question(request: str) -> dict[str, Any]:
    asked = {"kind": "question", "message": "Which?", "questions": [QUESTION]}
    return {**permission(request), **asked}


class Daemon(FakeClient):
    """Has these open requests; a request whose id begins with x was answered meanwhile."""

    def __init__(self, *requests: dict[str, Any]) -> None:
        super().__init__()
        self.requests = {each["id"]: each for each in requests}
        self.posted: list[Posted] = []

    def get(self, *path: str, **_: object) -> Any:  # noqa: ANN401 - JSON
        if path[0] == "sessions":
            worktree = {"path": "/worktrees/fix", "branch": "fix"}
            found: dict[str, dict[str, Any]] = {
                "anna": {},
                "bert": {"runtime": "headless"},
                "fix": {"workspace": worktree},
            }
            return {"sessions": [made(name, **known) for name, known in found.items()]}
        if path[-1] == "rule":
            request = self.requests[path[1]]
            rule, pattern = "[[allow]]\n", "Bash ls*"
            return {"request": request, "rule": rule, "file": "/r.toml", "pattern": pattern}
        return {"requests": [*self.requests.values()]}

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        self.posted.append((path, body))
        if path[1].startswith("x"):
            raise Answered("request-closed", "This request was already answered.")
        outcomes = {"allow": "allowed", "deny": "denied", "answer": "answered"}
        outcome = outcomes[str(body.get("decision", "allow"))]
        request = {**self.requests[path[1]], "outcome": outcome}
        if path[-1] == "always":
            rule = "[[allow]]\ntool = 1\n"
            return {"request": request, "rule": rule, "file": "/r.toml", "is_new": True}
        return request


Type = Callable[..., tuple[object, str, str]]


@pytest.fixture
def type_(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Type:
    """Give a function that types a command; it returns the exit code and what was printed."""

    def run(daemon: Daemon, *words: str) -> tuple[object, str, str]:
        code = typed(monkeypatch, daemon, *words)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.mark.parametrize(
    ("words", "path", "said"),
    [
        (["allow"], ("permissions", "r1", "answer"), "Allowed: May it use Bash? r1\n"),
        (["deny"], ("permissions", "r1", "answer"), "Denied: May it use Bash? r1\n"),
        (["answer", "2"], ("permissions", "q1", "answer"), "Answered: Which?\n"),
    ],
)
def test_the_only_request_of_its_kind_needs_no_name(
    type_: Type, words: list[str], path: tuple[str, ...], said: str
) -> None:
    daemon = Daemon(permission("r1"), question("q1"))

    code, out, _ = type_(daemon, *words)

    assert (code, out) == (None, said)
    ((posted, _),) = daemon.posted
    assert posted == path


def test_of_several_none_is_chosen_and_each_has_its_command(type_: Type) -> None:
    daemon = Daemon(permission("r1"), permission("r2", "bert"), question("q1"))

    code, _, err = type_(daemon, "deny")

    assert code == 1
    assert "rookery deny r1   anna: May it use Bash? r1" in err
    assert "rookery deny r2   bert: May it use Bash? r2" in err
    assert "rookery deny --all" in err
    assert "q1" not in err
    assert not daemon.posted


def test_of_several_the_commands_keep_the_options_for_a_rule(type_: Type) -> None:
    daemon = Daemon(permission("82cd0e3d"), permission("11223344", "bert"))

    _, _, err = type_(daemon, "allow", "--always", "Bash git status*")

    assert "rookery allow 82cd0e3d --always 'Bash git status*'" in err
    assert "--all\n" not in err


@pytest.mark.parametrize("words", [["allow"], ["deny"], ["answer", "yes"]])
def test_without_requests_the_commands_say_so(type_: Type, words: list[str]) -> None:
    code, _, err = type_(Daemon(), *words)

    assert (code, err) == (5, "rookery: No pending requests.\n")


@pytest.mark.parametrize(
    ("asked", "words", "hint"),
    [
        (
            question("q1"),
            ["allow"],
            "rookery answer q1 NUMBER   anna: Which? (1. Postgres, 2. SQLite)",
        ),
        (permission("r1"), ["answer", "yes"], "rookery allow r1   anna: May it use Bash? r1"),
    ],
)
def test_a_request_of_the_other_kind_is_named_with_its_command(
    type_: Type, asked: dict[str, Any], words: list[str], hint: str
) -> None:
    daemon = Daemon(asked)

    code, _, err = type_(daemon, *words)

    assert code == 5
    assert hint in err
    assert not daemon.posted


@pytest.mark.parametrize("word", ["q1", "anna"])
def test_a_name_without_an_answer_is_no_answer(type_: Type, word: str) -> None:
    daemon = Daemon(question("q1"))

    code, _, err = type_(daemon, "answer", word)

    assert code == 2
    assert f"An answer is missing:  rookery answer {word} NUMBER" in err
    assert not daemon.posted


def test_all_answers_the_permissions_that_were_listed_and_no_question(type_: Type) -> None:
    daemon = Daemon(permission("r1"), permission("r2", "bert"), question("q1"))

    code, out, _ = type_(daemon, "allow", "--all", "--session")

    assert code is None
    assert out == (
        "Allowed for anna: May it use Bash? r1\nAllowed for bert: May it use Bash? r2\n"
    )
    assert [path[1] for path, _ in daemon.posted] == ["r1", "r2"]
    assert all(body["for_session"] for _, body in daemon.posted)


def test_all_goes_on_after_a_request_that_was_answered_meanwhile(type_: Type) -> None:
    daemon = Daemon(permission("x1"), permission("r2", "bert"))

    code, out, err = type_(daemon, "deny", "--all", "--reason", "no")

    assert code == 1
    assert out == "Denied for bert: May it use Bash? r2\n"
    assert "anna (x1): This request was already answered." in err


def test_all_without_requests_is_no_failure(type_: Type) -> None:
    assert type_(Daemon(question("q1")), "allow", "--all")[:2] == (
        None,
        "No pending requests.\n",
    )


@pytest.mark.parametrize(
    ("words", "pattern", "everywhere"),
    [
        (["allow", "--always"], "", False),
        (["allow", "r1", "--always", "--everywhere"], "", True),
        (["allow", "--always", "Bash ls*"], "Bash ls*", False),
        (["allow", "r1", "Bash ls*", "--always"], "Bash ls*", False),
    ],
)
def test_always_shows_the_rule_and_its_file(
    type_: Type, words: list[str], pattern: str, *, everywhere: bool
) -> None:
    daemon = Daemon(permission("r1"))

    code, out, _ = type_(daemon, *words)

    assert code is None
    assert out == ("Added to /r.toml:\n\n[[allow]]\ntool = 1\n\nAllowed: May it use Bash? r1\n")
    ((path, body),) = daemon.posted
    assert path == ("permissions", "r1", "always")
    assert body == {"pattern": pattern, "everywhere": everywhere}


def test_a_dry_run_shows_the_rule_and_the_pattern_for_more(type_: Type) -> None:
    daemon = Daemon(permission("r1"))

    _, out, _ = type_(daemon, "allow", "--always", "--dry-run")

    assert "[[allow]]" in out
    assert "rookery allow r1 --always 'Bash ls*'" in out
    assert not daemon.posted


@pytest.mark.parametrize(
    "words",
    [
        ["allow", "r1", "Bash ls*"],
        ["allow", "r1", "--everywhere"],
        ["allow", "r1", "--dry-run"],
        ["allow", "r1", "--all"],
        ["allow", "--all", "--always"],
        ["deny", "r1", "--all"],
    ],
)
def test_options_that_do_not_go_together_are_refused(type_: Type, words: list[str]) -> None:
    daemon = Daemon(permission("r1"))

    code, _, err = type_(daemon, *words)

    assert code == 2
    assert err.startswith("rookery: ")
    assert not daemon.posted


@pytest.mark.spec("D5")
def test_a_question_with_several_answers_says_so(type_: Type) -> None:
    several = {**QUESTION, "takes_several": True, "descriptions": ["Big", "Small"]}
    one = {**question("q1"), "questions": [several]}
    two = {**question("q2"), "questions": [QUESTION, several]}

    _, out, _ = type_(Daemon(one, two), "permissions")

    assert "1. Postgres: Big\n      2. SQLite: Small\n      (one or more of them)" in out
    assert "rookery answer q1 NUMBER [NUMBER …]" in out
    assert "rookery answer q2 ANSWER1 ANSWER2" in out
    assert "commas between several options" in out


@pytest.mark.spec("D5")
def test_a_dialog_that_rookery_cannot_reach_is_no_offer_to_answer_it(type_: Type) -> None:
    asked = {**permission("r1", "bert"), "by_keys": True}

    _, out, _ = type_(Daemon(asked), "permissions")

    assert "Answer it in the terminal where it runs" in out
    assert "rookery allow" not in out


class SlowDaemon(Daemon):
    """Delivers an answer only while it is asked about it for the second time."""

    def __init__(self, *requests: dict[str, Any]) -> None:
        super().__init__(*requests)
        self.waits: list[object] = []

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        if "timeout" not in query:
            return super().get(*path, **query)
        self.waits.append(query["timeout"])
        delivery = "due" if len(self.waits) == 1 else "pressed"
        return {**self.requests[path[1]], "outcome": "denied", "delivery": delivery}

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        return {**super().post(*path, **body), "delivery": "due"}


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_shows_that_an_answer_is_not_delivered_yet(
    monkeypatch: pytest.MonkeyPatch, type_: Type, *, is_terminal: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)
    daemon = SlowDaemon(permission("r1"))

    _, said, shown = type_(daemon, "deny", "r1")

    line = "\r\x1b[KWaiting until the agent has taken the answer …\r\x1b[K"
    assert said == "Denied: May it use Bash? r1\n"
    assert shown == (line if is_terminal else "")
    assert daemon.waits == [1.0, 60]


@pytest.mark.spec("D1")
@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
@pytest.mark.parametrize(
    ("session", "more", "is_limited"),
    [("fix", [], True), ("fix", ["--everywhere"], False), ("anna", [], False)],
)
def test_a_rule_from_a_worktree_is_said_to_apply_only_there(
    type_: Type, session: str, dry_run: list[str], more: list[str], *, is_limited: bool
) -> None:
    daemon = Daemon(permission("r1", session))

    _, out, _ = type_(daemon, "allow", "r1", "--always", *more, *dry_run)

    assert ("It applies only in this worktree, /worktrees/fix:" in out) is is_limited
    assert ("For all projects:  --everywhere" in out) is is_limited
