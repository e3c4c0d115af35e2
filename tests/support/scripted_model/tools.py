"""The tools of real programs, and which of them a directive means. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import assert_never

from tests.support.scripted_model.steps import AnyCall, Call, Shell, Write

#: Before the names of Rookery's own tools, whatever a program puts before that.
OURS = "rookery__"


def named(step: AnyCall, tools: Collection[str]) -> Call:
    """Name the tool of a call, among those that the program has declared."""
    match step:
        case Call(name) if name.startswith(OURS):
            return replace(step, name=_ours(name, tools))
        case Call():
            return step
        case Shell(command):
            return _shell(command, tools)
        case Write():
            return _write(step, tools)
        case _:
            assert_never(step)


def _ours(name: str, tools: Collection[str]) -> str:
    """Find a tool of Rookery's; Claude Code does not declare those of servers at first."""
    plain = name.removeprefix(OURS)
    return next((each for each in tools if each.endswith(plain)), f"mcp__{name}")


def _shell(command: str, tools: Collection[str]) -> Call:
    name = next((name for name in _SHELLS if name in tools), "Bash")
    return Call(name, _SHELLS[name](command))


def _write(step: Write, tools: Collection[str]) -> Call:
    for name, arguments in _WRITERS.items():
        if name in tools:
            return Call(name, arguments(step))
    line = f"printf %s {shlex.quote(step.text)} > {shlex.quote(step.path)}"
    return _shell(line, tools)


def _described(command: str) -> dict[str, object]:
    return {"command": command, "description": "scripted"}


def _plain(command: str) -> dict[str, object]:
    return {"command": command}


def _short(command: str) -> dict[str, object]:
    return {"cmd": command}


def _words(command: str) -> dict[str, object]:
    return {"command": ["bash", "-lc", command]}


def _content(step: Write) -> dict[str, object]:
    return {"file_path": step.path, "content": step.text}


def _camel_content(step: Write) -> dict[str, object]:
    return {"filePath": step.path, "content": step.text}


def _patch_input(step: Write) -> dict[str, object]:
    added = "".join(f"+{line}\n" for line in step.text.split("\n"))
    body = f"*** Add File: {step.path}\n{added}"
    return {"input": f"*** Begin Patch\n{body}*** End Patch"}


#: By name, the most wanted first.
_SHELLS: dict[str, Callable[[str], dict[str, object]]] = {
    "Bash": _described,  # Claude Code
    "exec_command": _short,  # Codex
    "shell_command": _plain,
    "shell": _words,
    "run_shell_command": _described,  # Gemini CLI
    "bash": _described,  # OpenCode
    "execute": _plain,
    "developer__shell": _plain,
}
_WRITERS: dict[str, Callable[[Write], dict[str, object]]] = {
    "Write": _content,  # Claude Code
    "write_file": _content,  # Gemini CLI
    "apply_patch": _patch_input,  # Codex
    "write": _camel_content,  # OpenCode
}
