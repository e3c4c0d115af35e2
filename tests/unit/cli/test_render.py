from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import click
import pytest

from rookery.cli import colour, render
from rookery.cli.conversation import show_answer, show_prompt
from rookery.cli.render import ago, at_deadline, complain, reply, say, show_json
from rookery.cli.session_table import SessionTable
from rookery.cli.wrapping import between_commands
from rookery.client.decoding import read
from rookery.client.sessions import SessionInfo
from rookery.client.turns import TurnInfo
from rookery.model.reason_texts import first_line, with_last_output
from rookery.presentation.cells import folded
from rookery.presentation.texts import plain
from tests.support.cli import session

EVIL = "\x1b]0;owned\x07\x1b[2Jred\x9b31m\r"


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("it exited with status 7; its screen ended with:\nOh no\n", "it exited with status 7"),
        ("it did not come up; its screen shows:\n…", "it did not come up"),
        ("its tmux pane is gone", "its tmux pane is gone"),
        ("", ""),
    ],
)
def test_a_reason_without_its_screen_is_one_line(reason: str, line: str) -> None:
    assert first_line(reason) == line


EXITED_2 = "it exited with status 2; its screen ended with:"


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        (
            "it exited with status 7; its screen ended with:\nstarts\n  No  key\n╰──╯\n",
            "it exited with status 7: No key",
        ),
        (
            f"{EXITED_2}\nerror: invalid value 'x'\n  [values: y]\n\nFor more, try '--help'.\n",
            "it exited with status 2: error: invalid value 'x'",
        ),
        (
            f"{EXITED_2}\nError resuming session: unknown\n  Use --list-sessions to see all.\n",
            "it exited with status 2: Error resuming session: unknown",
        ),
        (f"{EXITED_2}\nerrors: 0\nTraceback\nKilled\n", "it exited with status 2: Killed"),
        ("it exited; its screen ended with:\n╰──╯", "it exited"),
        ("it did not come up; its screen shows:\n? for shortcuts", "it did not come up"),
        ("its tmux pane is gone", "its tmux pane is gone"),
    ],
)
def test_a_reason_for_a_person_has_the_line_of_output_that_explains_it(
    reason: str, line: str
) -> None:
    assert with_last_output(reason) == line


@pytest.mark.spec("I5")
def test_there_is_no_colour_where_nobody_wants_any(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    coloured = colour.is_colourful()
    monkeypatch.setenv("NO_COLOR", "1")

    assert coloured
    assert not colour.is_colourful()


@pytest.mark.spec("K2")
def test_what_agents_say_is_shown_and_never_obeyed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say(EVIL)
    complain(EVIL)
    lines = SessionTable([session("a", title=EVIL, project_path=EVIL)]).lines(120)
    click.echo("\n".join(lines))

    told = capsys.readouterr()
    assert not set(told.out + told.err) & set("\x1b\x07\x9b\r")
    assert "red" in told.out
    assert plain("tab\tand\nline") == "tab\tand\nline"


@pytest.mark.spec("K2")
def test_a_prompt_is_shown_and_never_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    turn = TurnInfo(prompt=EVIL, answer=EVIL, ended_at="now", how="finished")

    show_prompt(turn.prompt)
    show_answer(turn, session("a"))

    assert not set(capsys.readouterr().out) & set("\x1b\x07\x9b\r")


def test_json_comes_back_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"words": EVIL, "more": ["ü", 1, None]}

    show_json(value)

    assert json.loads(capsys.readouterr().out) == value


@pytest.mark.spec("I5")
def test_a_program_gets_every_field_that_the_daemon_sent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sent = {"name": "a", "mood": ["good"], "id": "1"}

    reply(read(SessionInfo, sent), "It is a.", as_json=True)

    assert capsys.readouterr().out == json.dumps(sent, indent=2) + "\n"


