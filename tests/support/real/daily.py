"""Uses an agent in its pane as a person does every day: typing, pasting, opening menus."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.real.rookery import SOON, Rookery, eventually

#: A picture of one pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

#: What stands on the screen of an agent that works.
WORKING = re.compile(r"esc (?:to )?(?:interrupt|cancel)")


class Done(NamedTuple):
    """A turn, as ``rookery output`` shows it."""

    prompt: str
    answer: str
    how: str


@dataclass(frozen=True)
class Person:
    """Somebody at the keyboard of one session."""

    rookery: Rookery
    name: str = "it"
    patience: float = SOON

    @cached_property
    def pane(self) -> str:
        return str(self.rookery.session(self.name)["tmux_pane"])

    def press(self, *keys: str) -> None:
        for key in keys:
            self.rookery.tmux("send-keys", "-t", self.pane, key)

    def type(self, words: str) -> None:
        """Type words, and wait until they stand on the screen."""
        self.rookery.tmux("send-keys", "-t", self.pane, "-l", words)
        self.see(words.rsplit(maxsplit=1)[-1])

    def enter(self, words: str) -> None:
        self.type(words)
        self.press("Enter")

    def press_until(
        self, key: str, is_done: Callable[[str], bool], *, each: float = 3.0
    ) -> None:
        """Press a key again after so many seconds without effect: menus miss early keys."""
        for _ in range(20):
            self.press(key)
            with suppress(AssertionError):
                eventually(lambda: is_done(self.screen), within=each)
                return
        pytest.fail(f"{key} has no effect")

    def rest(self) -> None:
        """Wait until the screen says no more that it works: its stop hook comes before that."""
        eventually(lambda: not WORKING.search(self.screen), within=self.patience)

    def paste(self, words: str) -> None:
        file = self.rookery.folder / "clipboard"
        file.write_text(words)
        self.rookery.tmux("load-buffer", "-b", "clipboard", str(file))
        self.rookery.tmux("paste-buffer", "-p", "-d", "-b", "clipboard", "-t", self.pane)

    @property
    def screen(self) -> str:
        return self.rookery.tmux("capture-pane", "-p", "-t", self.pane)

    def see(self, words: str) -> None:
        """Wait until words stand on the screen."""
        eventually(lambda: words in self.screen, within=self.patience)

    def see_no_more(self, words: str) -> None:
        eventually(lambda: words not in self.screen, within=self.patience)

    def ask(self, words: str) -> str:
        answer = self.rookery.ask(self.name, words, timeout=self.patience)
        self.rest()
        return answer

    def send_behind(self, words: str) -> int:
        """Send words while something is in their way, and wait until that is said."""
        message = self.rookery.send(self.name, words)
        eventually(lambda: self._is_kept(message), within=self.patience)
        return message

    def _is_kept(self, message: int) -> bool:
        step, waits_for = self.rookery.step(message)
        asks = self.session["activity"] in {"permission", "question"}
        return step == "pending" and (bool(waits_for) or asks)

    def hear(self, message: int) -> Done:
        """Wait for the answer to a message, and return the one turn that has its words."""
        answered = self.rookery.client.get(
            "messages", str(message), "answer", timeout=self.patience
        )
        self.rest()
        (only,) = [turn for turn in self.turns if turn.prompt == answered["prompt"]]
        return only

    @property
    def session(self) -> dict[str, Any]:
        return self.rookery.session(self.name)

    @property
    def turns(self) -> list[Done]:
        found = self.rookery.json("output", self.name)["turns"]
        return [Done(each["prompt"], each["answer"], each["how"]) for each in found]

    def end_of(self, prompt: str) -> Done:
        """Wait until the turn with these words is over, and return it."""
        eventually(lambda: self._ended(prompt), within=self.patience)
        self.rest()
        (only,) = self._ended(prompt)
        return only

    def _ended(self, prompt: str) -> list[Done]:
        turns = self.turns if self.session["activity"] == "idle" else []
        return [turn for turn in turns if turn.prompt == prompt and turn.how]

    @property
    def what(self) -> str:
        """The line of this session in ``rookery ls``."""
        listed = self.rookery.run("ls").stdout.splitlines()
        return next(line for line in listed if line.split()[0] == self.name)


def check_failures(person: Person, failures: Mapping[str, str]) -> None:
    """Check that each prompt's turn fails, and that its reason is kept and listed."""
    for prompt, reason in failures.items():
        person.rookery.send(person.name, prompt)
        turn = person.end_of(prompt)
        assert turn.how == "failed"
        assert reason in turn.answer
        assert "turn failed" in person.what
        assert turn.answer[:20] in person.what


def draw(folder: Path) -> Path:
    """Put a picture into a folder."""
    picture = folder / "dot.png"
    picture.write_bytes(PNG)
    return picture


def make_repository(folder: Path) -> Path:
    """Make a git repository of a folder, and a second worktree of it; return that."""
    worktree = folder.with_name("worktree")
    for words in (
        "init --quiet --initial-branch main",
        "-c user.name=x -c user.email=x@x commit --quiet --allow-empty --message begin",
        f"worktree add --quiet -b feature {worktree}",
    ):
        subprocess.run(["git", "-C", str(folder), *words.split()], check=True, timeout=SOON)
    return worktree
