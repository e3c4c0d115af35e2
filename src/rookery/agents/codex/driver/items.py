"""The items of a Codex turn as tool calls, in the words of Codex's hooks. Pure.

Rules match a tool's name and input. For the same call they must match in a session without a
terminal as in one with a terminal, where a hook reports the call.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rookery.drivers.events import FileChanged
from rookery.drivers.json_fields import Fields, fields_of
from rookery.drivers.result_texts import bounded

#: The tools that run a shell command, that change files, and that ask the user.
SHELL, PATCH, QUESTION = "Bash", "apply_patch", "request_user_input"

#: The statuses of an item whose tool did not do what it was asked for.
_FAILED = frozenset({"failed", "declined"})

#: The options of a shell that precede a script.
_SCRIPT_OPTIONS = frozenset({"-c", "-lc"})

#: A shell, its option and the script.
_SHELL_WORDS = 3


@dataclass(frozen=True, slots=True)
class CodexCall:
    tool: str
    input: Fields


def tool_use(item: Fields) -> CodexCall | None:  # noqa: PLR0911 - a table
    """Return the tool call that an item is; ``None`` for a text and the like."""
    match item:
        case {"type": "commandExecution", "command": str(command)}:
            return CodexCall(SHELL, {"command": script_in(command)})
        case {"type": "fileChange", "changes": [*changes]}:
            return CodexCall(PATCH, {"command": patch_text(changes)})
        case {"type": "mcpToolCall", "server": str(server), "tool": str(tool)}:
            return CodexCall(f"mcp__{server}__{tool}", fields_of(item.get("arguments")))
        case {"type": "dynamicToolCall", "tool": str(tool)}:
            return CodexCall(tool, fields_of(item.get("arguments")))
        case {"type": "collabAgentToolCall", "tool": str(tool)}:
            return CodexCall(tool, {"prompt": item.get("prompt") or ""})
        case {"type": "webSearch", "query": str(query)}:
            return CodexCall("web_search", {"query": query})
        case {"type": "imageView", "path": str(path)}:
            return CodexCall("view_image", {"path": path})
        case _:
            return None


def script_in(command: str) -> str:
    """Return the script that a shell is started with, as Codex's hooks report a command."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if len(words) == _SHELL_WORDS and words[1] in _SCRIPT_OPTIONS:
        return words[2]
    return command


def patch_text(changes: Sequence[object]) -> str:
    """Return changes of files as a patch, in the format of ``apply_patch``."""
    lines = ["*** Begin Patch"]
    for change in changes:
        lines += _patch_lines(change)
    return "\n".join([*lines, "*** End Patch"])


def _patch_lines(change: object) -> Iterator[str]:
    match change:
        case {"path": str(path), "kind": {"type": "add"}, "diff": str(text)}:
            yield f"*** Add File: {path}"
            yield from (f"+{line}" for line in text.splitlines())
        case {"path": str(path), "kind": {"type": "delete"}}:
            yield f"*** Delete File: {path}"
        case {"path": str(path), "kind": {"type": "update"} as kind, "diff": str(diff)}:
            yield f"*** Update File: {path}"
            if isinstance(new_path := kind.get("move_path"), str):
                yield f"*** Move to: {new_path}"
            yield from diff.splitlines()
        case _:
            yield f"*** Update File: {json.dumps(change)}"  # no rule may overlook it


def changed_files(item: Fields) -> Iterator[FileChanged]:
    """Yield the changes of an item that has changed files, as unified diffs."""
    match item:
        case {"type": "fileChange", "id": str(call), "changes": [*changes]}:
            for change in changes:
                if isinstance(change, dict) and isinstance(change.get("path"), str):
                    yield FileChanged(change["path"], bounded(_unified(change)), call)
        case _:
            return


def _unified(change: Fields) -> str:
    path, diff = change["path"], str(change.get("diff") or "")
    kind = fields_of(change.get("kind")).get("type")
    if kind == "update":
        return f"--- {path}\n+++ {path}\n{diff}"
    lines = diff.splitlines()
    if kind == "add":
        added = "".join(f"+{line}\n" for line in lines)
        return f"--- /dev/null\n+++ {path}\n@@ -0,0 +1,{len(lines)} @@\n{added}"
    removed = "".join(f"-{line}\n" for line in lines)
    return f"--- {path}\n+++ /dev/null\n@@ -1,{len(lines)} +0,0 @@\n{removed}"


def has_failed(item: Fields) -> bool:
    """Return whether a tool call failed or was refused."""
    exit_code = item.get("exitCode")
    return item.get("status") in _FAILED or (isinstance(exit_code, int) and exit_code != 0)


def result_of(item: Fields) -> str:
    """Return what a tool returned, cut to a bounded length."""
    match item:
        case {"aggregatedOutput": str(output)}:
            return bounded(output)
        case {"error": {"message": str(message)}}:
            return bounded(message)
        case {"result": {"content": [*blocks]}}:
            return bounded("\n".join(map(_block_text, blocks)))
        case {"contentItems": [*blocks]}:
            return bounded("\n".join(map(_block_text, blocks)))
        case {"status": str(status)} if status in _FAILED:
            return status
        case _:
            return ""


def _block_text(block: object) -> str:
    match block:
        case {"text": str(text)}:
            return text
        case _:
            return json.dumps(block, ensure_ascii=False)
