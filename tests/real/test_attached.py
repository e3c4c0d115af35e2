"""A person attached in a terminal of their own."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import pytest

from tests.support.real.rookery import Rookery, eventually

pytestmark = pytest.mark.real


@contextmanager
def attached(rookery: Rookery, name: str) -> Iterator[int]:
    """Be attached to a session while the block lasts; give what is to be typed into."""
    target = f"={rookery.session(name)['tmux_session']}"
    words = ["tmux", "-u", "-S", str(rookery.home.tmux), "attach-session", "-t", target]
    pid, terminal = pty.fork()
    if pid == 0:
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        environment.pop("TMUX", None)
        os.execvpe("tmux", words, environment)  # noqa: S606 - no shell
    Thread(target=_read_on, args=(terminal,), daemon=True).start()
    eventually(lambda: "0" in rookery.tmux("list-clients", "-F", "#{client_control_mode}"))
    try:
        yield terminal
    finally:
        with suppress(OSError):
            os.close(terminal)
        os.waitpid(pid, 0)


def _read_on(terminal: int) -> None:
    with suppress(OSError):
        while select.select([terminal], [], []) and os.read(terminal, 65536):
            pass


@pytest.mark.spec("A6", "K4")
def test_whoever_leaves_a_program_that_has_ended_takes_nobody_with_them(
    rookery: Rookery,
) -> None:
    rookery.start("other")
    # It asks to be told of the focus, as most agents do, and ends while somebody looks.
    script = "printf '\\033[?1004h'; echo last words; read line; exit 3"
    rookery.start("it", agent="shell", command=["sh", "-c", script])
    with attached(rookery, "it") as terminal:
        rookery.stop()  # nobody clears the pane away
        os.write(terminal, b"\r")
        eventually(lambda: "3" in rookery.tmux("list-panes", "-a", "-F", "#{pane_dead_status}"))
        rookery.tmux("detach-client", "-a", "-s", "nobody")
        client = rookery.tmux("list-clients", "-F", "#{client_tty}").strip()
        rookery.tmux("detach-client", "-t", client)
    rookery.up()

    assert rookery.session("other")["activity"] == "idle"
    ended = rookery.ended("it")
    assert "it exited with status 3" in ended["reason"]
    assert "last words" in ended["reason"]


@pytest.mark.spec("B0")
def test_a_window_gets_its_size_back_when_a_tiny_terminal_has_left(rookery: Rookery) -> None:
    pane = str(rookery.start("it")["tmux_pane"])

    def size() -> str:
        shown = "#{window_width}x#{window_height}"
        return rookery.tmux("display-message", "-p", "-t", pane, shown).strip()

    for _ in range(2):  # the second terminal can change it, too
        with attached(rookery, "it") as terminal:
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 4, 7, 0, 0))
            eventually(lambda: size().startswith("7x"))
        eventually(lambda: size() == "200x50")

    assert rookery.ask("it", "say: hello") == "hello"
