"""A daemon that dies at every moment of a story, and those who notice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rookery.model.errors import NotRunning, Unreadable
from tests.support.real.rookery import Rookery


class Mortal(Rookery):
    """A home whose daemon dies at a moment, and is started again by whoever notices."""

    def __init__(self, folder: Path, die_at: int) -> None:
        super().__init__(folder)
        self.record = folder / "moments"
        self.record.touch()
        self.deaths = 0
        self._die_at = die_at

    @property
    def program(self) -> list[str]:
        if self._die_at < 0:
            return super().program
        return [
            sys.executable,
            "-m",
            "tests.support.prove.mortal",
            str(self._die_at),
            str(self.record),
        ]

    def insist(self, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever is asked for
        """Ask as an honest client does that gets no answer: again, under the same key."""
        while True:
            try:
                return ask()
            except (NotRunning, Unreadable, OSError):
                self.deaths += 1
                assert self.deaths < 20
                self._die_at = -1
                self.reap()
                self.up()


@contextmanager
def mortal(folder: Path, die_at: int, configuration: str = "") -> Iterator[Mortal]:
    rookery = Mortal(folder, die_at)
    rookery.configure(configuration)
    try:
        rookery.up()
        yield rookery
    finally:
        rookery.reap()
        rookery.clear_away()


def die_at_every_moment(
    folder: Path,
    tell: Callable[[Mortal], None],
    check: Callable[[Mortal], None],
    configuration: str = "",
) -> int:
    """Tell a story once whole, and once for each of its moments. Returns how many those are."""
    with mortal(folder / "whole", 1_000_000, configuration) as whole:
        tell(whole)
        check(whole)
        moments = whole.record.read_text().splitlines()
    print(f"\n{len(moments)} moments: {Counter(moments)}")  # noqa: T201 - figures for the docs
    violations = []
    for number in range(len(moments)):
        with mortal(folder / str(number), number, configuration) as rookery:
            try:
                tell(rookery)
                check(rookery)
            except AssertionError as violation:
                violations.append((number, moments[number], str(violation)))
    assert violations == []
    return len(moments)


def heard(rookery: Rookery, session: str) -> list[str]:
    file = rookery.folder / ".rookery-demo" / f"{session}.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [line["text"] for line in lines if line["type"] == "user"]


def tmux_of_others(folder: Path) -> Iterator[Callable[[], str]]:
    """Give a tmux server of somebody else, and what runs there."""
    socket = str(folder / "others.sock")
    tmux = ["tmux", "-S", socket, "-f", "/dev/null"]
    subprocess.run([*tmux, "new-session", "-d", "-s", "rk_mine", "cat"], check=True)

    def running() -> str:
        shown = "#{session_name} #{pane_id} #{pane_pid} #{pane_dead}"
        listed = subprocess.run(
            [*tmux, "list-panes", "-a", "-F", shown], capture_output=True, text=True, check=True
        )
        return listed.stdout

    yield running
    subprocess.run([*tmux, "kill-server"], check=False)
