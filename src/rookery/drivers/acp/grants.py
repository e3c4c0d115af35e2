"""Remember what an allowed call covers, so that no person is asked about it twice. Pure.

A grant replaces the person's answer only: rules that deny apply to what is granted, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from rookery.drivers.acp.tools import EXECUTE, RUN_COMMAND, AcpCall, NamedCall, NameTool
from rookery.model.folders import COMMAND_FIELDS, named_folders, paths_in
from rookery.model.rules import PATH_FIELDS
from rookery.model.variables import variables_of

#: A command line, its folder, and its variables in the order of their names.
_Command: TypeAlias = tuple[str, Path, tuple[tuple[str, str], ...]]


class Grants:
    """The changes and the commands that were allowed in this turn, each for one use."""

    def __init__(self, folder: Path, name_tool: NameTool) -> None:
        self._folder = folder
        shell = name_tool(AcpCall("", kind=EXECUTE, input={"command": ""}, method=RUN_COMMAND))
        #: The tools of calls that run a command as ``terminal/create`` does.
        self._shells = {shell.tool, *({EXECUTE} if shell.tool == RUN_COMMAND else ())}
        self._changes: list[tuple[Path, str]] = []
        self._commands: list[_Command] = []

    def clear(self) -> None:
        self._changes.clear()
        self._commands.clear()

    def add(self, call: AcpCall, use: NamedCall) -> None:
        """Note that a call was allowed: what was shown of it may be carried out."""
        shown = {Path(each).resolve() for each in _files_shown(use)}
        for diff in call.diffs:
            if (path := Path(diff.path).resolve()) in shown:
                self._changes.append((path, diff.new))
        if use.tool in self._shells and (command := self._command(use.input)):
            self._commands.append(command)

    def take_change(self, path: Path, content: str) -> bool:
        """Return whether an allowed call shows this change; it then counts as made."""
        return _take((path, content), self._changes)

    def take_command(self, use: NamedCall) -> bool:
        """Return whether this very command was allowed: line, folder and variables."""
        command = self._command(use.input)
        return command is not None and _take(command, self._commands)

    def _command(self, tool_input: Mapping[str, Any]) -> _Command | None:
        """Return what distinguishes a command; ``None`` if that is not certain."""
        lines = [tool_input[name] for name in COMMAND_FIELDS.intersection(tool_input)]
        folders = {*named_folders(tool_input).values()} or {str(self._folder)}
        variables = variables_of(tool_input) or {}
        if len(lines) != 1 or len(folders) != 1 or not isinstance(lines[0], str):
            return None
        if not isinstance(variables, dict):
            return None
        folder = Path(self._folder, folders.pop()).resolve()
        return lines[0], folder, tuple(sorted((k, str(v)) for k, v in variables.items()))


def _files_shown(use: NamedCall) -> list[str]:
    """Return the files that the rules and the person have seen."""
    fields = (value for name, value in use.input.items() if name in PATH_FIELDS)
    return [*use.files, *(path for value in fields for path in paths_in(value))]


def _take(item: Any, items: list[Any]) -> bool:  # noqa: ANN401 - of one list
    if item in items:
        items.remove(item)
        return True
    return False
