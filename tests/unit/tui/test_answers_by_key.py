from __future__ import annotations

import re

import pytest
from textual.events import Key

from rookery.model.errors import Answered, NotRunning
from rookery.tui import dialogs
from rookery.tui.dialogs import ARMING_DELAY_S
from tests.support.tui import FakeDaemon, ShownApp, shown

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I7")]

ANSWER = ("permissions", "r1", "answer")

QUESTION = {
    "kind": "question",
    "tool": "AskUserQuestion",
    "input": {},
    "message": "Which database?",
    "questions": [
        {
            "text": "Which database?",
            "options": ["Postgres", "SQLite"],
            "descriptions": ["a server", "a file"],
        }
    ],
}

TWO_QUESTIONS = {
    **QUESTION,
    "message": "1. Which database? 2. Which tests?",
    "questions": [
        {"text": "Which database?", "options": ["Postgres", "SQLite"]},
        {"text": "Which tests?", "options": ["unit", "e2e", "load"], "takes_several": True},
    ],
}


@pytest.fixture
def daemon() -> FakeDaemon:
    daemon = FakeDaemon()
    daemon.add("api")
    return daemon


async def test_a_allows_the_shown_request_and_says_so(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1")
    async with shown(daemon) as tui:
        await tui.shows("rm -rf build")
        await tui.press("a")
        await tui.shows("Allowed: Bash — rm -rf build")

        assert daemon.posted == [(ANSWER, {"decision": "allow", "for_session": False})]
        assert "$ rookery allow r1" in tui.text


async def test_capital_a_allows_for_the_session(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1")
    async with shown(daemon) as tui:
        await tui.press("A")
        await tui.shows("$ rookery allow r1 --session")

    assert daemon.posted == [(ANSWER, {"decision": "allow", "for_session": True})]


@pytest.mark.parametrize(("typed", "reason"), [((), ""), (("n", "o", "!"), "no!")])
async def test_d_denies_with_or_without_a_reason(
    daemon: FakeDaemon, typed: tuple[str, ...], reason: str
) -> None:
    daemon.ask("api", "r1")
    async with shown(daemon) as tui:
        await tui.press("d")
        await tui.shows("Reason for the agent")
        await tui.press(*typed, "enter")
        await tui.shows("Denied: Bash")

    assert daemon.posted == [(ANSWER, {"decision": "deny", "reason": reason})]


async def test_a_denial_that_is_cancelled_answers_nothing(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1")
    async with shown(daemon) as tui:
        await tui.press("d", "escape", "escape")

    assert daemon.posted == []


async def test_no_reason_is_asked_for_where_a_denial_is_refused(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1", **{**QUESTION, "tool": "dialog"})
    async with shown(daemon) as tui:
        await tui.press("d")
        await tui.shows("It asks a question that cannot be denied. Press 1-2 (choose).")
        assert len(tui.app.screen_stack) == 1


@pytest.mark.parametrize(("runtime", "is_noted"), [("acp", True), ("tmux", False)])
async def test_the_dialog_says_where_a_reason_may_not_arrive(
    daemon: FakeDaemon, runtime: str, *, is_noted: bool
) -> None:
    daemon.add("api", runtime=runtime)
    daemon.ask("api", "r1")
    async with shown(daemon) as tui:
        await tui.press("d")
        await tui.shows("Reason for the agent")

        assert ("Over ACP, most requests are denied without it." in tui.text) is is_noted


async def test_a_number_chooses_an_option(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1", **QUESTION)
    async with shown(daemon) as tui:
        await tui.shows("2. SQLite")
        assert "a file" in tui.text
        await tui.press("3")
        await tui.shows("It has no option 3.")
        await tui.press("2")
        await tui.shows("$ rookery answer r1 2")

    answered = {"decision": "answer", "answers": ["2"], "own_words": False}
    assert daemon.posted == [(ANSWER, answered)]


async def test_a_question_is_answered_in_own_words(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1", **QUESTION)
    async with shown(daemon) as tui:
        await tui.press("t")
        await tui.press(*"DuckDB", "enter")
        await tui.shows("$ rookery answer r1 --text DuckDB")

    answered = {"decision": "answer", "answers": ["DuckDB"], "own_words": True}
    assert daemon.posted == [(ANSWER, answered)]


async def test_several_questions_are_answered_together(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1", **TWO_QUESTIONS)
    async with shown(daemon) as tui:
        await tui.shows("2) Which tests?")
        await tui.press("2")  # it opens the dialog, with the first question answered
        await tui.shows("Answer api")
        await tui.press("1", "3", "2", "2")
        assert daemon.posted == []
        await tui.press("enter")
        await tui.shows("$ rookery answer r1 2 1,3")

    answered = {"decision": "answer", "answers": ["2", "1,3"], "own_words": False}
    assert daemon.posted == [(ANSWER, answered)]


async def test_enter_goes_to_the_question_that_is_not_answered(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1", **TWO_QUESTIONS)
    async with shown(daemon) as tui:
        await tui.press("1", "up", "down", "enter", "t")
        await tui.shows("Your answer")
        await tui.press(*"all", "enter")
        await tui.press("enter")
        await tui.until(lambda: daemon.posted)

    answered = {"decision": "answer", "answers": ["Postgres", "all"], "own_words": True}
    assert daemon.posted == [(ANSWER, answered)]


async def test_a_key_for_one_request_never_answers_the_next(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1")
    daemon.ask("api", "r2", input={"command": "git push --force"})
    async with shown(daemon) as tui:
        assert "1 of 2" in tui.text
        await tui.press("a")
        daemon.tell("input-settled", "api")
        await tui.until(lambda: _shown_request(tui) == "r2")
        await tui.press("a")

        assert [path for path, _ in daemon.posted] == [ANSWER]
        assert "Another request has just appeared" in tui.text


async def test_a_key_for_a_session_that_stops_asking_never_answers_another(
    daemon: FakeDaemon,
) -> None:
    daemon.add("web")
    daemon.ask("api", "r1")
    daemon.ask("web", "r2", input={"command": "git push --force"})
    async with shown(daemon, selected="api") as tui:
        await tui.press("v")
        await tui.shows("Showing waiting sessions.")
        daemon.requests.pop("r1")
        daemon.change("api", activity="working")
        daemon.tell("input-settled", "api")
        await tui.until(lambda: tui.main.board.sessions["api"].activity == "working")
        assert tui.main.table.selected == "api"
        await tui.press("a")
        await tui.shows("api asks nothing that can be answered here.")

        assert daemon.posted == []
        await tui.press("j")
        assert tui.main.table.order == ("web",)


async def test_a_key_for_a_session_that_ends_never_answers_another(daemon: FakeDaemon) -> None:
    daemon.add("web")
    daemon.ask("api", "r1")
    daemon.ask("web", "r2", input={"command": "git push --force"})
    async with shown(daemon, selected="api") as tui:
        daemon.requests.pop("r1")
        ended = {"status": "killed", "activity": None, "ended_by": "person"}
        daemon.change("api", ended_at="2026-11-01T00:00:00Z", **ended)
        daemon.tell("session-ended", "api")
        await tui.shows("ended by you")
        await tui.press("a")
        assert tui.main.table.selected == "api"

        # The daemon no longer lists it: another row is selected, and takes no key at once.
        del daemon.sessions["api"]
        daemon.tell("session-ended", "api")
        await tui.until(lambda: _shown_request(tui) == "r2")
        await tui.press("a")

        assert "Another request has just appeared" in tui.text
        assert daemon.posted == []


async def test_a_key_that_is_read_right_after_the_selection_has_gone_answers_nothing(
    daemon: FakeDaemon,
) -> None:
    daemon.add("web")
    daemon.ask("api", "r1")
    daemon.ask("web", "r2")
    async with shown(daemon, selected="api") as tui:
        del tui.main.board.sessions["api"]
        tui.main.show_board()
        assert _shown_request(tui) == "r2"
        tui.main.action_allow()

    assert daemon.posted == []


async def test_keys_that_reach_another_row_than_was_read_do_not_answer_it(
    daemon: FakeDaemon,
) -> None:
    for name, since in (("web", "02"), ("docs", "04")):
        daemon.add(name, since=f"2026-11-01T00:00:{since}+00:00")
        daemon.ask(name, f"r-{name}", input={"command": f"ls {name}"})
    daemon.add("new", since="2026-11-01T00:00:03+00:00")
    async with shown(daemon, selected="web") as tui:
        assert tui.main.table.order[:2] == ("web", "docs")
        daemon.ask("new", "r-new", input={"command": "rm -rf /"})
        daemon.tell("input-asked", "new")
        await tui.until(lambda: tui.main.table.order[:3] == ("web", "new", "docs"))
        # The user has read that docs is the next one.
        await tui.press("j")
        await tui.until(lambda: _shown_request(tui) == "r-new")
        await tui.press("a")

        assert "Another request has just appeared" in tui.text
        assert daemon.posted == []


async def test_a_row_of_a_list_that_did_not_change_is_answered_at_once(
    daemon: FakeDaemon,
) -> None:
    daemon.ask("api", "r1")
    daemon.add("web")
    daemon.ask("web", "r2")
    async with shown(daemon, selected="api") as tui:
        await tui.press("j")
        await tui.until(lambda: _shown_request(tui) == "r2")
        await tui.press("a")
        await tui.until(lambda: daemon.posted)

    assert [path[1] for path, _ in daemon.posted] == ["r2"]


async def test_a_key_after_a_search_answers_the_session_that_was_found(
    daemon: FakeDaemon,
) -> None:
    daemon.ask("api", "r1")
    daemon.add("web")
    daemon.ask("web", "r2")
    async with shown(daemon) as tui:
        await tui.press("slash", *"web", "enter", "escape")
        await tui.until(lambda: len(tui.main.table.order) == 2)
        await tui.pilot.pause(ARMING_DELAY_S)
        await tui.press("a")
        await tui.until(lambda: daemon.posted)

    assert [path[1] for path, _ in daemon.posted] == ["r2"]


def _shown_request(tui: ShownApp) -> str:
    shown_now = tui.main.preview.card.shown
    return shown_now.request.id if shown_now else ""


async def test_text_typed_right_after_a_key_never_answers_a_request(
    daemon: FakeDaemon,
) -> None:
    daemon.ask("api", "r1")
    async with shown(daemon) as tui:
        # All at once, as after a delay of the network.
        for key, character in [("slash", "/"), *zip("api", "api", strict=True)]:
            tui.app.post_message(Key(key, character))
        await tui.until(lambda: tui.main.board.query == "api")

    assert daemon.posted == []


async def test_text_typed_before_a_dialog_is_there_is_kept(daemon: FakeDaemon) -> None:
    async with shown(daemon) as tui:
        for key in "shello":
            tui.app.post_message(Key(key, key))
        await tui.shows("hello")
        await tui.press("enter")
        await tui.shows("Sent to api.")

    assert daemon.posted == [(("sessions", "api", "messages"), {"words": "hello"})]


async def test_a_second_press_does_not_answer_twice(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1")
    async with shown(daemon) as tui:
        await tui.press("a", "a", "a")
        await tui.shows("Allowed")

    assert len(daemon.posted) == 1


async def test_a_request_that_does_not_fit_is_shown_whole_before_it_is_answered(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogs, "ARMING_DELAY_S", 3_600.0)
    script = "\n".join(f"step {number}" for number in range(60))
    daemon.ask("api", "r1", input={"command": f"{script}\nrm -rf /"})
    async with shown(daemon) as tui:
        await tui.press("a", "a", "a")  # in a hurry
        await tui.shows("api asks")
        assert daemon.posted == []
        for _ in range(8):
            await tui.press("pagedown")
        assert "rm -rf /" in tui.text
        monkeypatch.setattr(dialogs, "ARMING_DELAY_S", 0.0)
        await tui.press("a")
        await tui.shows("Allowed")

    assert len(daemon.posted) == 1


async def test_no_key_answers_a_request_before_its_end_was_visible(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogs, "ARMING_DELAY_S", 0.0)
    script = "\n".join(f"step {number}" for number in range(30))
    daemon.ask("api", "r1", input={"command": f"{script}\nrm -rf /"})
    async with shown(daemon, size=(40, 20)) as tui:
        await tui.press("a")
        await tui.shows("space more, then answer")
        assert "rm -rf /" not in tui.text
        await tui.press("a", "A", "d")
        assert "api asks" in tui.text

        await tui.press("end")
        await tui.shows("rm -rf /")
        await tui.shows("a allow")
        await tui.press("home", "a")
        await tui.shows("Allowed")

    assert daemon.posted == [(ANSWER, {"decision": "allow", "for_session": False})]


async def test_the_card_says_how_many_lines_of_a_request_it_does_not_show(
    daemon: FakeDaemon,
) -> None:
    script = "\n".join(f"step {number}" for number in range(30))
    daemon.ask("api", "r1", input={"command": script})
    async with shown(daemon) as tui:
        await tui.until(lambda: re.search(r"o  … \d+ more lines   a  allow", tui.text))
        visible = re.findall(r"^█ +step \d+$", tui.text, re.MULTILINE)
        hidden = re.search(r"… (\d+) more", tui.text)

    assert hidden is not None
    assert len(visible) + int(hidden[1]) == 30


async def test_an_answer_that_comes_too_late_says_so(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1")
    refusal = "It was already allowed at 10:42 from the terminal."
    daemon.answers[ANSWER] = Answered("request-closed", refusal)
    async with shown(daemon) as tui:
        await tui.press("a")
        await tui.shows(refusal)


async def test_an_answer_that_was_not_delivered_can_be_given_again(daemon: FakeDaemon) -> None:
    asked = daemon.ask("api", "r1")
    daemon.answers[ANSWER] = {**asked, "outcome": "allowed", "delivery": "due"}
    reason = "the dialog has changed"
    daemon.answers["permissions", "r1"] = {**asked, "outcome": "open", "reason": reason}
    async with shown(daemon) as tui:
        await tui.press("a")
        await tui.shows("was not delivered: the dialog has changed")
        await tui.press("a")
        await tui.until(lambda: len(daemon.posted) == 2)


async def test_an_answer_that_failed_can_be_given_again(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1")
    daemon.answers[ANSWER] = NotRunning()
    async with shown(daemon) as tui:
        await tui.press("a")
        await tui.shows("No daemon answers.")
        del daemon.answers[ANSWER]
        await tui.press("a")
        await tui.shows("Allowed: Bash")

    assert len(daemon.posted) == 2


@pytest.mark.parametrize(
    ("key", "known"), [("d", {}), ("t", QUESTION)], ids=["reason", "answer"]
)
async def test_a_text_is_kept_when_its_answer_fails(
    daemon: FakeDaemon, key: str, known: dict[str, object]
) -> None:
    daemon.ask("api", "r1", **known)
    daemon.answers[ANSWER] = Answered("bad-input", "It is too long.")
    async with shown(daemon) as tui:
        await tui.press(key, *"text", "enter")
        await tui.until(lambda: tui.text.count("It is too long.") > 1)

        assert tui.app.screen.query_one(dialogs.Composer).text == "text"


async def test_the_answers_to_several_questions_are_kept_when_they_are_refused(
    daemon: FakeDaemon,
) -> None:
    daemon.ask("api", "r1", **TWO_QUESTIONS)
    daemon.answers[ANSWER] = Answered("bad-input", "It is too long.")
    async with shown(daemon) as tui:
        await tui.press("2", "1", "enter")
        await tui.shows("It is too long.")
        assert "Answer api" in tui.text
        del daemon.answers[ANSWER]
        await tui.press("enter")
        await tui.shows("$ rookery answer r1 2 1")

    assert [body["answers"] for _, body in daemon.posted] == [["2", "1"]] * 2


async def test_keys_that_do_not_fit_say_which_do(daemon: FakeDaemon) -> None:
    daemon.ask("api", "r1", **QUESTION)
    daemon.add("idle")
    async with shown(daemon) as tui:
        await tui.press("a")
        assert "It asks a question" in tui.text
        await tui.press("j", "a")
        assert "idle asks nothing that can be answered here" in tui.text

    assert daemon.posted == []


async def test_a_key_says_that_the_request_of_a_session_that_still_asks_was_answered(
    daemon: FakeDaemon,
) -> None:
    daemon.change("api", activity="question", reason="Which?")
    async with shown(daemon) as tui:
        await tui.press("a")
        await tui.shows("api: what it asked was answered, or is asked only in its terminal.")


@pytest.mark.parametrize("key", ["a", "t"])
async def test_no_key_refers_to_one_that_does_not_answer_either(
    daemon: FakeDaemon, key: str
) -> None:
    daemon.ask("api", "r1", **{**QUESTION, "takes_text": False})
    async with shown(daemon) as tui:
        await tui.press(key)
        await tui.shows("Press 1-2 (choose).")
        assert "t (answer" not in tui.text
