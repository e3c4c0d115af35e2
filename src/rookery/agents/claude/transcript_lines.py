"""Read what Claude Code puts into a user's line on its own account. As of 2.1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

#: A command of the program, such as /compact, and what it printed.
_COMMAND = re.compile(
    r"<command-name>(?P<name>.*?)</command-name>.*?<command-args>(?P<args>.*?)</command-args>",
    re.DOTALL,
)
_OUTPUT = re.compile(r"<local-command-(?:stdout|stderr)>(.*?)</local-command-", re.DOTALL)

#: A shell command that a person has typed after "!", and what it printed.
_SHELL = re.compile(r"<bash-input>(.*?)</bash-input>", re.DOTALL)
_SHELL_OUTPUT = re.compile(r"<bash-stdout>(.*?)</bash-stdout>", re.DOTALL)

#: A background task that has ended.
_REPORT = re.compile(r"<task-notification>.*?<summary>(.*?)</summary>", re.DOTALL)

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def read(text: str) -> Iterator[tuple[Literal["prompt", "words", "result"], str]]:
    """Say what a user's line is: a prompt, a command, or what a command printed."""
    if command := _COMMAND.match(text):
        yield "prompt", f"{command['name']} {command['args']}"
    elif output := _OUTPUT.match(text):
        yield "words", _ESCAPE.sub("", output[1])
    elif shell := _SHELL.match(text):
        yield "prompt", f"! {shell[1]}"
    elif printed := _SHELL_OUTPUT.match(text):
        yield "result", printed[1]
    elif report := _REPORT.match(text):
        yield "prompt", report[1]
    else:
        yield "prompt", text
