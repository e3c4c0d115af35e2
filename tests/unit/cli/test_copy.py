"""An answer goes to the clipboard, whatever is in it."""

from __future__ import annotations

import base64
import os
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rookery.cli import copy as copy_command
from rookery.cli.clipboard import MAX_OSC52_BYTES, copy_text, osc52
from rookery.model.errors import CommandRefused
from tests.support.cli import Scripted, made, typed

pytestmark = pytest.mark.spec("I5")

NO_TERMINAL = Path("/nonexistent/tty")


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that makes a program which keeps what it is given."""

    def make(name: str, *, code: int = 0) -> Path:
        kept, file = tmp_path / f"{name}.kept", tmp_path / name
        file.write_text(f'#!/bin/sh\necho "$@" > {kept}\n/bin/cat >> {kept}\nexit {code}\n')
        file.chmod(0o755)
        return kept

    return make


class Terminal:
    """A terminal, and what was written to it."""

    def __init__(self) -> None:
        self._far, self._near = os.openpty()
        tty.setraw(self._near)
        self.path = Path(os.ttyname(self._near))

    def read(self) -> bytes:
        return os.read(self._far, 1_000_000)


@pytest.mark.parametrize(
    ("name", "display", "arguments"),
    [
        ("pbcopy", "", ""),
        ("wl-copy", "WAYLAND_DISPLAY", ""),
        ("xclip", "DISPLAY", "-selection clipboard"),
        ("xsel", "DISPLAY", "--clipboard --input"),
    ],
)
def test_a_clipboard_program_gets_the_text_on_its_input(
    program: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    display: str,
    arguments: str,
) -> None:
    kept = program(name)
    here = {"PATH": str(kept.parent), display: ":0"}
    monkeypatch.setenv("PATH", here["PATH"])

    assert copy_text("é;`x`\n", here, NO_TERMINAL) == name
    assert kept.read_text() == f"{arguments}\né;`x`\n"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({}, 0),  # no display
        ({"DISPLAY": ":0"}, 1),
        ({"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, 0),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "1.2.3.4"}, 0),
    ],
)
def test_else_the_terminal_gets_it_as_base64(
    program: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    more: dict[str, str],
    code: int,
) -> None:
    here = {"PATH": str(program("xclip", code=code).parent), **more}
    monkeypatch.setenv("PATH", here["PATH"])
    terminal, text = Terminal(), "\x1b]0;evil\x07 é\n"

    assert copy_text(text, here, terminal.path) == "OSC 52"
    assert terminal.read() == b"\x1b]52;c;" + base64.b64encode(text.encode()) + b"\x07"


def test_in_tmux_its_buffer_takes_the_text(
    program: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, terminal = program("tmux"), Terminal()
    here = {"PATH": str(kept.parent), "TMUX": "/tmp/tmux-0/default,1,0"}  # noqa: S108
    monkeypatch.setenv("PATH", here["PATH"])

    assert copy_text("x", here, terminal.path) == "tmux, OSC 52"
    assert kept.read_text() == "load-buffer -w -\nx"


def test_an_older_tmux_passes_the_sequence_through(
    program: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = {"PATH": str(program("tmux", code=1).parent), "TMUX": "x"}
    monkeypatch.setenv("PATH", here["PATH"])
    terminal = Terminal()

    assert copy_text("x", here, terminal.path) == "OSC 52"
    assert terminal.read() == osc52(b"x", in_tmux=True)
    assert osc52(b"x", in_tmux=True).startswith(b"\x1bPtmux;\x1b\x1b]52;c;")


def test_a_text_that_is_too_long_for_a_terminal_is_refused() -> None:
    terminal = Terminal()

    copied = copy_text("x" * MAX_OSC52_BYTES, {"PATH": ""}, Path(os.devnull))
    with pytest.raises(CommandRefused, match=r"74,995 bytes.*--print"):
        copy_text("x" * (MAX_OSC52_BYTES + 1), {"PATH": ""}, terminal.path)

    assert copied == "OSC 52"


def test_without_a_terminal_and_a_program_it_says_what_to_do() -> None:
    with pytest.raises(CommandRefused, match="--print"):
        copy_text("x", {"PATH": ""}, NO_TERMINAL)


ANSWER = "First:\n```\none\n```\nThen:\n```\ntwo\x1b[201~\nthree\n```\n"


def turns(*answers: str) -> dict[str, Any]:
    made_turns = [{"number": 1, "prompt": f"do {each[:5]}", "answer": each} for each in answers]
    return {"session": made("ann"), "turns": made_turns}


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ([], ANSWER.replace("\x1b", "")),
        (["--block"], "two[201~\nthree"),
        (["--block", "1"], "one"),
        (["--prompt"], "do "),
    ],
)
def test_an_answer_a_block_or_a_prompt_is_printed_without_control_characters(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    printed: str,
) -> None:
    daemon = Scripted(sessions=turns(ANSWER, ""))

    typed(monkeypatch, daemon, "copy", "ann", "--print", *words)

    assert capsys.readouterr().out == f"{printed}\n"


@pytest.mark.parametrize(
    ("answers", "words", "why"),
    [
        ([], [], "ann has no answer yet"),
        (["plain"], ["--block"], "no code block"),
        ([ANSWER], ["--block", "3"], "There is no code block 3; the text has 2"),
        ([], ["--prompt"], "ann has no prompt yet"),
    ],
)
def test_what_is_not_there_is_said(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answers: list[str],
    words: list[str],
    why: str,
) -> None:
    assert typed(monkeypatch, Scripted(sessions=turns(*answers)), "copy", "ann", *words)
    assert why in capsys.readouterr().err


def test_the_command_says_what_was_copied_and_how(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(copy_command, "TERMINAL", terminal.path)
    for name in ("TMUX", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSH_TTY", "/dev/pts/0")

    typed(monkeypatch, Scripted(sessions=turns(ANSWER)), "copy", "ann", "--block")

    assert capsys.readouterr().out == "Copied 2 lines (OSC 52).\n"
    assert terminal.read() == osc52(b"two[201~\nthree", in_tmux=False)


def test_a_resumed_session_has_the_answer_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    resumed = {"session": made("ann", continues="0123"), "turns": []}
    daemon = Scripted(sessions=[resumed, turns("old")])

    typed(monkeypatch, daemon, "copy", "ann", "--print")

    assert capsys.readouterr().out == "old\n"
    assert daemon.asked[1][0] == ("sessions", "0123", "turns")
