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


class Person:
    """Sits before a demo agent whose time goes on when told."""

    def __init__(self, asked: Options) -> None:
        self.clock = Clock()
        self.program = Program(asked, Hooks(asked.hooks, self.clock), self.clock)
        self.said: list[str] = []
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
        self.said += [block.kind.value + block.text for block in self.program.take_unprinted()]

    @property
    def view(self) -> LiveArea:
        return self.program.live_area()

    @property
    def exit(self) -> ExitStatus | None:
        return self.program.exit


def seated(folder: Path, *arguments: str) -> Person:
    asked = options.read(["--session-id", SESSION, *arguments])
    return Person(replace(asked, home=folder / "home"))


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return seated(tmp_path)


def test_a_prompt_is_answered(person: Person) -> None:
    person.submit("say: hello")

    assert person.said[1:] == ["❯ say: hello", "● hello"]
    assert person.view.status == "demo · default mode · 1 turn"


def test_a_blank_draft_is_not_submitted(person: Person) -> None:
    person.submit(" ")

    assert person.said[1:] == []
    assert person.view.draft.text == " "


def test_a_backslash_before_enter_makes_a_newline(person: Person) -> None:
    person.submit("a\\")

    assert person.view.draft.text == "a\n"


def test_what_is_submitted_in_a_turn_is_the_next_one(person: Person) -> None:
    person.submit("sleep: 5;;say: first")
    person.submit("say: second")
    queued = person.view.queued
    person.wait(5)

    assert queued == ("say: second",)
    assert person.said[2:] == ["● first", "❯ say: second", "● second"]


def test_escape_interrupts_a_turn_and_keeps_what_was_spoken(person: Person) -> None:
    person.submit("slow: 1;;say: one two three")
    person.wait(1)
    person.press(KeyPress.ESCAPE)

    assert person.said[2:] == ["● one two", "  ⎿ Interrupted"]
    assert person.view.turn is None


def test_escape_clears_nothing(person: Person) -> None:
    person.press(Typed("draft"), KeyPress.ESCAPE)

    assert person.view.draft.text == "draft"


def test_ctrl_c_clears_then_interrupts_then_offers_to_exit(person: Person) -> None:
    person.submit("sleep: 5")
    person.press(Typed("draft"), KeyPress.CANCEL)
    cleared = person.view
    person.press(KeyPress.CANCEL)
    interrupted = person.view
    person.press(KeyPress.CANCEL)

    assert cleared.draft.text == ""
    assert cleared.turn is not None
    assert interrupted.turn is None
    assert person.view.status == "press ctrl-c again to exit"
    assert person.exit is None


def test_a_second_ctrl_c_exits_only_soon_after_the_first(person: Person) -> None:
    person.press(KeyPress.CANCEL)
    person.wait(EXIT_OFFER_S)
    person.press(KeyPress.CANCEL)
    late = person.exit
    person.press(KeyPress.CANCEL)

    assert late is None
    assert person.exit == ExitStatus(0)


def test_ctrl_d_exits_only_from_an_empty_box(person: Person) -> None:
    person.press(Typed("x"), KeyPress.CLOSE)
    full = person.exit
    person.press(KeyPress.BACKSPACE, KeyPress.CLOSE)

    assert full is None
    assert person.exit == ExitStatus(0)


@pytest.mark.parametrize(("text", "code"), [("/exit", 0), ("/quit", 0), ("exit: 7", 7)])
def test_the_program_can_be_told_to_exit(person: Person, text: str, code: int) -> None:
    person.submit(text)

    assert person.exit == ExitStatus(code)


def test_clear_begins_anew(person: Person) -> None:
    person.submit("say: hello")
    person.submit("/clear")

    assert person.view.status == "demo · default mode · 0 turns"
    assert not person.view.is_starting


def test_a_dialog_keeps_the_draft_and_takes_the_keys(person: Person) -> None:
    person.submit("sleep: 1;;permission: Bash ls")
    person.press(Typed("draft"))
    person.wait(1)
    person.press(Pasted("1"), Typed("words"))
    asked = person.view
    person.press(KeyPress.ENTER)

    assert asked.dialog is not None
    assert person.view.dialog is None
    assert person.view.draft.text == "draft"
    assert person.said[2:] == ["● Bash(ls)", "  ⎿ ok"]


def test_words_typed_before_it_listens_are_lost(tmp_path: Path) -> None:
    person = seated(tmp_path, "--startup-delay", "1")

    person.press(Typed("early"), KeyPress.ENTER)
    starting = person.view.is_starting
    person.wait(1)

    assert starting
    assert not person.view.is_starting
    assert person.view.draft.text == ""


def test_without_trust_there_is_no_session(tmp_path: Path) -> None:
    person = seated(tmp_path, "--trust-dialog")

    person.press(Typed("2"))

    assert person.exit == ExitStatus(1)
    assert person.said == []


def test_it_sleeps_when_there_is_nothing_to_do(person: Person) -> None:
    assert person.program.deadline() is None


def test_it_wakes_for_the_next_picture_and_the_end_of_a_wait(person: Person) -> None:
    person.submit("sleep: 0.3")
    first = person.program.deadline()
    person.wait(0.25)

    assert first == 100.25
    assert person.program.deadline() == pytest.approx(100.3)


def test_the_transcript_has_the_words_of_both(person: Person, tmp_path: Path) -> None:
    person.submit("say: hello\\")
    person.press(Typed("sleep: 9"), KeyPress.ENTER, KeyPress.ESCAPE)

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
    person = seated(tmp_path)

    person.submit("say: hello")

    assert person.said[2:] == ["● hello"]
