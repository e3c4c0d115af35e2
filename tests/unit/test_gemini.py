from __future__ import annotations

from pathlib import Path

import pytest

from rookery.agents.gemini import Gemini
from rookery.model.errors import HookUnreadable
from rookery.model.facts import SessionId
from rookery.model.screens import View, read_styled
from rookery.model.sessions import NativeId
from rookery.ports import Order

RECORDINGS = Path(__file__).parents[1] / "recordings" / "gemini-0.61.0"

WRAPPED = "\n".join(["say:", *["x" * 114] * 3, "x" * 58])

#: What stands in the box, and whether it works, in each recording that shows the box.
BOXES = {
    "answered": View(""),
    "bang-pasted": View("!touch made"),
    "clean-ui": View(""),
    "clean-ui-draft": View("half a thou"),
    "clean-ui-working": View("", is_working=True),
    "draft": View("half a thou"),
    "failed": View(""),
    "history-search": View("(r:)"),
    "idle": View(""),
    "interrupted": View(""),
    "mode-yolo": View(""),
    "narrow-working": View("", is_working=True),
    "no-colour-answered": View(""),
    "no-colour-draft": View("half a thou"),
    "pasted-lines": View("a b c\nd e f\n\ng h i"),
    "pasted-long": View("[Pasted Text: 21 lines]"),
    "pasted-wrapped": View(WRAPPED),
    "permitted": View(""),
    "quit-typed": View("/quit"),
    "refused": View(""),
    "shell-draft": View("!touch made"),
    "shell-mode": View("!"),
    "shortcuts": View(""),
    "start-banner": View(""),
    "vim-insert": View(""),
    "vim-normal": View(""),
    "working": View("", is_working=True),
    "working-draft": View("draft while working", is_working=True),
    "working-in-tool": View("", is_working=True),
    "working-queued": View("", is_working=True),
}

#: The kind of what is asked in each recording that shows a dialog, and how it begins.
DIALOGS = {
    "at-list": ("question", "It offers to complete a word: codebase_investigator"),
    "dialog-model": ("question", "Select Model"),
    "permission-above-the-box": (
        "permission",
        "? Shell  touch made touch made Allow execution",
    ),
    "permission-edit": ("permission", "? WriteFile  Writing to foo.txt 1 hello there Apply"),
    "permission-shell": ("permission", "? Shell  touch made touch made Allow execution of"),
    "question": ("question", "Answer Questions Which colour?"),
    "start-api-key": ("question", "Enter Gemini API Key"),
    "start-auth": ("question", "? Get started How would you like to authenticate"),
    "start-trust": ("question", "Do you trust the files in this folder?"),
}

#: Where Enter would do something else than send what is typed.
HIDDEN = {"slash-list"}


def read(name: str) -> View:
    return Gemini().read_screen(read_styled((RECORDINGS / f"{name}.txt").read_text()))


def order(*, model: str = "", permission_mode: str = "", resumes: bool = False) -> Order:
    native_id = NativeId("11111111-2222-4333-8444-555555555555")
    return Order(("gemini",), native_id, model, permission_mode, "hook", Path("/s"), resumes)


def test_every_recording_is_read() -> None:
    assert {file.stem for file in RECORDINGS.glob("*.txt")} == {*BOXES, *DIALOGS, *HIDDEN}


@pytest.mark.spec("C8")
@pytest.mark.parametrize(("name", "view"), BOXES.items())
def test_a_screen_shows_what_is_typed_and_whether_it_works(name: str, view: View) -> None:
    assert read(name) == view


@pytest.mark.spec("C8")
@pytest.mark.parametrize(("name", "asked"), DIALOGS.items())
def test_a_screen_shows_what_is_asked(name: str, asked: tuple[str, str]) -> None:
    view = read(name)

    kind, beginning = asked
    assert view.dialog
    assert view.box is None
    assert view.dialog.kind == kind
    assert view.dialog.text.startswith(beginning)


