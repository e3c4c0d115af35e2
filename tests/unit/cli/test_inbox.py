"""What the commands for the queue say, and what they ask."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rookery.cli.exit_codes import UNKNOWN
from rookery.cli.prompts import words_of
from rookery.model.errors import Answered, BadInput
from rookery.model.messages import EXPIRY, MAX_MESSAGE_BYTES
from tests.support.cli import FakeClient, Scripted, made, typed

THEN = (datetime.now(UTC) - timedelta(minutes=150)).isoformat()


def letter(**more: object) -> dict[str, object]:
    usual = {"message": 7, "session": "worker", "author": "person", "words": "Hello"}
    return {**usual, "step": "pending", "waits_for": "", "written_at": THEN, **more}


@pytest.fixture
def daemon() -> Scripted:
    return Scripted(sessions={"sessions": [made("worker", activity="working")]})


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"step": "withdrawn", "withdrawn_by": EXPIRY}, "expired before it could be sent."),
        ({"step": "withdrawn", "withdrawn_by": "person"}, "withdrawn by you."),
        ({"step": "unsure", "cleared_at": THEN}, "it may not have arrived. (cleared)"),
        ({"step": "failed", "repeats": 3}, "2h ago, again after 3: not delivered."),
        ({"expires_at": THEN}, "when it stops (it expires in 0s)."),
    ],
)
def test_the_inbox_says_what_became_of_a_message(
    daemon: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    known: dict[str, object],
    said: str,
) -> None:
    daemon.answers["inbox"] = {"letters": [letter(**known)], "holding": False}

    assert typed(monkeypatch, daemon, "inbox", "worker") is None

    assert said in capsys.readouterr().out
    assert daemon.asked[0] == (("inbox",), {"session": "worker"})


class Withdrawing(FakeClient):
    """A daemon that withdraws message 7 only."""

    def post(self, *path: str, **body: object) -> object:
        if path[1] == "7":
            return {"id": 7, "step": "withdrawn", "withdrawn_by": "person"}
        raise Answered("command-refused", f"message {path[1]} was sent already")


@pytest.mark.spec("I5")
def test_what_cannot_be_withdrawn_does_not_keep_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(monkeypatch, Withdrawing(), "inbox", "rm", "6", "7") == 1

    said = capsys.readouterr()
    assert said.out == "Withdrew 7.\n"
    assert "message 6 was sent already" in said.err


class Refusing(FakeClient):
    """A daemon that knows no message."""

    def post(self, *path: str, **body: object) -> object:
        raise Answered("message-unknown", f"There is no message {path[1]}.")


@pytest.mark.spec("I5")
def test_a_message_that_is_unknown_is_refused_like_by_the_other_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Refusing()

    for command in (("rm",), ("resend",)):
        assert typed(monkeypatch, daemon, "inbox", *command, "9999", "--json") == UNKNOWN
        said = capsys.readouterr()
        assert said.out == ""
        assert json.loads(said.err)["error"]["code"] == "message-unknown"


@pytest.mark.spec("I5")
def test_json_says_which_messages_could_not_be_withdrawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(monkeypatch, Withdrawing(), "inbox", "rm", "6", "7", "--json") == 1

    shown = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in shown["messages"]] == [7]
    assert shown["failed"] == {"6": "message 6 was sent already"}


@pytest.mark.spec("I5")
def test_a_text_comes_from_arguments_or_a_file(tmp_path: Path) -> None:
    text = tmp_path / "prompt.md"
    text.write_text("From a file.")
    with text.open("rb") as file:
        assert words_of((), file) == "From a file."
    assert words_of(("From", "arguments."), None) == "From arguments."


@pytest.mark.parametrize(
    ("words", "data", "why"),
    [
        (("x",), b"y", "not both"),
        ((), None, "give a text"),
        ((), b"a\0b", "NUL"),
        ((), b"\xff\xfe", "not UTF-8"),
        ((), b"x" * (MAX_MESSAGE_BYTES + 1), "Send its path instead"),
    ],
)
def test_a_text_that_cannot_be_sent_is_refused(
    words: tuple[str, ...], data: bytes | None, why: str
) -> None:
    file = None if data is None else io.BytesIO(data)
    if file:
        file.name = "prompt.md"
    with pytest.raises(BadInput, match=why):
        words_of(words, file)


@pytest.mark.spec("I5")
def test_the_options_of_a_message_reach_the_daemon(
    daemon: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.answers["messages"] = {"message": {"id": 1, "step": "acknowledged"}}
    daemon.answers["sessions"] = [made("api"), {"id": 1, "step": "pending"}]

    assert typed(monkeypatch, daemon, "send", "api", "--now", "--expire", "10m", "Go") is None

    asked = {"words": "Go", "now": True, "expire": 600.0}
    assert daemon.asked[1] == (("sessions", "api", "messages"), asked)


@pytest.mark.spec("I5")
def test_a_long_message_is_wrapped_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    words = "Please run the whole test suite again before you commit anything"
    letter = {
        "message": 7,
        "session": "api",
        "step": "pending",
        "words": words,
        "author": "person",
        "written_at": "2026-11-18T12:00:00+00:00",
    }
    daemon = Scripted(inbox={"letters": [letter]}, sessions={"sessions": [made("api")]})

    typed(monkeypatch, daemon, "inbox")

    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        *("    Please run the whole test suite", "    again before you commit anything"),
    ]
