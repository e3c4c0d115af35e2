"""Commands that a user leaves running."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.real.rookery import Rookery

REMOVE = "permission: Bash rm -r build;; say: Gone."


@contextmanager
def begun(rookery: Rookery, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Type a command that takes its time, and leave it alone."""
    with subprocess.Popen(
        [sys.executable, "-m", "rookery", *words],
        env=rookery.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=rookery.project,
    ) as command:
        try:
            yield command
        finally:
            command.kill()


def are_waiting(rookery: Rookery, number: int) -> bool:
    """Whether so many wait at the door for an answer; also at a second look, and a third."""
    return all(_callers(rookery) == number for _ in range(5))


def _callers(rookery: Rookery) -> int:
    listed = subprocess.run(["ss", "-xH"], capture_output=True, text=True, check=True).stdout
    door = f"{rookery.home.door} "
    return sum(door in line and "ESTAB" in line for line in listed.splitlines())


def is_doing(rookery: Rookery, activity: str, name: str = "worker") -> bool:
    return bool(rookery.session(name)["activity"] == activity)
