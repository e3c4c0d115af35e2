"""An answer is copied in a person's own tmux."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.support.real.own_tmux import OwnTmux
from tests.support.real.rookery import Rookery

pytestmark = [pytest.mark.real, pytest.mark.timeout(120), pytest.mark.spec("I5")]


def test_an_answer_is_in_the_buffer_of_tmux(rookery: Rookery, tmp_path: Path) -> None:
    rookery.start("it")
    rookery.ask("it", "say: Run `this`: é \\ $HOME")
    program = shlex.join([sys.executable, "-m", "rookery", "copy", "it"])
    own = OwnTmux(tmp_path)
    try:
        shown = {"ROOKERY_HOME": rookery.environment["ROOKERY_HOME"], "SSH_TTY": "x"}
        pane = own.shell(rookery.project, **shown)
        own.type(pane, program)
        own.shows(pane, "Copied 1 line (tmux, OSC 52).")

        assert own.tmux("show-buffer") == "Run `this`: é \\ $HOME"
    finally:
        own.clear_away()
