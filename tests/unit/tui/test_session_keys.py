from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from rookery.model.errors import Answered, RuntimeFailed, TimedOut
from rookery.tui import dialogs
from rookery.tui.command_lines import NewSession
from rookery.tui.dialogs import Composer, TextDialog
from rookery.tui.start_dialog import StartDialog
from rookery.tui.threads import LiveThreads
from tests.support.tui import FakeDaemon, shown

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I7")]


@pytest.fixture
def daemon() -> FakeDaemon:
    daemon = FakeDaemon()
    for name in ("api", "web", "docs"):
        daemon.add(name)
    return daemon


async def test_s_sends_a_message_of_several_lines(daemon: FakeDaemon) -> None:
    async with shown(daemon, selected="web") as tui:
        await tui.press("s")
        await tui.shows("Send to web")
        await tui.press(*"one", "ctrl+j", *"two", "enter")
        await tui.shows("Sent to web.")
        assert "$ rookery send web 'one two'" in tui.text

    assert daemon.posted == [(("sessions", "web", "messages"), {"words": "one\ntwo"})]


async def test_a_dialog_that_is_left_twice_sends_its_text_once(daemon: FakeDaemon) -> None:
    async with shown(daemon, selected="web") as tui:
        await tui.press("s")
        await tui.shows("Send to web")
        dialog = tui.app.screen
        assert isinstance(dialog, TextDialog)
        dialog.leave("once")
        dialog.leave("once")
        await tui.shows("Sent to web.")

    assert daemon.posted == [(("sessions", "web", "messages"), {"words": "once"})]


