"""Read the user's lines of a transcript, some of which Claude Code itself writes. As of 2.1."""

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

#: A shell command that the user typed after "!", and its output.
_SHELL = re.compile(r"<bash-input>(.*?)</bash-input>", re.DOTALL)
_SHELL_OUTPUT = re.compile(r"<bash-stdout>(.*?)</bash-stdout>", re.DOTALL)

#: A background task that has ended.
_REPORT = re.compile(r"<task-notification>.*?<summary>(.*?)</summary>", re.DOTALL)

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def read(text: str) -> Iterator[tuple[Literal["prompt", "words", "result"], str]]:
    """Yield the kind and the text of a user's line: a prompt, a command, or its output."""
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