@pytest.mark.spec("K2")
def test_json_is_never_obeyed_either(capsys: pytest.CaptureFixture[str]) -> None:
    show_json({"words": EVIL})

    assert not set(capsys.readouterr().out) & set("\x1b\x07\x9b\r")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(-5, "0s"), (0, "0s"), (59, "59s"), (60, "1m"), (3_700, "1h"), (90_000, "1d")],
)
def test_a_time_is_told_as_people_do(seconds: int, told: str) -> None:
    moment = datetime.now(UTC) - timedelta(seconds=seconds)

    assert ago(moment.isoformat()) == told


@pytest.mark.spec("K2")
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", [""]),
        ("abcdef", ["abcd", "ef"]),
        ("ab\n\nabcde", ["ab", "", "abcd", "e"]),
        ("漢字漢", ["漢字", "漢"]),
        ("a漢字b", ["a漢", "字b"]),
    ],
)
def test_lines_are_broken_where_they_would_leave_the_terminal(
    text: str, rows: list[str]
) -> None:
    assert folded(text, 4).split("\n") == rows


@pytest.mark.spec("K2")
def test_what_would_turn_a_line_round_is_taken_out() -> None:
    assert plain("safe \u202etxt.exe\u2066!") == "safe txt.exe!"


@pytest.mark.spec("I5")
def test_line_ends_that_only_some_terminals_know_are_not_printed() -> None:
    assert plain("one\u2028two\u2029three\n") == "onetwothree\n"


#: What a terminal would obey, or would show otherwise than it is: C0, C1, and bidi controls.
OBEYED = "".join(
    map(chr, [*range(9), *range(11, 32), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F])
)
OBEYED += "".join(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))


@pytest.mark.spec("K2")
def test_json_has_nothing_that_a_terminal_obeys_and_means_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_json({"words": OBEYED})
    printed = capsys.readouterr().out

    assert not set(printed) & set(OBEYED)
    assert json.loads(printed) == {"words": OBEYED}


@pytest.mark.spec("K2")
def test_no_text_has_anything_that_a_terminal_obeys() -> None:
    assert plain(OBEYED) == ""


@pytest.mark.spec("K2")
def test_a_line_break_in_a_cell_begins_no_row() -> None:
    for end in ("\n", "\r\n", "\v", "\x85", "\u2028"):
        forged = f"/repo{end}forged  demo  idle"
        one = session("builder", project_path=forged, title=f"a{end}b")
        lines = SessionTable([one]).lines(120)

        assert len(lines) == 2, repr(end)
        assert "forged" in lines[1]


@pytest.mark.spec("K2")
def test_a_line_that_is_said_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    render.say_line("a\nb\rc\x85d\u2028e\tf\x1bg")

    assert capsys.readouterr().out == "a b c d e fg\n"


@pytest.mark.spec("D3", "D6")
@pytest.mark.parametrize(
    ("on_timeout", "fallback", "said"),
    [
        ("terminal", "dialog", "its terminal takes over in 0s"),
        ("terminal", "denial", "it is denied in 0s"),
        ("deny", "dialog", "it is denied in 0s"),
        ("terminal", "stop", "it may stop in 0s"),
        ("deny", "stop", "it may stop in 0s"),
    ],
)
def test_what_happens_at_a_deadline_is_said(on_timeout: str, fallback: str, said: str) -> None:
    now = datetime.now(UTC).isoformat()

    assert at_deadline(now, on_timeout, fallback) == said


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("room", "text"),
    [
        (80, "  rookery allow 2  |  rookery deny 2  |  rookery attach d2"),
        (40, "  rookery allow 2  |  rookery deny 2\n  rookery attach d2"),
        (10, "  rookery allow 2\n  rookery deny 2\n  rookery attach d2"),
    ],
)
def test_commands_to_choose_from_stay_whole_in_a_narrow_terminal(room: int, text: str) -> None:
    whole = "  rookery allow 2  |  rookery deny 2  |  rookery attach d2"

    assert between_commands(whole, room) == text
