"""The table of ``rookery ls``: its columns, their order and their widths.

The tables in the folder ``snapshots`` are compared exactly. After a wanted change, write them
again with ``ROOKERY_WRITE_SNAPSHOTS=1 pytest tests/unit/cli/test_session_table.py`` and read
the difference.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest

from rookery.cli.session_table import SessionTable
from rookery.client.sessions import ListedSession, WaitingInfo
from rookery.presentation.cells import cells
from tests.support.cli import session

pytestmark = pytest.mark.spec("I5")

SNAPSHOTS = Path(__file__).with_name("snapshots")

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


def ago(**time: float) -> str:
    return (NOW - timedelta(**time)).isoformat()


def a_day() -> SessionTable:
    """Return the table of a working day: all states, long texts, sessions of other programs."""
    command = "rm -rf build && npm run build -- --mode production --report verbose"
    sessions = [
        session(
            "api",
            agent="claude",
            project_path="/home/anna/work/api",
            branch="main",
            since=ago(minutes=4),
            last_answer="All 214 tests pass; the login test waited for a port that was taken.",
            is_unread=True,
            model="opus",
            input_tokens=576_000,
            output_tokens=892,
            cost_usd=1.234,
        ),
        session(
            "web",
            agent="claude",
            activity="permission",
            project_path="/home/anna/work/web",
            branch="feature/new-login-page",
            since=ago(seconds=35),
            reason=f"May it use Bash? {command}",
            asked_tool="Bash",
            asked_argument=command,
            permission_mode="acceptEdits",
        ),
        session(
            "infra",
            agent="codex",
            activity="working",
            project_path="/home/anna/work/infra",
            branch="main",
            since=ago(minutes=2),
            last_prompt="Upgrade the cluster",
            last_prompt_at=ago(minutes=2),
            last_tool="Bash",
            tool_argument="terraform plan -out plan.bin\nterraform show plan.bin",
            tool_at=ago(seconds=40),
        ),
        session(
            "thinker",
            agent="gemini",
            activity="working",
            project_path="/home/anna/work/docs",
            since=ago(seconds=12),
            last_prompt="Summarise 言葉 the notes of the last meeting for people who were away",
            last_prompt_at=ago(seconds=12),
            last_tool="ReadFile",
            tool_argument="old.md",
            tool_at=ago(minutes=20),
        ),
        session(
            "docs",
            agent="gemini",
            activity="question",
            project_path="/home/anna/work/docs",
            since=ago(minutes=5),
            reason="Which database should the examples use?",
        ),
        session(
            "tools",
            agent="opencode",
            reason="failed",
            project_path="/home/anna/work/tools",
            since=ago(minutes=9),
        ),
        session(
            "web-2",
            agent="claude",
            runtime="observed",
            label="review",
            project_path="/home/anna/work/web",
            branch="feature/new-login-page",
            since=ago(hours=3),
            last_answer="Two comments are left.",
        ),
        session(
            "ci",
            agent="claude",
            runtime="headless",
            project_path="/home/anna/work/ci",
            since=ago(days=2),
            last_outcome="interrupted",
            last_prompt="Check the pipeline",
        ),
        session(
            "quick",
            agent="claude",
            runtime="sdk",
            project_path="/home/anna/work/ci",
            since=ago(minutes=6),
            last_answer="The pipeline is green again.",
        ),
        session(
            "crashed",
            status="failed",
            activity=None,
            project_path="/home/anna/work/api",
            since=ago(minutes=20),
            ended_at=ago(minutes=20),
            reason="it exited with status 7; its screen ended with:\nOh no",
        ),
        session(
            "w1",
            status="killed",
            activity=None,
            ended_by="person",
            project_path="/home/anna/work/api",
            since=ago(minutes=13),
            ended_at=ago(minutes=13),
        ),
        session(
            "new",
            status="starting",
            activity=None,
            title="",
            project_path="/home/anna/work/new",
            since=ago(seconds=1),
        ),
    ]
    return SessionTable(
        sessions,
        kept={"infra": WaitingInfo(messages=2, why="it is working")},
        failures={"tools": "API Error: 400\nThe account is closed."},
        notes={"web": ("its terminal takes over in 4m10s", "4m10s")},
        now=NOW,
    )


def check(name: str, lines: list[str]) -> None:
    file, text = SNAPSHOTS / f"{name}.txt", "\n".join([*lines, ""])
    if "ROOKERY_WRITE_SNAPSHOTS" in os.environ:
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text


def coloured() -> click.Context:
    context = click.Context(click.Command("ls"))
    context.color = True
    return context


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
@pytest.mark.parametrize("colour", ["plain", "colour"])
def test_the_table_looks_as_it_did(columns: int, colour: str) -> None:
    if colour == "plain":
        lines = a_day().lines(columns)
    else:
        with coloured():
            lines = a_day().lines(columns)

    check(f"ls-{columns}-{colour}", lines)
    assert max(cells(click.unstyle(line)) for line in lines) <= columns


def test_the_long_table_looks_as_it_did() -> None:
    table = a_day()

    check("ls-long-200", SessionTable(table.sessions, is_long=True, now=NOW).lines(200))


def what_column(lines: list[str], columns: int) -> int:
    return columns - lines[0].index("WHAT")


def test_at_80_columns_the_last_column_has_room() -> None:
    assert what_column(a_day().lines(80), 80) >= 30


def test_at_200_columns_nothing_is_cut_that_fits() -> None:
    assert not any("…" in line for line in a_day().lines(200))


def rows(*sessions: ListedSession, **more: object) -> list[str]:
    return SessionTable(sessions, **more).lines(120)[1:]  # type: ignore[arg-type]


def names(*sessions: ListedSession) -> list[str]:
    return [row.split()[0] for row in rows(*sessions)]


def test_sessions_are_listed_in_the_order_in_which_a_person_deals_with_them() -> None:
    sessions = [
        session("over", status="completed", activity=None, ended_at=ago(hours=1)),
        session("read"),
        session("unread", is_unread=True),
        session("closing", status="closing", activity=None),
        session("starting", status="starting", activity=None),
        session("working", activity="working"),
        session("crashed", status="failed", activity=None, ended_at=ago(minutes=1)),
        session("failing", reason="failed", since=ago(minutes=2)),
        session("asked-late", activity="question", since=ago(minutes=1)),
        session("asked-early", activity="permission", since=ago(minutes=2)),
    ]

    assert names(*sessions) == [
        *("asked-early", "asked-late", "crashed", "failing", "working", "starting"),
        *("unread", "read", "closing", "over"),
    ]


def test_a_tree_lifts_a_family_whose_member_needs_its_person() -> None:
    sessions = [
        session("idle-boss", parent=None, created_at="2026-11-01T00:00:00+00:00"),
        session("boss", parent=None, created_at="2026-11-02T00:00:00+00:00"),
        session("worker", parent="boss", activity="working"),
        session("helper", parent="worker", activity="permission", reason="May it?"),
        session("orphan", parent="long-gone", activity="working"),
    ]

    lines = SessionTable(sessions, is_tree=True).lines(120)[1:]

    shown = [line.split("  demo")[0].rstrip() for line in lines]
    assert shown == ["boss", "  worker", "    helper", "orphan", "idle-boss"]


@pytest.mark.parametrize(
    ("columns", "titles"),
    [
        (100, ["NAME", "AGENT", "STATE", "SINCE", "PROJECT", "WHAT"]),
        (67, ["NAME", "STATE", "SINCE", "WHAT"]),
        (58, ["NAME", "STATE", "WHAT"]),
        (40, ["NAME", "STATE", "WHAT"]),
        (20, ["NAME", "STATE"]),
    ],
)
def test_a_narrow_table_keeps_names_and_states_whole(columns: int, titles: list[str]) -> None:
    reason = "May it use Bash? npm test -- --watch=false"
    one = session("fix-parser-tests", activity="permission", reason=reason)

    head, row = SessionTable([one]).lines(columns)

    assert head.split() == titles
    assert row.startswith("fix-parser-tests")
    assert "permission" in row


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_a_table_fits(columns: int) -> None:
    long = session("builder", project_path="/very/long/path" * 10, title="言葉 " * 60)

    lines = SessionTable([long]).lines(columns)

    assert max(map(cells, lines)) <= columns
    assert lines[1].endswith("…")


def test_folders_are_cut_at_their_start() -> None:
    long = session("a", project_path=f"/{'deep/' * 30}web", title="言葉 " * 60)
    other = session("b", project_path="/elsewhere")

    row = rows(long, other)[0]

    assert re.search(r"…\S*/web ", row)


def test_text_of_an_agent_cannot_add_a_row_or_control_the_terminal() -> None:
    evil = "red\x1b[2J\nWHAT  fake  row\x9b31m\r"
    one = session("a", activity="working", last_tool=evil, tool_argument=evil, tool_at=ago())

    (row,) = rows(one)

    assert not set(row) & set("\x1b\x9b\r\n")


@pytest.mark.spec("G6")
def test_an_estimated_cost_is_marked_in_the_long_table() -> None:
    priced = session("priced", cost_usd=1.234, estimated_cost=1)

    (row,) = rows(priced, is_long=True)

    assert "  ~$1.23  " in row


@pytest.mark.spec("G6")
@pytest.mark.spec("A4")
def test_the_long_table_has_a_column_of_profiles_if_a_session_has_one() -> None:
    named = [session("api", profile="work"), session("web")]

    (head, *rows), (plain, _) = (
        SessionTable(each, is_long=True, now=NOW).lines(200) for each in (named, named[1:])
    )

    assert "PROFILE" in head
    assert sum("  work  " in row for row in rows) == 1
    assert "PROFILE" not in plain


def test_the_long_table_has_the_size_of_the_context_if_it_is_known() -> None:
    known, unknown = session("known", context_tokens=45_231), session("unknown")

    (first, second) = rows(known, unknown, is_long=True)

    assert "  45.2k  " in first
    assert "  –  " in second


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 120])
@pytest.mark.parametrize(
    ("runtime", "mark"), [("sdk", "driven"), ("observed", "observed"), ("tmux", "")]
)
def test_a_session_without_a_terminal_of_rookery_is_marked(
    columns: int, runtime: str, mark: str
) -> None:
    (_, row) = SessionTable([session("a", runtime=runtime)]).lines(columns)

    marks = {each for each in ("driven", "observed", "sdk", "tmux") if each in row}
    assert marks == ({mark} if mark else set())


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("runtime", ["tmux", "sdk", "acp", "observed", "headless"])
def test_the_long_table_names_the_runtime(columns: int, runtime: str) -> None:
    (head, row) = SessionTable([session("a", runtime=runtime)], is_long=True).lines(columns)

    assert row[head.index("RUNTIME") :].split()[0] == runtime
    assert row.count(runtime) == 1


def test_a_narrow_long_table_marks_sessions_and_has_room_for_what_they_do() -> None:
    one = session("quick", runtime="acp", last_answer="Done")

    (head, row) = SessionTable([one], is_long=True).lines(40)

    assert "RUNTIME" not in head
    assert "driven" in row
