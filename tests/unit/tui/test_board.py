from __future__ import annotations

import pytest

from rookery.client.decoding import read
from rookery.client.permissions import RequestInfo
from rookery.client.sessions import SessionList
from rookery.presentation.states import Standing
from rookery.tui.board import Board, BoardHeading, BoardSession, BoardView, Grouping
from tests.support.cli import made

pytestmark = pytest.mark.spec("I7")


def listed(*sessions: dict[str, object], **more: object) -> SessionList:
    return read(SessionList, {"sessions": [*sessions], **more})


def board(*sessions: dict[str, object], **more: object) -> Board:
    found = Board()
    found.replace(listed(*sessions, **more))
    return found


def shown(of: Board) -> list[str]:
    """Return the rows as text: headings in brackets, sessions indented by their depth."""
    return [
        f"[{row.title} {row.count}]"
        if isinstance(row, BoardHeading)
        else "  " * row.depth + row.session.name
        for row in of.rows()
    ]


def test_a_change_replaces_some_sessions_and_leaves_the_others() -> None:
    it = board(made("a"), made("b"), made("c"), failures={"a": "broken", "b": "too"})
    it.marked = {"a", "b"}

    it.merge(listed(made("a", title="New"), made("d")), ["a", "b", "d"])

    assert {*it.sessions} == {"a", "c", "d"}
    assert it.sessions["a"].title == "New"
    assert it.extras.failures == {}
    assert it.marked == {"a"}


def test_lost_sessions_are_told_of_unless_something_is_wrong() -> None:
    hint = "2 lost sessions can be resumed:  rookery resume --lost"

    assert board(made("a"), lost=2).trouble == hint
    assert board(made("a"), lost=2, hooks_problem="Hooks fail.").trouble == "Hooks fail."


def test_a_session_in_a_worktree_is_grouped_with_its_repository() -> None:
    worktree = {"path": "/state/shop-1/fix", "repository": "/code/shop/.git"}
    it = board(
        made("plain", project_path="/code/shop"),
        made("fix", project_path="/state/shop-1/fix", workspace=worktree),
        made("child", project_path="/state/shop-1/fix/api", parent="fix"),
    )
    it.grouping = Grouping.PROJECT

    assert shown(it) == ["[/code/shop 2]", "plain", "fix", "[/code/shop/api 1]", "child"]


def test_only_open_requests_count_and_the_oldest_comes_first() -> None:
    it = board(made("a"))
    common = {"session": "a", "outcome": "open"}
    asked = [
        {"id": "2", "asked_at": "2026-11-01T00:00:02Z", **common},
        {"id": "1", "asked_at": "2026-11-01T00:00:01Z", **common},
        {"id": "0", "asked_at": "2026-11-01T00:00:00Z", **common, "outcome": "allowed"},
    ]

    it.take_requests(read(RequestInfo, each) for each in asked)

    first = it.request_of("a")
    assert first is not None
    assert first.id == "1"
    assert len(it.requests["a"]) == 2
    assert it.request_of("b") is None


def test_a_family_stands_where_its_most_urgent_member_would() -> None:
    it = board(
        made("idle", created_at="2026-11-01T00:00:00Z"),
        made("parent", created_at="2026-11-01T00:00:01Z"),
        made("child", parent="parent", activity="question"),
        made("orphan", parent="unknown", activity="working"),
    )
    it.is_tree = True

    assert shown(it) == ["parent", "  child", "orphan", "idle"]


def test_a_session_is_in_the_group_of_each_of_its_tags() -> None:
    it = board(made("a", tags=["front", "ui"]), made("b", tags=["ui"]), made("c"))
    it.grouping = Grouping.TAG

    assert shown(it) == ["[front 1]", "a", "[ui 2]", "a", "b", "[no tag 1]", "c"]


def test_groups_are_in_the_order_of_their_most_urgent_session() -> None:
    it = board(
        made("a", project_path="/one"),
        made("b", project_path="/two", activity="permission"),
        made("c", project_path="/one", activity="working"),
    )
    it.grouping = Grouping.PROJECT

    assert shown(it) == ["[/two 1]", "b", "[/one 2]", "c", "a"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("api", ["api", "apish", "rapid"]),  # a name, a beginning, a part
        ("shop", ["api"]),  # a folder
        ("LOGIN", ["rapid"]),  # a prompt
        ("done api", ["apish"]),  # every word, an answer too
        ("rpd", ["rapid"]),  # letters in order
        ("xyz", []),
    ],
)
def test_a_search_finds_names_folders_prompts_and_answers(query: str, names: list[str]) -> None:
    it = board(
        made("rapid", first_prompt="Fix the login"),
        made("apish", last_answer="It is done."),
        made("api", project_path="/code/shop"),
    )
    it.query = query

    assert shown(it) == names


def test_letters_that_are_far_apart_are_no_match() -> None:
    it = board(made("a", title="write a long report about it"))
    it.query = "wri"

    assert shown(it) == ["a"]  # a word

    it.query = "wgb"
    assert shown(it) == []


def test_a_view_and_hidden_sessions() -> None:
    it = board(
        made("asks", activity="question"),
        made("works", activity="working"),
        made("fails", reason="failed"),
        made("away", hidden=True),
        made("over", status="completed", activity=None, ended_at="2026-11-01T00:00:00Z"),
    )
    found = {}
    for view in BoardView:
        it.view = view
        found[view] = shown(it)

    assert found == {
        BoardView.LIVE: ["asks", "fails", "works"],
        BoardView.WAITING: ["asks"],
        BoardView.WORKING: ["works"],
        BoardView.FAILED: ["fails"],
        BoardView.ALL: ["asks", "fails", "works", "over"],
    }
    it.shows_hidden = True
    assert "away" in shown(it)


def test_hidden_sessions_are_counted_only_while_they_need_the_user() -> None:
    it = board(made("asks", activity="question", hidden=True), made("away", hidden=True))

    assert (it.counts()[Standing.NEEDS_YOU], it.counts()[Standing.IDLE]) == (1, 0)


def test_the_next_unread_session_is_found_also_before_the_selected_one() -> None:
    it = board(made("a", is_unread=True), made("b"), made("c"))

    assert it.next_unread("b") == "a"
    assert it.next_unread("a") == ""
    assert it.next_unread("unknown") == "a"


def test_a_session_that_needs_the_user_comes_before_failures_and_answers() -> None:
    failed = {"status": "failed", "activity": None, "ended_at": "2026-11-01T00:00:00+00:00"}
    asking = [made(name, activity="permission") for name in ("one", "two")]
    it = board(*asking, made("failed", **failed), made("read", is_unread=True), made("b"))

    assert it.next_unread("two") == "one"  # the failure is nearer
    assert it.next_unread("failed") == "one"
    it.sessions = {each: it.sessions[each] for each in ("two", "failed", "read")}
    assert it.next_unread("two") == "failed"


def test_an_action_applies_to_the_marked_sessions_else_to_the_selected() -> None:
    it = board(made("a"), made("b"), made("c"))

    assert [each.id for each in it.targets("b")] == ["b"]
    it.marked = {"a", "c"}
    assert [each.id for each in it.targets("b")] == ["a", "c"]
    assert Board().targets("b") == []


def test_marks_and_mutes_are_in_the_rows() -> None:
    it = board(made("a"), made("b"))
    it.marked, it.muted = {"a"}, {"b"}

    rows = [row for row in it.rows() if isinstance(row, BoardSession)]
    assert [(row.is_marked, row.is_muted) for row in rows] == [(True, False), (False, True)]
