from __future__ import annotations

from functools import partial

import pytest
from textual.events import Key

from rookery.model.errors import Answered
from rookery.model.reason_texts import waits_for_place
from rookery.tui import main_screen
from rookery.tui.board import BoardSession
from rookery.tui.dialogs import ARMING_DELAY_S
from rookery.tui.keys import KEYS
from rookery.tui.preview_feed import OLDER_DAEMON
from tests.support.tui import FakeDaemon, ShownApp, shown

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I7")]


@pytest.fixture
def daemon() -> FakeDaemon:
    daemon = FakeDaemon()
    daemon.add("planner", activity="idle", project_path="/code/plan", tags=["team"])
    daemon.add("worker", activity="working", parent="planner", project_path="/code/work")
    daemon.add("broken", reason="failed", project_path="/code/work")
    daemon.ask("worker", "r1")
    return daemon


def names(tui: ShownApp) -> list[str]:
    rows = (row for row in tui.main.board.rows() if isinstance(row, BoardSession))
    return [row.session.name for row in rows]


async def test_sessions_that_need_the_user_come_first(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        assert names(tui) == ["worker", "broken", "planner"]
        assert tui.main.table.selected == "worker"
        assert "1 needs you  1 failed  1 idle" in tui.text


async def test_the_header_counts_every_live_session(daemon: FakeDaemon) -> None:
    daemon.add("new", status="starting", activity=None)
    daemon.add("old", status="closing", activity=None)
    async with shown(daemon) as tui:
        assert "1 needs you  1 failed  1 starting  1 idle  1 closing" in tui.text


async def test_keys_move_the_selection(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        for key, expected in [
            ("j", "broken"),
            ("down", "planner"),
            ("j", "planner"),
            ("k", "broken"),
            ("up", "worker"),
            ("end", "planner"),
            ("home", "worker"),
        ]:
            await tui.press(key)
            assert tui.main.table.selected == expected


async def test_the_selection_stays_on_its_session(daemon: FakeDaemon) -> None:
    async with shown(daemon, selected="planner") as tui:
        daemon.change("planner", activity="question", reason="Which?")
        daemon.tell("input-asked", "planner")
        await tui.until(lambda: "question" in tui.text)
        assert names(tui) == ["worker", "broken", "planner"]
        assert tui.main.table.selected == "planner"

        del daemon.sessions["planner"]
        daemon.tell("session-ended", "planner")
        await tui.until(lambda: names(tui) == ["worker", "broken"])
        assert tui.main.table.selected == "broken"


async def test_the_selected_row_takes_its_new_place_once_another_is_selected(
    daemon: FakeDaemon,
) -> None:
    daemon.add("other", activity="idle")
    async with shown(daemon, selected="other") as tui:
        daemon.change("other", activity="working", since="2026-11-02T00:00:00+00:00")
        daemon.tell("turn-started", "other")
        await tui.until(lambda: tui.main.board.sessions["other"].activity == "working")
        assert names(tui) == ["worker", "broken", "planner", "other"]

        await tui.press("k")

        assert tui.main.table.selected == "planner"
        assert names(tui) == ["worker", "broken", "other", "planner"]


async def test_reading_an_answer_does_not_change_the_order(daemon: FakeDaemon) -> None:
    for name in ("one", "two", "three"):
        daemon.add(name, is_unread=True, last_answer_at="2026-11-01T00:00:00+00:00")
        daemon.answers["sessions", name, "seen"] = {}
    async with shown(daemon, selected="one") as tui:
        board = tui.main.board
        for read, after in (("one", "two"), ("two", "three")):
            daemon.change(read, is_unread=False)
            daemon.tell("session-seen", read)
            await tui.until(partial(lambda name: not board.sessions[name].is_unread, read))
            assert names(tui) == ["worker", "broken", "one", "two", "three", "planner"]
            await tui.press("j")
            assert tui.main.table.selected == after


async def test_what_the_user_has_to_mend_is_shown(daemon: FakeDaemon) -> None:
    daemon.notes["config_note"] = "config.toml has changed since the daemon started."
    async with shown(daemon) as tui:
        await tui.shows("config.toml has changed since the daemon started.")


async def test_u_goes_to_what_needs_the_user_then_to_unread_answers(daemon: FakeDaemon) -> None:
    daemon.change("planner", is_unread=True)
    async with shown(daemon, selected="planner") as tui:
        for expected in ("worker", "broken", "worker"):
            await tui.press("u")
            assert tui.main.table.selected == expected


async def test_an_answer_that_was_visible_counts_as_read(daemon: FakeDaemon) -> None:
    at = "2026-11-01T00:00:00+00:00"
    daemon.change("planner", is_unread=True, last_answer_at=at, last_answer="Done.")
    daemon.answers["sessions", "planner", "seen"] = {}
    async with shown(daemon, selected="planner") as tui:
        assert "● " in tui.text
        await tui.until(lambda: daemon.posted)

    assert daemon.posted == [(("sessions", "planner", "seen"), {"until": at})]


async def test_an_answer_that_could_not_be_fetched_stays_unread(
    monkeypatch: pytest.MonkeyPatch, daemon: FakeDaemon
) -> None:
    at = "2026-11-01T00:00:00+00:00"
    daemon.change("planner", is_unread=True, last_answer_at=at)
    daemon.answers["sessions", "planner", "seen"] = {}
    daemon.answers["sessions", "planner", "data"] = Answered("busy", "It cannot be read now.")
    monkeypatch.setattr(main_screen, "READ_DELAY_S", 0.01)
    async with shown(daemon, selected="planner") as tui:
        await tui.shows("It cannot be read now.")
        await tui.pilot.pause(0.3)
        assert daemon.posted == []

        del daemon.answers["sessions", "planner", "data"]
        daemon.tell("turn-ended", "planner")
        await tui.until(lambda: daemon.posted)


async def test_what_came_while_the_user_was_away_stays_unread_until_a_key(
    monkeypatch: pytest.MonkeyPatch, daemon: FakeDaemon
) -> None:
    at = "2026-11-01T00:00:00+00:00"
    daemon.change("planner", is_unread=True, last_answer_at=at)
    daemon.answers["sessions", "planner", "seen"] = {}
    monkeypatch.setattr(main_screen, "READ_DELAY_S", 0.01)
    monkeypatch.setattr(main_screen, "PRESENCE_S", -1.0)
    async with shown(daemon, selected="planner") as tui:
        daemon.tell("turn-ended", "planner")
        await tui.pilot.pause(0.3)
        assert daemon.posted == []
        tui.main._present_at = 0.0  # noqa: SLF001 - long ago
        monkeypatch.setattr(main_screen, "PRESENCE_S", 60.0)
        await tui.press("pageup")
        await tui.until(lambda: daemon.posted)


async def test_expired_requests_are_marked_until_they_were_seen(daemon: FakeDaemon) -> None:
    daemon.pending["planner"] = {"missed": 1}
    daemon.answers["permissions", "seen"] = {"count": 1}
    daemon.requests["old"] = {
        "id": "old",
        "session": "planner",
        "outcome": "denied",
        "missed": True,
    }
    async with shown(daemon, selected="planner") as tui:
        assert "missed · Build it" in tui.text
        await tui.until(lambda: daemon.posted)

    assert daemon.posted == [(("permissions", "seen"), {"requests": ["old"]})]


async def test_v_shows_one_kind_of_sessions(daemon: FakeDaemon) -> None:
    daemon.add("old", status="killed", ended_at="2026-11-01T00:00:00+00:00")
    async with shown(daemon) as tui:
        for expected in (["worker"], [], ["broken"], ["worker", "broken", "planner", "old"]):
            await tui.press("v")
            assert names(tui) == expected
        await tui.press("v")
        assert names(tui) == ["worker", "broken", "planner"]


async def test_an_empty_view_says_how_to_leave_it(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("v", "v")
        assert "No working sessions." in tui.text
        await tui.press("escape")
        assert len(names(tui)) == 3


async def test_b_groups_by_project_and_tag(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("b")
        assert "/code/work 2" in tui.text
        assert "/code/plan 1" in tui.text
        await tui.press("j", "j")  # over the headings
        assert tui.main.table.selected == "planner"
        await tui.press("b")
        assert "no tag 2" in tui.text
        assert "team 1" in tui.text
        await tui.press("b")
        assert "team 1" not in tui.text


async def test_the_selection_passes_all_rows_of_a_session_with_several_tags(
    daemon: FakeDaemon,
) -> None:
    daemon.change("worker", tags=["front", "ui"])
    daemon.change("planner", tags=["ui"])
    async with shown(daemon) as tui:
        await tui.press("b", "b")
        assert tui.main.table.order == ("worker", "worker", "planner", "broken")
        reached = []
        for key in ("home", "j", "j", "j", "k", "k"):
            await tui.press(key)
            tui.main.show_board()  # as after any news
            reached.append(tui.main.table.selected)

        assert reached == ["worker", "worker", "planner", "broken", "planner", "worker"]


async def test_capital_t_shows_families(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("T")
        assert names(tui) == ["planner", "worker", "broken"]
        assert "  worker" in tui.text


async def test_hidden_sessions_are_listed_on_request(daemon: FakeDaemon) -> None:
    daemon.change("broken", hidden=True)
    async with shown(daemon) as tui:
        assert names(tui) == ["worker", "planner"]
        await tui.press("H")
        await tui.until(lambda: names(tui) == ["worker", "broken", "planner"])
        await tui.press("H")
        assert names(tui) == ["worker", "planner"]


async def test_search_selects_the_best_match_and_escape_clears_it(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("slash", *"plnr")
        assert names(tui) == ["planner"]
        assert tui.main.table.selected == "planner"
        await tui.press("enter")
        assert tui.main.table.has_focus
        await tui.press("escape")
        assert len(names(tui)) == 3

        await tui.press("slash", *"nothing")
        assert "No session matches 'nothing'." in tui.text
        await tui.press("escape")
        assert len(names(tui)) == 3
        assert tui.main.table.has_focus


@pytest.mark.parametrize("keys", [("enter", "escape"), ("escape",), ("backspace",) * 4])
async def test_the_session_that_was_found_stays_selected_after_the_search(
    daemon: FakeDaemon, keys: tuple[str, ...]
) -> None:
    async with shown(daemon) as tui:
        await tui.press("slash", *"plnr")
        await tui.press(*keys)
        await tui.until(lambda: len(names(tui)) == 3)
        await tui.pilot.pause(0.1)

        assert tui.main.table.selected == "planner"


async def test_tab_shows_conversation_screen_and_diff(daemon: FakeDaemon) -> None:
    turn = {"number": 1, "prompt": "Plan it", "answer": "I have a plan.", "how": "finished"}
    times = {"started_at": "2026-11-01T00:00:00Z", "ended_at": "2026-11-01T00:01:00Z"}
    call = {"at": "2026-11-01T00:00:30Z", "kind": "call", "text": "Bash ls -la"}
    daemon.answers["sessions", "planner", "data"] = {
        "session": daemon.sessions["planner"],
        "turns": [{**turn, **times}],
        "transcript": [call],
    }
    async with shown(daemon, selected="planner") as tui:
        await tui.shows("I have a plan.")
        text = tui.text
        assert (
            text.index("❯ Plan it") < text.index("Bash ls -la") < text.index("I have a plan.")
        )
        await tui.press("tab")
        frames = ("sessions", "planner", "frames")
        await tui.until(lambda: [path for path, _ in daemon.streams if path == frames])
        stream = next(each for path, each in daemon.streams if path == frames)
        stream.queue.put('event: screen\ndata: {"lines": ["on its screen"]}\n')
        await tui.shows("on its screen")
        await tui.press("tab")
        await tui.until(lambda: frames not in [path for path, _ in daemon.streams])
        await tui.shows(OLDER_DAEMON[:40])
        daemon.answers["sessions", "planner", "diff"] = {"text": "+++ b/x\n+new line\n"}
        await tui.press("tab", "tab", "tab")
        await tui.shows("+new line")


async def test_only_the_visible_screen_is_streamed(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("tab")
        for key, name in [("j", "broken"), ("j", "planner"), ("k", "broken")]:
            await tui.press(key)
            await tui.until(partial(_streams_only, daemon, name))


def _streams_only(daemon: FakeDaemon, name: str) -> bool:
    frames = [path for path, _ in daemon.streams if path[-1] == "frames"]
    return frames == [("sessions", name, "frames")]


async def test_the_preview_follows_its_session(daemon: FakeDaemon) -> None:
    async with shown(daemon, selected="planner") as tui:
        await tui.shows("Nothing was said yet.")
        turn = {"number": 1, "prompt": "More", "started_at": "2026-11-01T00:00:00Z"}
        session = daemon.sessions["planner"]
        daemon.answers["sessions", "planner", "data"] = {"session": session, "turns": [turn]}
        daemon.tell("turn-started", "planner")
        await tui.shows("❯ More")


async def test_the_preview_says_why_a_session_does_not_start_yet(daemon: FakeDaemon) -> None:
    daemon.add("queued", status="starting", activity=None, reason=waits_for_place(3))
    async with shown(daemon, selected="queued") as tui:
        await tui.shows("Nothing was said yet. It waits for a place: 3 driven sessions are")
        await tui.shows("to free a place.")


async def test_the_preview_scrolls(daemon: FakeDaemon) -> None:
    answer = "\n".join(f"line {number}" for number in range(100))
    times = {"started_at": "2026-11-01T00:00:00Z", "ended_at": "2026-11-01T00:01:00Z"}
    daemon.answers["sessions", "planner", "data"] = {
        "session": daemon.sessions["planner"],
        "turns": [{"number": 1, "prompt": "Count", "answer": answer, **times}],
    }
    async with shown(daemon, selected="planner") as tui:
        await tui.shows("line 99")
        for _ in range(20):
            await tui.press("pageup")
        assert "❯ Count" in tui.text
        await tui.press("J")
        assert "❯ Count" not in tui.text


async def test_a_narrow_terminal_shows_the_list_then_the_details(daemon: FakeDaemon) -> None:
    async with shown(daemon, size=(40, 20)) as tui:
        assert "asks for permission" not in tui.text
        await tui.press("enter")
        await tui.shows("asks for permission")
        assert "broken" not in tui.text
        await tui.press("escape")
        await tui.shows("broken")


async def test_the_details_say_how_to_go_back(daemon: FakeDaemon) -> None:
    async with shown(daemon, size=(40, 20)) as tui:
        assert "esc back" not in tui.text
        await tui.press("enter")
        await tui.shows("esc back  enter attach")


async def test_the_keys_name_how_to_leave_at_80_columns(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.shows("q quit")


async def test_the_help_is_not_cut_in_a_narrow_terminal(daemon: FakeDaemon) -> None:
    async with shown(daemon, size=(40, 90)) as tui:
        await tui.press("question_mark")
        await tui.shows("Answer what a session asks")
        said = " ".join(tui.text.split())

        assert all(each.purpose in said for each in KEYS if each.shown)


async def test_a_request_that_is_not_visible_is_shown_before_it_is_allowed(
    daemon: FakeDaemon,
) -> None:
    async with shown(daemon, size=(40, 20)) as tui:
        await tui.press("a")
        await tui.shows("worker asks")
        assert daemon.posted == []
        await tui.pilot.pause(ARMING_DELAY_S)
        await tui.press("a")
        await tui.shows("Allowed")


async def test_a_click_selects_and_another_opens(daemon: FakeDaemon) -> None:
    async with shown(daemon, size=(40, 20)) as tui:
        await tui.pilot.click("#sessions", offset=(5, 1))
        assert tui.main.table.selected == "broken"
        await tui.pilot.click("#sessions", offset=(5, 1), times=2)
        await tui.shows("conversation")


async def test_attaching_is_offered_only_for_a_session_with_a_terminal() -> None:
    daemon = FakeDaemon()
    daemon.add("quick", runtime="acp")
    daemon.add("api")
    async with shown(daemon, selected="quick") as tui:
        await tui.until(lambda: "enter attach" not in tui.text)
        await tui.press("j")
        await tui.shows("enter attach")


async def test_the_help_names_every_key(daemon: FakeDaemon) -> None:
    async with shown(daemon, size=(80, 60)) as tui:
        await tui.press("question_mark")
        await tui.shows("Answer what a session asks")
        assert all(each.purpose in tui.text for each in KEYS if each.shown)
        await tui.press("escape")
        await tui.shows("planner")


async def test_the_palette_offers_the_actions(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("ctrl+p", *"who waits")
        await tui.shows("Who waits for whom, and relays")
        daemon.answers["listeners",] = {}
        daemon.answers["relays",] = {}
        await tui.press("enter")
        await tui.shows("No relay is open.")


async def test_q_leaves_and_closes_the_streams(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.until(lambda: daemon.streams)
        await tui.press("q")
        await tui.until(lambda: not tui.app.is_running)
    assert tui.app.return_code == 0


async def test_keys_after_q_open_nothing(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        for key in "qsw":
            tui.app.post_message(Key(key, key))
        await tui.until(lambda: not tui.app.is_running)

        assert len(tui.app.screen_stack) <= 1
    assert tui.app.return_code == 0


async def test_without_sessions_it_says_how_to_start_one() -> None:
    async with shown(FakeDaemon()) as tui:
        await tui.shows("No sessions yet.")
        assert "rookery start demo" in tui.text


async def test_text_of_agents_is_drawn_as_it_is(daemon: FakeDaemon) -> None:
    daemon.add(
        "evil", title="[bold red]x[/] \x1b[2J\x1b]52;c;aGk=\x07 \u202eabc", activity="idle"
    )
    async with shown(daemon) as tui:
        assert "[bold red]x[/] [2J]52;c;aGk= abc" in tui.text
        assert not {"\x1b", "\x07", "\u202e"} & {*tui.text}