@pytest.mark.spec("B0")
@pytest.mark.parametrize("name", HIDDEN)
def test_a_list_of_commands_in_which_ours_is_not_first_hides_the_box(name: str) -> None:
    assert read(name) == View()


def test_words_that_were_sent_are_not_taken_for_the_box() -> None:
    sent = (RECORDINGS / "working.txt").read_text().split("\n")
    cut_short = "\n".join(sent[: next(n for n, line in enumerate(sent) if "Thinking" in line)])

    assert "gate: a" in cut_short
    assert Gemini().read_screen(read_styled(cut_short)) == View()


def test_words_that_were_sent_are_not_taken_for_the_box_above_what_is_asked() -> None:
    asking = (RECORDINGS / "permission-shell.txt").read_text()

    view = Gemini().read_screen(read_styled("\n" + asking))

    assert (view.box, view.dialog) == (None, read("permission-shell").dialog)


def test_what_was_asked_before_something_was_said_is_over() -> None:
    asking = (RECORDINGS / "permission-shell.txt").read_text()

    assert Gemini().read_screen(read_styled(asking + "✦ It\nhas\nrun.")) == View()


def test_a_last_line_without_labels_is_no_list() -> None:
    lines = read_styled((RECORDINGS / "draft.txt").read_text()).lines
    unlabelled = [line for line in lines if "(/directory)" not in line]

    assert len(unlabelled) == len(lines) - 1
    assert Gemini().read_screen(read_styled("\n".join(unlabelled))) == View("half a thou")


@pytest.mark.parametrize("screen", ["", "\n\n", "Loading extensions...", "▄" * 40])
def test_a_screen_that_is_not_drawn_yet_shows_nothing(screen: str) -> None:
    assert Gemini().read_screen(read_styled(screen)) == View()


def test_a_list_that_is_still_loading_hides_the_box() -> None:
    screen = (RECORDINGS / "at-list.txt").read_text()
    first, second = " codebase_investigator [Agent]", "notes.md"
    plain = "\n".join(read_styled(screen).lines)

    loading = plain.replace(first, " Loading suggestions...").replace(second, "")

    assert Gemini().read_screen(read_styled(loading)) == View()


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("box", "words", "holds"),
    [
        ("Build it.", "Build it.", True),
        (WRAPPED, "say: " + "x" * 400, True),
        ("[Pasted Text: 21 lines]", "anything", True),
        ("[Pasted Text: 700 chars #2]", "anything", True),
        ("[Pasted Text: 21 lines] and more", "anything", False),
        ("Build it. And", "Build it.", False),
        ("", "Build it.", False),
    ],
)
def test_a_box_holds_words_as_gemini_shows_them(box: str, words: str, *, holds: bool) -> None:
    assert Gemini().holds(box, words) is holds


@pytest.mark.spec("B2")
@pytest.mark.parametrize("words", ["Build it.", "!touch made", " !touch made", "/etc is full"])
def test_nothing_that_is_pasted_would_be_run(words: str) -> None:
    assert Gemini().why_not(words) == ""


def test_its_command_line_names_the_session_the_model_and_the_mode() -> None:
    plain = Gemini().command_line(order())
    full = Gemini().command_line(order(model="gemini-2.5-flash", permission_mode="auto_edit"))
    again = Gemini().command_line(order(resumes=True))

    native_id = "11111111-2222-4333-8444-555555555555"
    assert plain.argv == ("gemini", "--session-id", native_id)
    assert full.argv[3:] == ("--model", "gemini-2.5-flash", "--approval-mode", "auto_edit")
    assert again.argv == ("gemini", "--resume", native_id)
    assert not plain.files


def test_it_tells_nothing_by_hooks_yet() -> None:
    with pytest.raises(HookUnreadable):
        Gemini().identify({"session_id": "n1", "cwd": "/", "hook_event_name": "Stop"})

    assert list(Gemini().read_hook({"hook_event_name": "Stop"}, SessionId("s"))) == []
