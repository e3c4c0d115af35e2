"""The demo agent without a terminal and without hooks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.programs.demo import options
from rookery.programs.demo.hooks import Hooks
from rookery.programs.demo.input import InputEvent, KeyPress, Pasted, Typed
from rookery.programs.demo.options import Options
from rookery.programs.demo.program import EXIT_OFFER_S, Program
from rookery.programs.demo.screen import LiveArea
from rookery.programs.demo.session import ExitStatus

SESSION = "6b1a2f9e-6a5c-4f0e-9d55-0d6f3a4b7c11"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class DemoDriver:
    """Presses the keys of a program, and sets its clock."""

    def __init__(self, asked: Options) -> None:
        self.clock = Clock()
        self.program = Program(asked, Hooks(asked.hooks, self.clock), self.clock)
        self.printed: list[str] = []
        self.wait(0)

    def press(self, *events: InputEvent) -> None:
        for event in events:
            self.program.press(event)
            self.wait(0)

    def submit(self, text: str) -> None:
        self.press(Typed(text), KeyPress.ENTER)

    def wait(self, seconds: float) -> None:
        self.clock.now += seconds
        self.program.advance()
        self.printed += [
            block.kind.value + block.text for block in self.program.take_unprinted()
        ]

    @property
    def area(self) -> LiveArea:
        return self.program.live_area()

    @property
    def exit(self) -> ExitStatus | None:
        return self.program.exit


def started(folder: Path, *arguments: str) -> DemoDriver:
    asked = options.read(["--session-id", SESSION, *arguments])
    return DemoDriver(replace(asked, home=folder / "home"))


@pytest.fixture
def driver(tmp_path: Path) -> DemoDriver:
    return started(tmp_path)


def test_a_prompt_is_answered(driver: DemoDriver) -> None:
    driver.submit("say: hello")

    assert driver.printed[1:] == ["❯ say: hello", "● hello"]
    assert driver.area.status == "demo · default mode · 1 turn"


def test_a_blank_draft_is_not_submitted(driver: DemoDriver) -> None:
    driver.submit(" ")

    assert driver.printed[1:] == []
    assert driver.area.draft.text == " "


def test_a_backslash_before_enter_makes_a_newline(driver: DemoDriver) -> None:
    driver.submit("a\\")

    assert driver.area.draft.text == "a\n"


def test_what_is_submitted_in_a_turn_is_the_next_one(driver: DemoDriver) -> None:
    driver.submit("sleep: 5;;say: first")
    driver.submit("say: second")
    queued = driver.area.queued
    driver.wait(5)

    assert queued == ("say: second",)
    assert driver.printed[2:] == ["● first", "❯ say: second", "● second"]


def test_escape_interrupts_a_turn_and_keeps_what_was_spoken(driver: DemoDriver) -> None:
    driver.submit("slow: 1;;say: one two three")
    driver.wait(1)
    driver.press(KeyPress.ESCAPE)

    assert driver.printed[2:] == ["● one two", "  ⎿ Interrupted"]
    assert driver.area.turn is None


def test_escape_clears_nothing(driver: DemoDriver) -> None:
    driver.press(Typed("draft"), KeyPress.ESCAPE)

    assert driver.area.draft.text == "draft"


def test_ctrl_c_clears_then_interrupts_then_offers_to_exit(driver: DemoDriver) -> None:
    driver.submit("sleep: 5")
    driver.press(Typed("draft"), KeyPress.CANCEL)
    cleared = driver.area
    driver.press(KeyPress.CANCEL)
    interrupted = driver.area
    driver.press(KeyPress.CANCEL)

    assert cleared.draft.text == ""
    assert cleared.turn is not None
    assert interrupted.turn is None
    assert driver.area.status == "press ctrl-c again to exit"
    assert driver.exit is None


def test_a_second_ctrl_c_exits_only_soon_after_the_first(driver: DemoDriver) -> None:
    driver.press(KeyPress.CANCEL)
    driver.wait(EXIT_OFFER_S)
    driver.press(KeyPress.CANCEL)
    late = driver.exit
    driver.press(KeyPress.CANCEL)

    assert late is None
    assert driver.exit == ExitStatus(0)


def test_ctrl_d_exits_only_from_an_empty_box(driver: DemoDriver) -> None:
    driver.press(Typed("x"), KeyPress.CLOSE)
    full = driver.exit
    driver.press(KeyPress.BACKSPACE, KeyPress.CLOSE)

    assert full is None
    assert driver.exit == ExitStatus(0)


@pytest.mark.parametrize(("text", "code"), [("/exit", 0), ("/quit", 0), ("exit: 7", 7)])
def test_the_program_can_be_told_to_exit(driver: DemoDriver, text: str, code: int) -> None:
    driver.submit(text)

    assert driver.exit == ExitStatus(code)


def test_clear_begins_anew(driver: DemoDriver) -> None:
    driver.submit("say: hello")
    driver.submit("/clear")

    assert driver.area.status == "demo · default mode · 0 turns"
    assert not driver.area.is_starting


def test_a_dialog_keeps_the_draft_and_takes_the_keys(driver: DemoDriver) -> None:
    driver.submit("sleep: 1;;permission: Bash ls")
    driver.press(Typed("draft"))
    driver.wait(1)
    driver.press(Pasted("1"), Typed("words"))
    asked = driver.area
    driver.press(KeyPress.ENTER)

    assert asked.dialog is not None
    assert driver.area.dialog is None
    assert driver.area.draft.text == "draft"
    assert driver.printed[2:] == ["● Bash(ls)", "  ⎿ ok"]


def test_words_typed_before_it_listens_are_lost(tmp_path: Path) -> None:
    driver = started(tmp_path, "--startup-delay", "1")

    driver.press(Typed("early"), KeyPress.ENTER)
    starting = driver.area.is_starting
    driver.wait(1)

    assert starting
    assert not driver.area.is_starting
    assert driver.area.draft.text == ""


def test_without_trust_there_is_no_session(tmp_path: Path) -> None:
    driver = started(tmp_path, "--trust-dialog")

    driver.press(Typed("2"))

    assert driver.exit == ExitStatus(1)
    assert driver.printed == []


def test_it_sleeps_when_there_is_nothing_to_do(driver: DemoDriver) -> None:
    assert driver.program.deadline() is None


def test_it_wakes_for_the_next_picture_and_the_end_of_a_wait(driver: DemoDriver) -> None:
    driver.submit("sleep: 0.3")
    first = driver.program.deadline()
    driver.wait(0.25)

    assert first == 100.25
    assert driver.program.deadline() == pytest.approx(100.3)


def test_the_transcript_has_the_words_of_both(driver: DemoDriver, tmp_path: Path) -> None:
    driver.submit("say: hello\\")
    driver.press(Typed("sleep: 9"), KeyPress.ENTER, KeyPress.ESCAPE)

    lines = (tmp_path / "home" / f"{SESSION}.jsonl").read_text().splitlines()
    written = [json.loads(line) for line in lines]
    assert [(line["type"], line["text"]) for line in written] == [
        ("user", "say: hello\nsleep: 9"),
        ("assistant", "hello"),
        ("interrupted", ""),
    ]
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700


def test_a_transcript_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("not a folder")
    driver = started(tmp_path)

    driver.submit("say: hello")

    assert driver.printed[2:] == ["● hello"]
