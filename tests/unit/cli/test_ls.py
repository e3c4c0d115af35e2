"""The options of ``rookery ls``: which sessions are listed, and how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Scripted, made, typed

pytestmark = pytest.mark.spec("I5")

OVER: dict[str, Any] = {"activity": None, "ended_at": "2026-11-18T12:00:00+00:00"}


def listing(*sessions: dict[str, Any], **more: object) -> Scripted:
    return Scripted(sessions={"sessions": [*sessions], **more})


@pytest.fixture
def ls(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:  # noqa: ANN401 - a function
    def run(client: Scripted, *words: str) -> str:
        assert typed(monkeypatch, client, "ls", *words) in {None, 0}
        return capsys.readouterr().out

    monkeypatch.setenv("COLUMNS", "120")
    return run


def names(told: str) -> list[str]:
    return [line.split()[0] for line in told.splitlines()]


def test_no_sessions_are_an_invitation(ls: Any) -> None:  # noqa: ANN401
    assert "rookery start" in ls(listing())


def test_ended_sessions_are_listed_only_on_request(ls: Any) -> None:  # noqa: ANN401
    sessions = [
        made("live"),
        made("polite", status="killed", ended_by="person", **OVER),
        made("crashed", status="failed", **OVER),
    ]
    usual, all_of_them = listing(*sessions), listing(*sessions)

    assert names(ls(usual)) == ["NAME", "crashed", "live"]
    assert names(ls(all_of_them, "-a")) == ["NAME", "crashed", "live", "polite"]
    assert [query for _, query in (*usual.asked, *all_of_them.asked)] == [{}, {"all": True}]


def test_a_misspelt_agent_is_told_which_may_be_meant(
    ls: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert typed(monkeypatch, listing(made("a")), "ls", "--agent", "clude") == 2

    assert capsys.readouterr().err == "rookery: Unknown agent: 'clude'. Did you mean claude?\n"
    assert "No session matches" in ls(listing(made("a")), "--agent", "claude")


def test_a_list_in_which_all_are_left_out_says_so(ls: Any) -> None:  # noqa: ANN401
    told = ls(listing(made("polite", status="killed", ended_by="person", **OVER)))

    assert told == "No session is live; 1 session ended recently. Show them:  rookery ls -a\n"


def test_programs_get_all_sessions_with_all_fields(ls: Any) -> None:  # noqa: ANN401
    over = made("polite", status="killed", mood="good", **OVER)

    told = json.loads(ls(listing(made("live"), over, holding=True), "--json"))

    assert [each["name"] for each in told["sessions"]] == ["live", "polite"]
    assert told["sessions"][1]["mood"] == "good"
    assert told["holding"] is True


def test_only_names_are_listed_for_other_commands(ls: Any) -> None:  # noqa: ANN401
    asking = made("b", activity="question", reason="Which?")

    assert ls(listing(made("a"), asking), "-q") == "b\na\n"


def test_lists_can_be_limited(ls: Any, tmp_path: Path) -> None:  # noqa: ANN401
    (tmp_path / "web").mkdir()
    sessions = [
        made("idle", agent="claude", project_path=str(tmp_path / "web")),
        made("asking", activity="permission", reason="May it?", project_path="/elsewhere"),
    ]

    def found(*words: str) -> list[str]:
        return names(ls(listing(*sessions), "-q", *words))

    assert found("--waiting") == ["asking"]
    assert found("--agent", "claude") == ["idle"]
    assert found("--project", str(tmp_path)) == ["idle"]
    assert found("--project", str(tmp_path / "we")) == []
    told = json.loads(ls(listing(*sessions), "--json", "--waiting"))
    assert [each["name"] for each in told["sessions"]] == ["asking"]


def test_an_empty_selection_says_what_is_missing(ls: Any) -> None:  # noqa: ANN401
    assert ls(listing(made("a")), "--waiting") == "No session needs you.\n"
    # The daemon filters by tag: its list is empty although there are sessions.
    assert ls(listing(), "--tag", "x") == "No session matches. See all:  rookery ls -a\n"
    assert "rookery ls -a" in ls(listing(made("a")), "--agent", "gemini")


def test_the_long_list_has_ids_models_and_costs(ls: Any) -> None:  # noqa: ANN401
    one = made("a", id="12345678-90", model="opus", cost_usd=1.5, input_tokens=1_000)

    head, row = ls(listing(one), "-l").splitlines()

    assert {"ID", "MODEL", "TOKENS", "COST"} <= set(head.split())
    assert {"12345678", "opus", "1,000", "$1.50"} <= set(row.split())


@pytest.mark.parametrize(("choice", "coloured"), [("always", True), ("never", False)])
def test_colours_can_be_chosen(
    ls: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
    choice: str,
    *,
    coloured: bool,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    told = ls(listing(made("a", activity="working")), "--color", choice)

    assert ("\x1b[32m" in told) is coloured


def test_watching_is_for_people(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(monkeypatch, listing(), "ls", "--watch", "--json") == 2
    assert "rookery events" in capsys.readouterr().err


def test_a_session_in_a_worktree_belongs_to_its_repository(
    ls: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    shop, tree = tmp_path / "shop", tmp_path / "state" / "fix"
    worktree = {"path": str(tree), "repository": f"{shop}/.git", "branch": "rookery/fix"}
    fix = made("fix", project_path=f"{tree}/api", workspace=worktree, branch="rookery/fix")
    sessions = listing(made("plain", project_path=str(shop)), fix, made("other"))

    told = ls(sessions, "--project", str(shop))

    assert names(told) == ["NAME", "plain", "fix"]
    assert "shop/api  rookery/fix" in told


@pytest.mark.spec("L2")
def test_a_long_list_shows_how_far_a_worktree_is_from_its_base(
    ls: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worktree = {"path": "/w/fix", "repository": "/shop/.git", "branch": "rookery/fix"}
    fix = made("fix", project_path="/w/fix", workspace=worktree, branch="rookery/fix")
    daemon = listing(fix, made("plain"))
    found = {"session": fix["id"], "in_use": True, "ahead": 2, "behind": 1, "dirty": 3}
    daemon.answers["workspaces"] = {"root": "/w", "workspaces": [found]}
    monkeypatch.setenv("COLUMNS", "200")

    assert "rookery/fix (+2 -1, 3 dirty)" in ls(daemon, "-l")


def test_a_child_in_the_worktree_of_an_ended_session_belongs_to_the_repository(
    ls: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    shop, tree = str(tmp_path / "shop"), str(tmp_path / "state" / "fix")
    worktree = {"path": tree, "repository": f"{shop}/.git"}
    over = {"status": "killed", "activity": None, "ended_at": "2026-11-18T12:00:00Z"}
    fix = made("fix", project_path=tree, workspace=worktree, **over)

    told = ls(listing(fix, made("child", project_path=tree)), "--project", shop)

    assert names(told) == ["NAME", "child"]
    assert "  shop  " in told


def test_a_changed_configuration_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, listing(made("a"), config_note="config.toml has changed."), "ls")

    assert "config.toml has changed." in capsys.readouterr().err


def test_an_unknown_agent_is_refused_with_the_names_of_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = listing(made("a", agent="goose"))

    assert typed(monkeypatch, listed, "ls", "--agent", "nosuch") == 2

    said = capsys.readouterr().err
    assert said.startswith("rookery: Unknown agent: 'nosuch'. There are: claude, codex, demo,")
    assert "goose" in said
    assert not typed(monkeypatch, listed, "ls", "--agent", "goose")
