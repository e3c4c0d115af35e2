"""The command line that each action of the interface stands for."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

#: Characters of a text that a shown command line repeats.
MAX_TEXT_CHARACTERS = 60

#: The agent that is a plain command line: its prompt is the command to run.
COMMAND_AGENT = "shell"


def command(*words: str) -> str:
    """Return a command line as it would be typed, with long texts cut."""
    return " ".join(["rookery", *(shlex.quote(_short(each)) for each in words)])


def _short(word: str) -> str:
    line = " ".join(word.split())
    return line if len(line) <= MAX_TEXT_CHARACTERS else f"{line[:MAX_TEXT_CHARACTERS]}…"


def attach(name: str) -> str:
    return command("attach", name)


def allow(request: str) -> str:
    return command("allow", request)


def allow_for_session(request: str) -> str:
    return command("allow", request, "--session")


def deny(request: str, reason: str) -> str:
    return command("deny", request, *(("--reason", reason) if reason else ()))


def answer(request: str, answers: Sequence[str], *, own_words: bool) -> str:
    return command("answer", request, *(("--text",) if own_words else ()), *answers)


def send(names: Sequence[str], text: str) -> str:
    """Return one command for each session."""
    return " && ".join(command("send", name, text) for name in names)


@dataclass(frozen=True, slots=True)
class NewSession:
    """What the user has filled in to start a session."""

    agent: str
    project: str
    name: str = ""
    prompt: str = ""
    worktree: str | None = None  #: its branch, "" if the daemon names it; None: no worktree
    profile: str = ""
    tags: tuple[str, ...] = ()
    runtime: str = ""  #: empty for the configured one

    @property
    def is_command(self) -> bool:
        """Return whether the prompt is the command to run."""
        return self.agent == COMMAND_AGENT

    @property
    def command(self) -> list[str]:
        """Return the words of the command to run. Raises ``ValueError`` for an open quote."""
        return shlex.split(self.prompt) if self.is_command else []

    @property
    def command_line(self) -> str:
        options = ["--agent", self.agent] if self.agent else []
        options += ["--project", self.project]
        if self.profile:
            options += ["--profile", self.profile]
        if self.runtime:
            options += ["--runtime", self.runtime]
        for each in self.tags:
            options += ["--tag", each]
        if self.name:
            options += ["--name", self.name]
        if self.worktree is not None:
            options += ["--worktree", *filter(None, [self.worktree])]
        if words := self.command:
            return command("start", *options, "--", *words)
        return command("start", *options, *filter(None, [self.prompt]))


def fork(name: str, prompt: str) -> str:
    return command("fork", name, *filter(None, [prompt]))


def resume(name: str, prompt: str) -> str:
    return command("resume", name, *filter(None, [prompt]))


def interrupt(name: str) -> str:
    return command("interrupt", name)


def end(names: Sequence[str]) -> str:
    """Return one command for each session."""
    return " && ".join(command("end", name) for name in names)


def why(name: str) -> str:
    return command("why", name)


def mute(name: str, *, muted: bool) -> str:
    return command("mute" if muted else "unmute", name)


def hide(name: str, *, hidden: bool) -> str:
    return command("hide" if hidden else "unhide", name)


def copy(name: str) -> str:
    return command("copy", name)


GRAPH = f"{command('listen')}  |  {command('relay', 'ls')}"
UP = command("up", "--detach")
