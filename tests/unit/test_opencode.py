from __future__ import annotations

from pathlib import Path

import pytest

from rookery.agents.opencode import OpenCode
from rookery.model.errors import HookUnreadable
from rookery.model.facts import SessionId
from rookery.model.screens import View, read_styled
from rookery.model.sessions import NativeId
from rookery.ports import Order

RECORDINGS = Path(__file__).parents[1] / "recordings" / "opencode-1.18.33"

#: What stands in the box, and whether it works, in each recording that shows the box.
BOXES = {
    "answered": View(""),
    "bang-pasted": View("!touch made"),
    "draft": View("half a thou"),
    "escape-once": View("", is_working=True),
    "idle": View(""),
    "interrupted": View(""),
    "interrupted-retry": View(""),
    "pasted-lines": View("a b c\nd e f"),
    "pasted-long": View("[Pasted ~20 lines]"),
    "permitted": View(""),
    "quit-typed": View("/exit"),
    "refused": View(""),
    "retrying": View("", is_working=True),
    "sent-at-first": View("", is_working=True),
    "shell-draft": View("!ls"),
    "shell-mode": View("!"),
    "shell-mode-at-first": View("!"),
    "wide-answered": View(""),
    "wide-working-draft": View("漢字 🙂 draft", is_working=True),
    "working": View("", is_working=True),
    "working-draft": View("draft while working", is_working=True),
    "working-queued": View("", is_working=True),
}

#: The kind of what is asked in each recording that shows a dialog, and all of its text.
DIALOGS = {
    "at-list": ("question", "It offers to complete a word: notes.md"),
    "at-list-at-first": ("question", "It offers to complete a word: notes.md"),
    "palette": ("question", "Commands"),
    "palette-at-first": ("question", "Commands"),
    "permission-always": (
        "permission",
        "Always allow This will allow edit until OpenCode is restarted.",
    ),
    "permission-edit": ("permission", "Permission required → Edit foo.txt 1 + hello there"),
    "permission-shell": ("permission", "Permission required # Shell command $ touch made"),
    "question": ("question", "Which colour? warm cold"),
    "wide-permission": ("permission", "Permission required # Shell command $ sleep 4"),
    "wide-question": ("question", "Which colour? warm cold"),
}

#: Where Enter would do something else than send what is typed.
HIDDEN = {"slash-list"}


def read(name: str) -> View:
    return OpenCode().read_screen(read_styled((RECORDINGS / f"{name}.txt").read_text()))


def order(*, model: str = "", permission_mode: str = "", resumes: bool = False) -> Order:
    native_id = NativeId("ses_1")
    return Order(("opencode",), native_id, model, permission_mode, "hook", Path("/s"), resumes)


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

    assert view.dialog
    assert view.box is None
    assert (view.dialog.kind, view.dialog.text) == asked


@pytest.mark.spec("B0")
@pytest.mark.parametrize("name", HIDDEN)
def test_a_list_of_commands_in_which_ours_is_not_first_hides_the_box(name: str) -> None:
    assert read(name) == View()


def test_a_table_that_mentions_the_escape_key_is_no_dialog() -> None:
    answered = read_styled((RECORDINGS / "answered.txt").read_text()).lines
    said = next(row for row, line in enumerate(answered) if "one two three" in line)
    table = [
        "     Save          ctrl+s",
        "     Leave            esc",
        "     Help             f1",
    ]
    screen = [*answered[:said], *table, *answered[said + 3 :]]

    assert OpenCode().read_screen(read_styled("\n".join(screen))) == View("")


def test_what_a_list_covers_is_not_in_the_box() -> None:
    lines = list(read_styled((RECORDINGS / "quit-typed.txt").read_text()).lines)
    row = next(row for row, line in enumerate(lines) if "Exit the app" in line)
    lines[row - 1] = "  ┃  words that were sent"

    assert OpenCode().read_screen(read_styled("\n".join(lines))) == View("/exit")


def test_what_stands_beside_the_box_is_not_in_it() -> None:
    lines = list(read_styled((RECORDINGS / "wide-working-draft.txt").read_text()).lines)
    row = next(row for row, line in enumerate(lines) if "draft" in line and "say:" not in line)
    edge = next(line for line in lines if "╹" in line)
    wide = 3  # characters in this draft that take two columns
    lines[row] = lines[row].ljust(len(edge) - wide) + "src/changed.py +1"

    view = OpenCode().read_screen(read_styled("\n".join(lines)))

    assert view == View("漢字 🙂 draft", is_working=True)


@pytest.mark.parametrize("screen", ["", "\n\n", "┃", "  ┃  one\n  ┃  two"])
def test_a_screen_that_is_not_drawn_yet_shows_nothing(screen: str) -> None:
    assert OpenCode().read_screen(read_styled(screen)) == View()


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("box", "words", "holds"),
    [
        ("Build it.", "Build it.", True),
        ("Build\nit.", "Build it.", True),
        ("[Pasted ~20 lines]", "anything", True),
        ("[Pasted ~20 lines] and more", "anything", False),
        ("Build it. And", "Build it.", False),
        ("", "Build it.", False),
    ],
)
def test_a_box_holds_words_as_opencode_shows_them(box: str, words: str, *, holds: bool) -> None:
    assert OpenCode().holds(box, words) is holds


@pytest.mark.spec("B2")
@pytest.mark.parametrize("words", ["Build it.", "!touch made", " !touch made", "/etc is full"])
def test_nothing_that_is_pasted_would_be_run(words: str) -> None:
    assert OpenCode().why_not(words) == ""


def test_its_command_line_names_the_model_and_what_to_go_on_with() -> None:
    plain = OpenCode().command_line(order(permission_mode="plan"))
    full = OpenCode().command_line(order(model="fake/fake-model"))
    again = OpenCode().command_line(order(resumes=True))

    assert plain.argv == ("opencode",)
    assert full.argv == ("opencode", "--model", "fake/fake-model")
    assert again.argv == ("opencode", "--session", "ses_1")
    assert not plain.files


def test_it_tells_nothing_by_hooks_yet() -> None:
    with pytest.raises(HookUnreadable):
        OpenCode().identify({"session_id": "n1", "cwd": "/", "hook_event_name": "Stop"})

    assert list(OpenCode().read_hook({"hook_event_name": "Stop"}, SessionId("s"))) == []
