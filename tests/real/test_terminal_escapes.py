"""Escapes that a program prints in our tmux: none reaches the terminal of who is attached."""

from __future__ import annotations

import pytest

from rookery.runtimes.tmux.server_options import CONFIGURATION
from tests.support.real.attached import attached
from tests.support.real.rookery import Rookery, eventually

pytestmark = [pytest.mark.real, pytest.mark.spec("K2")]

#: What each tmux option keeps from happening, as the program in the pane tries it.
ATTEMPTS = {
    "set-clipboard": r"\033]52;c;cHduZWQ=\007",
    "allow-passthrough": r"\033Ptmux;\033\033]0;pwned-through\007\033\\",
    "allow-rename": r"\033kpwned-name\033\\",
}


@pytest.mark.parametrize("option", ATTEMPTS)
def test_our_tmux_is_configured_to_ignore_what_programs_ask_of_the_terminal(
    option: str,
) -> None:
    # Written down, not left to tmux's defaults, which were others before and may be again.
    (line,) = [each for each in CONFIGURATION.splitlines() if f" {option} " in f"{each} "]

    assert line.split()[-2:] == [option, "off"]


def test_a_program_reaches_neither_clipboard_nor_title_nor_window_name(
    rookery: Rookery,
) -> None:
    tried = "".join(ATTEMPTS.values())
    program = f"read go; printf '{tried}all was tried\\n'; sleep 600"
    rookery.start("painter", agent="shell", command=["sh", "-c", program])
    pane = str(rookery.session("painter")["tmux_pane"])

    with attached(rookery, "painter") as terminal:
        eventually(lambda: b"C-q" in terminal.shown)  # its first picture is drawn
        rookery.tmux("send-keys", "-t", pane, "Enter")
        eventually(lambda: b"all was tried" in terminal.shown)

        shown = bytes(terminal.shown)

    options = {
        name: rookery.tmux("show-options", scope, "-v", name).strip()
        for name, scope in (("set-clipboard", "-s"), ("allow-rename", "-g"))
    }
    passthrough = rookery.tmux("show-options", "-gqv", "allow-passthrough").strip()
    assert b"cHduZWQ" not in shown
    assert b"\033]52;" not in shown
    assert b"pwned" not in shown
    assert rookery.tmux("show-buffer") == ""
    assert "pwned" not in rookery.tmux("display-message", "-p", "-t", pane, "#{window_name}")
    assert options == {"set-clipboard": "off", "allow-rename": "off"}
    assert passthrough in {"off", ""}  # tmux 3.2 has no such option
