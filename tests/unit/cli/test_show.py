"""Everything about one session, at several widths, with the commands that go on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rookery.client.permissions import RequestInfo
from rookery.model.messages import EXPIRY
from rookery.presentation.cells import cells
from rookery.presentation.next_steps import next_commands, watch_command
from tests.support.cli import Scripted, made, session, typed

pytestmark = pytest.mark.spec("I5")

AT = "2026-11-18T12:00:00+00:00"


def details(**known: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    shown = made(
        "api",
        id="12345678-0000",
        activity="working",
        last_prompt_at=AT,
        last_tool="Bash",
        tool_argument="npm test -- --watch=false packages/api packages/web packages/docs",
        tool_at=AT,
        model="opus",
        branch="main",
        cost_usd=0.5,
        transcript_path="/t.jsonl",
        tmux_session="rk_1",
        last_activity_at=AT,
        created_at=AT,
        **known,
    )
    last = {"prompt": "Fix\x1b[2J it", "answer": "\n".join(map(str, range(20)))}
    boss = {"id": "abcdefgh-1", "name": "boss", "status": "running"}
    return {"session": shown, "parent": boss, "children": [], "turns": 3, "last": last}


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_all_facts_are_shown_within_the_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    typed(monkeypatch, Scripted(sessions=details()), "show", "api")

    told = capsys.readouterr().out
    assert max(map(cells, told.splitlines())) <= columns
    assert "\x1b" not in told
    for each in ("opus", "main", "$0.5000", "boss (running", "12345678-0000", "rk_1"):
        assert each in told
    assert "… (12 more lines)" in told


@pytest.mark.parametrize(
    ("last", "seen"), [({"ended_at": AT}, [{"until": AT}]), ({"ended_at": None}, [])]
)
def test_only_an_answer_that_it_shows_counts_as_seen(
    monkeypatch: pytest.MonkeyPatch, last: dict[str, Any], seen: list[object]
) -> None:
    shown = details(last_answer_at="2026-11-18T11:00:00+00:00")
    client = Scripted(sessions={**shown, "last": {**shown["last"], **last}})
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)

    typed(monkeypatch, client, "show", "api")

    assert [given for path, given in client.asked if path[-1] == "seen"] == seen


@pytest.mark.parametrize(
    ("runtime", "shown"),
    [("tmux", "tmux"), ("acp", "driven (acp)"), ("observed", "observed")],
)
def test_the_runtime_is_named(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    runtime: str,
    shown: str,
) -> None:
    typed(monkeypatch, Scripted(sessions=details(runtime=runtime)), "show", "api")

    assert f"  runtime      {shown}\n" in capsys.readouterr().out


def test_profile_and_tags_are_shown_if_there_are_any(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    labelled = details(profile="work", tags=["web", "urgent"])
    typed(monkeypatch, Scripted(sessions=labelled), "show", "api")
    shown = capsys.readouterr().out
    typed(monkeypatch, Scripted(sessions=details()), "show", "api")
    plain = capsys.readouterr().out

    assert "  profile      work\n" in shown
    assert "  tags         web, urgent\n" in shown
    assert "profile" not in plain
    assert "tags" not in plain


def test_programs_get_all_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = details(mood="good")

    typed(monkeypatch, Scripted(sessions=sent), "inspect", "api", "--json")

    assert json.loads(capsys.readouterr().out) == sent


KILLED = {"ended_at": AT, "activity": None, "status": "killed"}


@pytest.mark.parametrize(
    ("known", "first"),
    [
        ({}, "rookery send api WORDS"),
        ({"activity": "working"}, "rookery logs api -f"),
        ({"activity": "question"}, "rookery permissions"),
        ({**KILLED, "native_id": "1234"}, "rookery resume api"),
        (KILLED, "rookery logs api"),
    ],
)
def test_the_next_commands_fit_the_state(known: dict[str, Any], first: str) -> None:
    steps = next_commands(session("api", **known), [])

    assert steps[0].startswith(first)
    assert 2 <= len(steps) <= 4


@pytest.mark.parametrize("runtime", ["tmux", "sdk"])
def test_a_session_that_has_ended_is_not_offered_to_be_watched(runtime: str) -> None:
    ended = session("api", runtime=runtime, **KILLED)

    assert watch_command(ended, "api") == "rookery show api"


def test_an_open_request_is_answered_by_its_id() -> None:
    asking = session("api", activity="permission")

    steps = next_commands(asking, [RequestInfo(id="r1", kind="permission")])

    assert [each.split()[1:3] for each in steps[:2]] == [["allow", "r1"], ["deny", "r1"]]


def test_a_session_without_a_terminal_cannot_be_attached_to() -> None:
    steps = next_commands(session("ci", runtime="headless"), [])

    assert not any("attach" in each for each in steps)


@pytest.mark.spec("G6")
def test_an_estimated_cost_is_marked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, Scripted(sessions=details(estimated_cost=1)), "show", "api")

    assert "$0.5000 (estimated)" in capsys.readouterr().out


def test_why_names_the_turn_that_was_cut_off_before_a_session_was_resumed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    resumed = made("api", continues="old", cut_off="Fix it")
    daemon = Scripted(sessions=[{"session": resumed}, {"session": resumed}])

    typed(monkeypatch, daemon, "why", "api")

    assert "before it was resumed was cut off: Fix it\n" in capsys.readouterr().out


@pytest.mark.spec("L4")
def test_an_overlap_is_shown_with_its_file_and_the_other_session(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = {**details(), "overlap": "web also changed src/a.py"}

    typed(monkeypatch, Scripted(sessions=shared), "show", "api")

    assert "  overlap      web also changed src/a.py\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("by", "shown"), [(EXPIRY, "expired before it could be sent"), ("person", "withdrawn")]
)
def test_a_message_that_expired_is_not_called_withdrawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], by: str, shown: str
) -> None:
    kept = {"step": "withdrawn", "withdrawn_by": by, "words": "Ship it"}

    typed(monkeypatch, Scripted(sessions={**details(), "queue": [kept]}), "show", "api")

    assert f"  message      {shown}: Ship it\n" in capsys.readouterr().out
