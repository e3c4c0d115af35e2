"""What `rookery stats` prints, at several widths."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click
import pytest

from rookery.cli.statistics_table import StatisticsTable
from rookery.client.decoding import read
from rookery.client.statistics import StatisticsInfo
from rookery.presentation.amounts import cost_text, duration
from rookery.presentation.bars import bar
from rookery.presentation.cells import cells
from tests.support.cli import Scripted, typed

pytestmark = pytest.mark.spec("A11", "I5")

SNAPSHOTS = Path(__file__).with_name("snapshots")


def used(label: str, sessions: int, tokens: int, cost: float | None, **more: int) -> Any:  # noqa: ANN401 - JSON
    return {
        "label": label,
        "launched": sessions,
        "found": 0,
        "turns": 4 * sessions,
        "input_tokens": tokens,
        "output_tokens": tokens // 10,
        "cost_usd": cost,
        "estimated_cost": 0,
        **more,
    }


def a_month(**known: object) -> dict[str, Any]:
    days = [used(f"2026-11-{day:02}", day, 3_000 * day, None) for day in range(1, 4)]
    days += [used(f"2026-11-{day:02}", day, 90_000 * day, 0.4 * day) for day in range(4, 18)]
    today = used("2026-11-18", 2, 1_250_000, 12.5, estimated_cost=500_000, found=1)
    return {
        "launched": 172,
        "found": 3,
        "live": 2,
        "by_status": {"completed": 160, "failed": 9, "killed": 4, "running": 2},
        "total_seconds": 1_100_000.0,
        "average_seconds": 6_358.4,
        "turns": 700,
        "input_tokens": 14_500_000,
        "output_tokens": 1_450_000,
        "cost_usd": 71.3,
        "estimated_cost": 500_000,
        "most_expensive": {
            "name": "a-session-with-quite-a-long-name-言葉",
            "tokens": 2_200_000,
            "cost_usd": 12.25,
            "estimated_cost": 0,
        },
        "agents": [
            used("claude", 120, 12_000_000, 60.3),
            used("codex", 50, 2_500_000, 11.0, estimated_cost=500_000),
            used("demo", 2, 0, None, found=3),
            used("gemini", 1, 800, None),
        ],
        "days": [*days, today],
        **known,
    }


def lines(width: int, **known: object) -> list[str]:
    return StatisticsTable(read(StatisticsInfo, a_month(**known))).lines(width)


def check(name: str, shown: list[str]) -> None:
    file, text = SNAPSHOTS / f"{name}.txt", "\n".join([*shown, ""])
    if "ROOKERY_WRITE_SNAPSHOTS" in os.environ:
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_statistics_look_as_they_did(columns: int) -> None:
    shown = lines(columns)

    check(f"stats-{columns}", shown)
    assert max(map(cells, shown)) <= columns


def test_bars_are_coloured_where_colours_are_wanted() -> None:
    context = click.Context(click.Command("stats"))
    context.color = True

    with context:
        shown = lines(80)

    assert any("\x1b[36m█" in line for line in shown)
    assert [click.unstyle(line) for line in shown] == lines(80)


def test_without_any_cost_the_bars_show_tokens() -> None:
    days = [used("2026-11-17", 1, 500, None), used("2026-11-18", 1, 1_000, None)]

    *_, first, second = lines(80, days=days)

    assert 2 * first.count("█") == second.count("█") > 10


def test_notes_explain_the_signs_and_name_the_command_for_more() -> None:
    whole = StatisticsTable(read(StatisticsInfo, a_month()))
    known = {"agents": [used("demo", 1, 0, None)], "days": [], "estimated_cost": 0}
    plain = StatisticsTable(read(StatisticsInfo, a_month(**known)))

    assert [*whole.notes()] == [
        "4 earlier days left out. Show them:  rookery stats --days 365",
        "~ is a cost that was estimated with the prices of your configuration.",
        "– is a cost that is not known. Set prices to estimate it:  rookery stats --help",
    ]
    assert [*plain.notes()] == []


def test_all_days_are_shown_if_the_user_says_how_many(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Scripted(stats=a_month())

    typed(monkeypatch, client, "stats", "--days", "30", "--agent", "claude")

    shown = capsys.readouterr().out
    assert client.asked == [(("stats",), {"days": 30, "agent": "claude"})]
    assert "2026-11-01" in shown
    assert "earlier day" not in shown


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), 'Nothing to count yet. Start a session:  rookery start demo "say: Hello"\n'),
        (("--days", "1"), "No session in the last 1 day. See all:  rookery stats\n"),
        (
            ("--days", "7", "--agent", "demo"),
            "No session of demo in the last 7 days. See all:  rookery stats\n",
        ),
    ],
)
def test_without_sessions_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    sentence: str,
) -> None:
    code = typed(monkeypatch, Scripted(stats={}), "stats", *options)

    assert (code, capsys.readouterr().out) == (None, sentence)


def test_programs_get_everything_that_the_daemon_sends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = a_month(later="field")

    typed(monkeypatch, Scripted(stats=sent), "stats", "--json")

    assert json.loads(capsys.readouterr().out) == sent


def test_the_name_of_a_session_cannot_control_the_terminal() -> None:
    expense = {"name": "\x1b[2Jx\ny", "tokens": 1, "cost_usd": None, "estimated_cost": 0}

    assert "Most expensive: [2Jx y, 1 tokens" in lines(80, most_expensive=expense)


@pytest.mark.parametrize(
    ("cost", "text"),
    [(None, "–"), (0.0, "$0.00"), (0.0042, "$0.0042"), (1_234.5, "$1,234.50")],
)
def test_small_costs_are_not_shown_as_nothing(cost: float | None, text: str) -> None:
    assert cost_text(cost) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(4, "4 s"), (65, "1 min 5 s"), (7_320, "2 h 2 min")]
)
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("amount", "drawn"), [(0, ""), (0.001, "▏"), (5, "██▌"), (10, "█████")]
)
def test_bars_are_drawn_in_eighths_and_small_amounts_stay_visible(
    amount: float, drawn: str
) -> None:
    assert bar(amount, 10, 5) == drawn
