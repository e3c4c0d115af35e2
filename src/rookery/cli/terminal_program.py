"""Run a program that takes over this terminal, and come back when it has ended."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from rookery.model.errors import BadInput


def run_in_terminal(words: Sequence[str]) -> tuple[int, str]:
    """Run a program in this terminal; return its exit code and what it printed at its end.

    The program reaches the terminal through its standard input, as tmux does. It stops and
    continues together with this process, so that the shell's job control works.
    """
    environment = {name: text for name, text in os.environ.items() if name != "TMUX"}
    try:
        program = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        raise BadInput(f"{words[0]} cannot be run here: {error.strerror}.") from error
    with program, _passing_signals(program):
        program.returncode = _wait(program.pid)
        printed = program.stdout.read() if program.stdout else ""
    return _exit_code(program.returncode), printed


def _wait(pid: int) -> int:
    """Wait for the end of a program; while it is stopped, this process is stopped, too."""
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.kill(pid, signal.SIGCONT)


def _exit_code(returned: int) -> int:
    """Return the exit code that a shell reports: after a signal, 128 plus its number."""
    return returned if returned >= 0 else 128 - returned


@contextmanager
def _passing_signals(program: subprocess.Popen[str]) -> Iterator[None]:
    """Pass SIGTERM and SIGHUP to the program, which restores the terminal; ignore SIGINT."""

    def pass_on(number: int, frame: FrameType | None) -> None:
        program.terminate()

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