async def test_a_message_goes_to_all_marked_sessions(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("space", "space", "s")
        await tui.shows("Send to api, web")
        await tui.press(*"go", "enter")
        await tui.shows("Sent to api, web.")

        assert [path[1] for path, _ in daemon.posted] == ["api", "web"]
        assert tui.main.board.marked == set()


async def test_a_message_that_waits_is_not_called_sent(daemon: FakeDaemon) -> None:
    daemon.answers["sessions", "web", "messages"] = {"id": 17, "step": "pending"}
    daemon.answers["messages", "17"] = {
        "message": {"id": 17, "step": "pending"},
        "session": {**daemon.sessions["web"], "activity": "working"},
    }
    async with shown(daemon, size=(140, 24)) as tui:
        await tui.press("space", "space", "s", *"go", "enter")
        await tui.shows("Sent to api. web: Queued (17): it is working; the message is")

        assert tui.main.board.marked == set()


async def test_a_message_whose_fate_is_unknown_is_not_sent_again(daemon: FakeDaemon) -> None:
    daemon.answers["messages", "1"] = TimedOut("30 s.")
    async with shown(daemon, selected="web") as tui:
        await tui.press("s", *"go", "enter")
        await tui.shows("web: Queued (1).")
        assert len(tui.app.screen_stack) == 1

    assert len(daemon.posted) == 1


async def test_a_text_that_could_not_be_sent_is_asked_for_again_for_those_without_it(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogs, "ARMING_DELAY_S", 0.0)
    daemon.answers["sessions", "web", "messages"] = Answered("session-over", "web has ended.")
    async with shown(daemon) as tui:
        await tui.press("space", "space", "s", *"go", "enter")
        await tui.shows("web has ended. Sent to api.")
        assert "Send to web" in tui.text
        assert tui.main.board.marked == {"web"}

        del daemon.answers["sessions", "web", "messages"]
        await tui.press("enter")
        await tui.shows("Sent to web.")

    web = (("sessions", "web", "messages"), {"words": "go"})
    assert daemon.posted == [(("sessions", "api", "messages"), {"words": "go"}), web, web]


async def test_an_enter_for_the_list_does_not_send_a_failed_text_again(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogs, "ARMING_DELAY_S", 3_600.0)
    daemon.answers["sessions", "api", "messages"] = TimedOut("30 s.")
    async with shown(daemon) as tui:
        await tui.press("s", *"go", "enter")
        await tui.until(lambda: isinstance(tui.app.screen, TextDialog) and daemon.posted)
        await tui.press("enter")

    assert len(daemon.posted) == 1


async def test_a_mark_is_taken_back(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("space")
        assert "1 marked" in tui.text
        await tui.press("k", "space")
        assert "marked" not in tui.text


async def test_an_empty_message_is_not_sent(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("s", "enter")

    assert daemon.posted == []


async def test_n_starts_a_session_and_selects_it() -> None:
    async with shown(FakeDaemon()) as tui:
        await tui.press("n")
        await tui.shows("New session")
        tui.daemon.answers["sessions",] = FakeDaemon().add("fresh")
        await tui.press(*"Fix it", "enter")
        await tui.shows("Started fresh.")

        path, body = tui.daemon.posted[-1]
        assert (path, body["agent"], body["project"]) == (("sessions",), "claude", "/repo")
        assert (body["prompt"], body["environment"]) == ("Fix it", {"LANG": "C"})
        assert "worktree" not in body
        assert tui.main.table.selected == "fresh"
        assert "rookery start --agent claude --project /repo 'Fix it'" in tui.text


async def test_a_new_session_gets_a_worktree_if_a_branch_is_given(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("n", "shift+tab", *"fix-1", "tab", "enter")
        await tui.until(lambda: daemon.posted)

        (_, body), *_ = daemon.posted
        assert (body["worktree"], body["branch"], body["agent"]) == (True, "fix-1", "demo")


async def test_a_new_session_gets_its_profile_and_tags(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        back = ("shift+tab", "shift+tab", "shift+tab")
        await tui.press("n", *back, *"work", "tab", *"docs night", "tab", "tab", "enter")
        await tui.until(lambda: daemon.posted)

        (_, body), *_ = daemon.posted
        assert (body["profile"], body["tags"], body["agent"]) == ("work", ["docs", "night"], "")


async def test_a_new_session_gets_the_runtime_that_is_chosen(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        back = ("shift+tab",) * 4
        await tui.press("n", *back)
        await tui.shows("auto; or tmux, acp")
        # Right takes the rest of the proposed word.
        await tui.press("a", "c")
        await tui.until(lambda: "acp" in tui.text.split("Profile")[0].split("Runtime")[1])
        await tui.press("right", "tab", "tab", "tab", "tab", *"Fix it", "enter")
        await tui.until(lambda: daemon.posted)

        (_, body), *_ = daemon.posted
        assert (body["runtime"], body["agent"]) == ("acp", "demo")
        await tui.shows("--runtime acp")


async def test_the_form_offers_the_runtimes_of_the_agent_that_is_typed(
    daemon: FakeDaemon,
) -> None:
    async with shown(daemon) as tui:
        await tui.press("n", *("shift+tab",) * 7, "ctrl+u", *"claude")
        await tui.shows("auto; or tmux, sdk, acp")


@pytest.mark.parametrize("typed", ["", "auto"])
async def test_the_configured_runtime_is_used_unless_one_is_chosen(
    daemon: FakeDaemon, typed: str
) -> None:
    async with shown(daemon) as tui:
        forth = ("tab",) * 4
        await tui.press("n", *("shift+tab",) * 4, *typed, *forth, "enter")
        await tui.until(lambda: daemon.posted)

        (_, body), *_ = daemon.posted
        assert "runtime" not in body
        assert "--runtime" not in tui.text


def test_the_command_of_a_new_session_names_its_profile_and_tags() -> None:
    asked = NewSession(agent="", project="/repo", profile="work", tags=("docs", "night"))

    options = "--project /repo --profile work --tag docs --tag night"
    assert asked.command_line == f"rookery start {options}"


async def test_a_form_whose_start_fails_stays_open_with_its_fields_and_the_whole_error(
    daemon: FakeDaemon,
) -> None:
    why = "The project is not an existing folder: /nonexist" + " and more" * 10 + " to the end."
    async with shown(daemon) as tui:
        tui.daemon.answers["sessions",] = Answered("project-unknown", why)
        await tui.press("n", *"Fix it", "enter")
        await tui.until(lambda: "to the end." in tui.text)
        assert "New session" in tui.text
        assert "Fix it" in tui.text

        tui.daemon.answers["sessions",] = FakeDaemon().add("fresh")
        await tui.press("enter")
        await tui.shows("Started fresh.")
        assert "New session" not in tui.text

    assert [body["prompt"] for _, body in daemon.posted] == ["Fix it", "Fix it"]


async def test_tab_passes_no_invisible_field_after_a_start_failed(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        tui.daemon.answers["sessions",] = Answered("agent-unknown", "There is no agent cla.")
        await tui.press("n", "enter")
        await tui.shows("There is no agent cla.")
        await tui.press("tab")

        assert tui.app.focused is tui.app.screen.query_one("#agent")


async def test_the_form_names_a_folder_of_an_unknown_user(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("n", *("shift+tab",) * 6, "ctrl+u", *"~no-user", *("tab",) * 6, "enter")
        await tui.shows("~no-user: the home of this user is not")

    assert daemon.posted == []


async def test_enter_pressed_twice_in_the_form_starts_one_session(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        tui.daemon.answers["sessions",] = FakeDaemon().add("fresh")
        await tui.press("n")
        dialog = tui.app.screen
        assert isinstance(dialog, StartDialog)
        for _ in range(2):
            dialog.on_composer_text_written(Composer.TextWritten("Fix it"))
        await tui.shows("Started fresh.")

    assert len(daemon.posted) == 1


async def test_a_command_is_started_word_by_word(daemon: FakeDaemon) -> None:
    daemon.add("last", agent="shell")
    async with shown(daemon) as tui:
        await tui.press("n", *"ls 'a b", "enter")
        await tui.shows("The command has a quote that is not closed.")
        await tui.press("'", "enter")
        await tui.until(lambda: daemon.posted)

        (_, body), *_ = daemon.posted
        assert (body["agent"], body["command"], body["prompt"]) == ("shell", ["ls", "a b"], "")


@pytest.mark.parametrize(("key", "is_fork"), [("f", True), ("r", False)])
async def test_a_conversation_is_branched_or_continued(
    daemon: FakeDaemon, key: str, *, is_fork: bool
) -> None:
    daemon.add("web", ended_at="2026-11-01T00:00:00+00:00", status="completed")
    async with shown(daemon) as tui:
        await tui.press("v", "v", "v", "v")
        tui.main.table.select("web")
        await tui.press(key, *"on", "enter")
        await tui.shows("Started web.")

    (path, body), *_ = daemon.posted
    assert path == ("sessions", "web", "resume")
    assert (body["fork"], body["prompt"]) == (is_fork, "on")


async def test_the_prompt_of_a_branch_that_cannot_start_is_kept(daemon: FakeDaemon) -> None:
    daemon.answers["sessions", "api", "resume"] = Answered("limit", "Too many sessions run.")
    async with shown(daemon, selected="api") as tui:
        await tui.press("f", *"on", "enter")
        await tui.until(lambda: tui.text.count("Too many sessions run.") > 1)

        assert tui.app.screen.query_one(Composer).text == "on"


async def test_a_running_session_is_not_resumed(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("r")
        assert "api is still running. Start a branch of it with f." in tui.text

    assert daemon.posted == []


async def test_i_interrupts(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("i")
        await tui.shows("Interrupted api.   $ rookery interrupt api")

    assert daemon.posted == [(("sessions", "api", "interrupt"), {})]


@pytest.mark.parametrize(("key", "count"), [("y", 1), ("n", 0), ("escape", 0)])
async def test_x_ends_a_session_only_after_a_yes(
    daemon: FakeDaemon, key: str, count: int
) -> None:
    async with shown(daemon) as tui:
        await tui.press("x")
        await tui.shows("End api?")
        assert daemon.posted == []
        await tui.press(key)
        if count:
            await tui.shows("Ending api.   $ rookery end api")

    assert len(daemon.posted) == count


async def test_w_shows_the_evidence(daemon: FakeDaemon) -> None:
    claim = {"source": "hook", "claim": "idle", "at": "2026-11-01T00:00:00+00:00"}
    daemon.answers["sessions", "api", "why"] = {
        "session": daemon.sessions["api"],
        "confidence": "sure",
        "evidence": [claim],
    }
    async with shown(daemon) as tui:
        await tui.press("w")
        await tui.shows("This is sure.")
        assert "hook        idle" in tui.text
        await tui.press("escape")
        await tui.shows("$ rookery why api")


async def test_a_page_that_is_asked_for_twice_opens_once(daemon: FakeDaemon) -> None:
    daemon.answers["sessions", "api", "why"] = {"session": daemon.sessions["api"]}
    why = ("sessions", "api", "why")
    async with shown(daemon) as tui:
        # The second press comes before the first call has returned.
        tui.main.action_why()
        tui.main.action_why()
        await tui.until(lambda: [path for path, _ in daemon.fetched].count(why) == 2)
        await tui.shows("Why api?")
        await tui.pilot.pause(0.1)

        assert len(tui.app.screen_stack) == 2


async def test_a_page_does_not_cover_a_dialog_that_was_opened_meanwhile(
    daemon: FakeDaemon,
) -> None:
    daemon.answers["sessions", "api", "why"] = {"session": daemon.sessions["api"]}
    async with shown(daemon) as tui:
        tui.main.action_why()
        tui.main.action_send()
        await tui.shows("The evidence for its state.")

        assert isinstance(tui.app.screen, TextDialog)


async def test_g_shows_who_waits_for_whom_and_relays(daemon: FakeDaemon) -> None:
    daemon.answers["listeners",] = {"listeners": [{"caller": "api", "target": "web"}]}
    members = [{"session": "web"}, {"session": "docs"}]
    daemon.answers["relays",] = {"relays": [{"id": "r-1", "members": members}]}
    async with shown(daemon) as tui:
        await tui.press("g")
        await tui.shows("waits for web")
        assert "relay r-1" in tui.text


ANSWERED = {
    "number": 1,
    "prompt": "Write it",
    "answer": "Here:\n```sh\nmake all\n```\nDone.",
    "started_at": "2026-11-01T00:00:00+00:00",
    "ended_at": "2026-11-01T00:00:09+00:00",
    "how": "finished",
}


async def test_c_copies_the_last_answer_or_a_block_of_code(daemon: FakeDaemon) -> None:
    session = daemon.sessions["api"]
    daemon.answers["sessions", "api", "data"] = {"session": session, "turns": [ANSWERED]}
    async with shown(daemon) as tui:
        await tui.press("c")
        await tui.shows("2. code: make all")
        await tui.press("2")
        await tui.shows("Copied a block of code")
        assert tui.app.clipboard == "make all"

        await tui.press("c")
        await tui.shows("1. the last answer")
        await tui.press("enter")
        await tui.shows("Copied the last answer")
        assert tui.app.clipboard == ANSWERED["answer"]


async def test_control_characters_are_not_copied(daemon: FakeDaemon) -> None:
    turn = {**ANSWERED, "answer": "safe\x1b[201~\rtext"}
    session = daemon.sessions["api"]
    daemon.answers["sessions", "api", "data"] = {"session": session, "turns": [turn]}
    async with shown(daemon) as tui:
        await tui.press("c")
        await tui.shows("Copied the last answer")
        assert tui.app.clipboard == "safe[201~text"


async def test_there_may_be_nothing_to_copy(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        await tui.press("c")
        await tui.shows("api has not answered yet.")


async def test_m_mutes_and_unmutes(daemon: FakeDaemon) -> None:
    daemon.answers["sessions", "api", "mute"] = {"name": "api", "muted": True}
    daemon.answers["sessions", "api", "unmute"] = {"name": "api", "muted": False}
    async with shown(daemon) as tui:
        await tui.press("m")
        await tui.shows("api sends no notifications.")
        assert "♪" in tui.text
        await tui.press("m")
        await tui.shows("api sends notifications again.")


async def test_a_session_that_is_muted_twice_is_shown_as_muted(daemon: FakeDaemon) -> None:
    daemon.answers["sessions", "api", "mute"] = {"name": "api", "muted": True}
    async with shown(daemon) as tui:
        # The second press comes before the first call has returned.
        tui.main.action_mute()
        tui.main.action_mute()
        await tui.until(lambda: len(daemon.posted) == 2)
        await tui.shows("api sends no notifications.")

        assert tui.main.board.muted == {"api"}


async def test_h_hides_and_a_daemon_that_cannot_says_so(daemon: FakeDaemon) -> None:
    daemon.answers["sessions", "api", "hide"] = daemon.sessions["api"]
    async with shown(daemon) as tui:
        await tui.press("h")
        await tui.shows("api is hidden.")
        await tui.press("j", "h")
        await tui.shows("The daemon that runs is of another version")


async def test_a_refusal_is_shown_in_one_line(daemon: FakeDaemon) -> None:
    refusal = Answered("session-over", "The session has ended: api.\nSee it.")
    daemon.answers["sessions", "api", "interrupt"] = refusal
    async with shown(daemon) as tui:
        await tui.press("i")
        await tui.shows("The session has ended: api. See it.")


class Terminal:
    """Records the programs that are given the terminal."""

    def __init__(self, status: int | Exception) -> None:
        self.status, self.ran = status, list[Sequence[str]]()

    def run(self, app: object, words: Sequence[str]) -> int:
        self.ran.append(words)
        if isinstance(self.status, Exception):
            raise self.status
        return self.status


@pytest.mark.parametrize(
    ("status", "said"),
    [(0, "Back from web."), (1, "could not be attached")],
)
async def test_enter_attaches_and_comes_back_to_the_same_place(
    monkeypatch: pytest.MonkeyPatch, daemon: FakeDaemon, status: int, said: str
) -> None:
    terminal = Terminal(status)
    monkeypatch.setattr(LiveThreads, "run_program", terminal.run)
    async with shown(daemon, selected="web") as tui:
        await tui.press("enter")
        assert said in tui.text
        assert tui.main.table.selected == "web"
        daemon.add("later")
        daemon.tell("session-requested", "later")
        await tui.shows("later")  # what happened meanwhile is shown

    assert terminal.ran == [["rookery-of-the-test", "attach", "web"]]


async def test_a_terminal_that_cannot_be_given_away_is_said(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:  # without a real terminal
        await tui.press("enter")
        assert "This terminal cannot be given to another program." in tui.text


async def test_a_message_for_an_ended_session_continues_its_conversation(
    daemon: FakeDaemon,
) -> None:
    daemon.add("api", ended_at="2026-11-01T00:00:00+00:00", status="failed")
    async with shown(daemon, selected="api") as tui:
        await tui.press("s", *"fix it")
        await tui.shows("api has ended. Continue it with this message:")
        assert daemon.posted == []
        await tui.press("enter")
        await tui.shows("$ rookery resume api 'fix it'")

    (path, body), *others = daemon.posted
    assert (path, body["fork"], body["prompt"]) == (
        ("sessions", "api", "resume"),
        False,
        "fix it",
    )
    assert others == []


async def test_an_ended_session_is_not_continued_without_a_message(daemon: FakeDaemon) -> None:
    daemon.add("api", ended_at="2026-11-01T00:00:00+00:00", status="failed")
    async with shown(daemon, selected="api") as tui:
        await tui.press("s", "enter")
        assert len(tui.app.screen_stack) == 1

    assert daemon.posted == []


async def test_an_ended_session_is_not_attached(daemon: FakeDaemon) -> None:
    daemon.add("api", ended_at="2026-11-01T00:00:00+00:00", status="failed")
    async with shown(daemon) as tui:
        await tui.press("enter")
        assert "api has ended. Continue its conversation with r." in tui.text


async def test_a_daemon_that_is_down_is_started(daemon: FakeDaemon) -> None:
    daemon.is_down = True
    async with shown(daemon) as tui:
        await tui.shows("The daemon is not running.")
        tui.main.setup = type(tui.main.setup)(
            daemon, {"demo": ("tmux",)}, (sys.executable, "-c", "print('It is up.')"), "/repo"
        )
        await tui.press("u")
        await tui.shows("It is up.   $ rookery up --detach")
        daemon.is_down = False
        await tui.shows("web")


async def test_a_daemon_that_goes_away_and_comes_back_is_followed(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        daemon.is_down = True
        for _, stream in [*daemon.streams]:
            stream.close()
        await tui.shows("The daemon is down, reconnecting")
        assert "web" in tui.text  # what was known stays visible
        daemon.add("later")
        daemon.is_down = False
        await tui.shows("later")
        assert "reconnecting" not in tui.text


def test_a_daemon_that_cannot_be_started_is_an_error_with_advice() -> None:
    start = LiveThreads(FakeDaemon(), lambda news: True).start_daemon(["/nonexistent/rookery"])

    with pytest.raises(RuntimeFailed, match=r"did not start within 60 s"):
        start()
