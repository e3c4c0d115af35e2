"""What an agent said last, by its screen: recordings of real ones, and screens made of rows."""

from __future__ import annotations

import pytest

from rookery.model.screens import read_styled
from tests.support.dialects import screen_of, speech_of
from tests.support.paths import RECORDINGS

RULE, TOP, BOTTOM = "─" * 60, "▄" * 60, "▀" * 60
CODEX_BOX = ["", "› Ask Codex to do anything", "", "  GPT-5.5 default · /code"]
GEMINI_BOX = [
    *("", f"{'':50}? for shortcuts", RULE, " Shift+Tab to accept edits"),
    *(TOP, " >   Type your message or @path/to/file", BOTTOM, " workspace (/directory)"),
]


@pytest.mark.spec("F3")
@pytest.mark.parametrize(
    ("recording", "said"),
    [
        ("codex-0.166.0/answered", "queued words"),
        ("codex-0.166.0/permitted", "all done"),
        ("codex-0.166.0/idle", ""),
        ("codex-0.166.0/refused", ""),
        ("codex-0.166.0/interrupted", ""),
        ("codex-0.166.0/failed", ""),
        ("codex-0.166.0/cleared", ""),
        ("gemini-0.61.0/answered", "queued words"),
        ("gemini-0.61.0/permitted", "written"),
        ("gemini-0.61.0/no-colour-answered", "hi"),
        ("gemini-0.61.0/idle", ""),
        ("gemini-0.61.0/refused", ""),
        ("gemini-0.61.0/interrupted", ""),
        ("gemini-0.61.0/failed", ""),
    ],
)
def test_the_screen_of_a_real_one_tells_what_it_said_last(recording: str, said: str) -> None:
    agent, _, _ = recording.partition("-")
    screen = read_styled((RECORDINGS / f"{recording}.txt").read_text())

    assert speech_of(agent).last_answer(screen.lines) == said


@pytest.mark.spec("F3")
@pytest.mark.parametrize(
    ("agent", "rows", "said"),
    [
        (
            "codex",
            ["› go", "", "• First.", "", "  1. one", "     more", "", "  Worked for 2s • 1:35"],
            "First.\n\n1. one\n   more",
        ),
        (
            "codex",
            ["• Here it is.", "", "  src", "  └ a.py", "  Worked for me."],
            "Here it is.\n\nsrc\n└ a.py\nWorked for me.",
        ),
        ("codex", ["• Edited a.py (+1 -1)", "    1 +x"], ""),
        ("codex", ["• Context compacted"], ""),
        ("gemini", ["✦ A list:", "", "  -  item"], "A list:\n\n-  item"),
        ("codex", ["• First.", "", "› and?"], ""),
        ("codex", ["• First.", "", "• Ran ls", "  └ a.txt"], ""),
        ("codex", ["• First.", "", "■ Conversation interrupted"], ""),
        ("codex", [], ""),
        ("gemini", [TOP, " > go", BOTTOM, "✦ One.", "", "  Two."], "One.\n\nTwo."),
        ("gemini", ["✦ One.", TOP, " > go", BOTTOM], ""),
        ("gemini", ["✦ One.", "╭──╮", "│ ✓  Shell  ls", "╰──╯"], ""),
        ("gemini", ["✦ One.", "  ✓  WriteFile  a.txt"], ""),
    ],
)
def test_only_what_came_last_is_an_answer(agent: str, rows: list[str], said: str) -> None:
    box = CODEX_BOX if agent == "codex" else GEMINI_BOX

    assert speech_of(agent).last_answer([*rows, *box]) == said


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("recording", "is_interrupted"),
    [
        ("codex-0.166.0/interrupted", True),
        ("codex-0.166.0/refused", True),
        ("codex-0.166.0/answered", False),
        ("codex-0.166.0/idle", False),
        ("gemini-0.61.0/interrupted", True),
        ("gemini-0.61.0/refused", True),
        ("gemini-0.61.0/answered", False),
        ("gemini-0.61.0/idle", False),
    ],
)
def test_the_screen_of_a_real_one_tells_that_its_turn_was_stopped(
    recording: str, is_interrupted: bool
) -> None:
    agent, _, _ = recording.partition("-")
    screen = read_styled((RECORDINGS / f"{recording}.txt").read_text())

    assert speech_of(agent).shows_interruption(screen.lines) is is_interrupted


@pytest.mark.parametrize("agent", ["codex", "gemini"])
def test_a_screen_without_a_box_tells_nothing(agent: str) -> None:
    assert speech_of(agent).last_answer(["• words", "✦ words"]) == ""
    assert speech_of(agent).last_answer([]) == ""


@pytest.mark.parametrize("agent", ["claude", "opencode"])
def test_no_words_are_read_off_a_screen_whose_agent_tells_them_itself(agent: str) -> None:
    assert screen_of(agent).speech is None


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("recording", "asked"),
    [
        ("codex-0.166.0/answered", "say: queued words"),
        ("codex-0.166.0/idle", ""),
        ("gemini-0.61.0/answered", "say: queued words"),
        ("gemini-0.61.0/idle", ""),
    ],
)
def test_the_screen_of_a_real_one_tells_what_it_was_asked_last(
    recording: str, asked: str
) -> None:
    agent, _, _ = recording.partition("-")
    screen = read_styled((RECORDINGS / f"{recording}.txt").read_text())

    assert speech_of(agent).last_prompt(screen.lines) == asked


@pytest.mark.spec("C8")
def test_a_prompt_that_goes_over_several_rows_is_read_as_a_whole() -> None:
    rows = ["› first, and", "  second", "", "• Yes.", *CODEX_BOX]

    assert speech_of("codex").last_prompt(rows) == "first, and\nsecond"
