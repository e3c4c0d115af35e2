"""The screen at several sizes, compared character by character.

To write the files again, set ROOKERY_WRITE_SNAPSHOTS=1 in the environment of pytest; then look
at what has changed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.tui import FakeDaemon, ShownApp, shown

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I7")]

SNAPSHOTS = Path(__file__).parent / "snapshots"

SIZES = ((40, 20), (80, 24), (200, 50))


@pytest.fixture
def daemon() -> FakeDaemon:
    """Give sessions in every state, as on a working day."""
    daemon = FakeDaemon()
    daemon.add("planner", agent="claude", project_path="/code/shop", title="Plan the release")
    daemon.add(
        "api",
        agent="claude",
        project_path="/code/shop/api",
        parent="planner",
        model="opus",
        input_tokens=128_000,
        output_tokens=4_200,
        cost_usd=1.25,
        branch="fix-login",
    )
    daemon.add("web", agent="codex", project_path="/code/shop/web", parent="planner")
    daemon.add(
        "tests",
        agent="claude",
        activity="working",
        project_path="/code/shop/api",
        last_tool="Bash",
        tool_argument="make test",
        tool_at="2026-11-01T00:00:00Z",
        tool_ended_at="2026-11-01T00:00:02Z",
        title="Make the tests pass",
    )
    daemon.add("docs", agent="gemini", is_unread=True, last_answer="The README is ready.")
    daemon.add("lint", agent="opencode", reason="failed", title="Lint")
    daemon.failures["lint"] = "API error 529: overloaded"
    daemon.add("naïve-café-日本語", agent="demo", activity="working", title="翻訳する")
    daemon.add(
        "gone",
        agent="demo",
        status="killed",
        ended_at="2026-11-01T00:00:00Z",
        ended_by="person",
    )
    daemon.ask(
        "api",
        "7f3a",
        input={"command": "git push --force origin main", "description": "Publish the fix"},
        message="May it use Bash? git push --force origin main",
    )
    daemon.ask(
        "web",
        "81bc",
        kind="question",
        tool="AskUserQuestion",
        input={},
        message="Which library draws the charts?",
        questions=[
            {
                "text": "Which library draws the charts?",
                "options": ["ECharts", "Chart.js", "D3"],
                "descriptions": ["large, complete", "small", "most freedom"],
            }
        ],
    )
    _say(daemon)
    return daemon


def _say(daemon: FakeDaemon) -> None:
    answer = "The tests pass. I will publish it:\n\n```sh\ngit push --force origin main\n```"
    turn = {
        "number": 1,
        "prompt": "Fix the login and publish it.",
        "answer": answer,
        "started_at": "2026-11-01T00:00:00Z",
        "ended_at": "2026-11-01T00:02:00Z",
        "how": "finished",
    }
    calls = [
        {"at": "2026-11-01T00:00:10Z", "kind": "call", "text": "Read src/login.py"},
        {"at": "2026-11-01T00:00:20Z", "kind": "call", "text": "Bash make test"},
        {"at": "2026-11-01T00:00:50Z", "kind": "result", "text": "12 passed in 3 s"},
    ]
    for name in ("api", "web"):
        session = daemon.sessions[name]
        found = {"session": session, "turns": [turn], "transcript": calls}
        daemon.answers["sessions", name, "data"] = found


async def _settled(tui: ShownApp) -> str:
    """Return the screen once the preview is there."""
    has_preview = tui.app.size.width > 40 or "conversation" in tui.text
    if has_preview and tui.main.board.sessions:  # nothing is fetched for an empty list
        await tui.pilot.pause()
        await tui.until(lambda: _shows_selected(tui))
    await tui.pilot.pause()
    return tui.text


def _shows_selected(tui: ShownApp) -> bool:
    found = tui.main.preview.conversation
    return found is not None and found.session.id == tui.main.table.selected


async def _compare(tui: ShownApp, name: str) -> None:
    """Wait until the screen is the stored one; threads may still be about to change it."""
    file = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("ROOKERY_WRITE_SNAPSHOTS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{await _settled(tui)}\n", encoding="utf-8")
    stored = file.read_text(encoding="utf-8")
    with suppress(AssertionError):  # the assertion below shows the difference
        await tui.until(lambda: f"{tui.text}\n" == stored)
    assert f"{tui.text}\n" == stored, f"{file.name} shows another screen"


@pytest.mark.parametrize("size", SIZES)
async def test_the_list_and_a_permission(daemon: FakeDaemon, size: tuple[int, int]) -> None:
    async with shown(daemon, size=size) as tui:
        await _compare(tui, f"permission-{size[0]}x{size[1]}")


@pytest.mark.parametrize("size", SIZES)
async def test_a_question_and_a_tree(daemon: FakeDaemon, size: tuple[int, int]) -> None:
    async with shown(daemon, size=size, selected="web") as tui:
        await tui.press("T")
        if size[0] == 40:
            await tui.press("enter")
            await tui.shows("conversation")
        await _compare(tui, f"question-{size[0]}x{size[1]}")


@pytest.mark.parametrize("size", SIZES)
async def test_groups_and_ended_sessions(daemon: FakeDaemon, size: tuple[int, int]) -> None:
    async with shown(daemon, size=size) as tui:
        await tui.press("b", "v", "v", "v", "v", "space")
        tui.main.table.select("api")
        await _compare(tui, f"groups-{size[0]}x{size[1]}")


@pytest.mark.parametrize("size", SIZES)
async def test_the_form_of_a_new_session(daemon: FakeDaemon, size: tuple[int, int]) -> None:
    async with shown(daemon, size=size) as tui:
        await _settled(tui)
        await tui.press("n")
        await _compare(tui, f"new-{size[0]}x{size[1]}")


@pytest.mark.parametrize("size", SIZES)
async def test_no_sessions(size: tuple[int, int]) -> None:
    async with shown(FakeDaemon(), size=size) as tui:
        await tui.shows("No sessions yet.")
        await _compare(tui, f"empty-{size[0]}x{size[1]}")


@pytest.mark.parametrize("size", SIZES)
async def test_no_daemon(size: tuple[int, int]) -> None:
    daemon = FakeDaemon()
    daemon.is_down = True
    async with shown(daemon, size=size) as tui:
        await tui.shows("The daemon is not running.")
        await _compare(tui, f"down-{size[0]}x{size[1]}")


@pytest.mark.spec("I5")
async def test_without_colour_the_text_is_the_same(
    monkeypatch: pytest.MonkeyPatch, daemon: FakeDaemon
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with shown(daemon) as tui:
        await _compare(tui, "permission-80x24")
        strips = tui.app.screen._compositor.render_strips()  # noqa: SLF001 - as in screen_text
        styles = [segment.style for strip in strips for segment in strip if segment.style]
        colours = {each.color.name for each in styles if each.color}
        backgrounds = {each.bgcolor.name for each in styles if each.bgcolor}

        assert colours | backgrounds <= {"default"}
        assert any(each.reverse for each in styles)  # the selection is still visible
