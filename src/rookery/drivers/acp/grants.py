"""Remember what an allowed call covers, so that no person is asked about it twice.

A grant replaces the person's answer only: rules that deny apply to what is granted, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rookery.drivers.acp.files import LocatedFile, OutOfReach, ProjectFiles
from rookery.drivers.acp.tools import EXECUTE, RUN_COMMAND, AcpCall, NamedCall, NameTool
from rookery.model.folders import COMMAND_FIELDS, named_folders, paths_in
from rookery.model.rules import PATH_FIELDS
from rookery.model.variables import variables_of

#: A command line, its folder, and its variables in the order of their names.
_Command: TypeAlias = tuple[str, Path, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class Grant:
    """What a call covers; files and folders are those at the time of the question."""

    changes: tuple[tuple[LocatedFile, str], ...] = ()
    command: _Command | None = None


class Grants:
    """The changes and the commands that were allowed in this turn, each for one use."""

    def __init__(self, folder: Path, name_tool: NameTool) -> None:
        self._folder = folder
        shell = name_tool(AcpCall("", kind=EXECUTE, input={"command": ""}, method=RUN_COMMAND))
        #: The tools of calls that run a command as ``terminal/create`` does.
        self._shells = {shell.tool, *({EXECUTE} if shell.tool == RUN_COMMAND else ())}
        self._files = ProjectFiles(folder)
        self._changes: list[tuple[LocatedFile, str]] = []
        self._commands: list[_Command] = []

    def clear(self) -> None:
        self._changes.clear()
        self._commands.clear()

    def read(self, call: AcpCall, use: NamedCall) -> Grant:
        """Return what is shown of a call, before a person is asked about it.

        A link that is changed while the person decides leads to nothing that is granted.
        """
        command = self._command(use.input) if use.tool in self._shells else None
        return Grant(tuple(self._changes_shown(call, use)), command)

    def _changes_shown(
        self, call: AcpCall, use: NamedCall
    ) -> Iterator[tuple[LocatedFile, str]]:
        shown = {self._locate(each) for each in _files_shown(use)}
        for diff in call.diffs:
            file = self._locate(diff.path)
            if file and file in shown:
                yield file, diff.new

    def _locate(self, path: str) -> LocatedFile | None:
        """Return a file; ``None`` if it is out of reach, so that it is not written at all."""
        try:
            return self._files.locate(path)
        except OutOfReach:
            return None

    def add(self, grant: Grant) -> None:
        """Note that a call was allowed: what was shown of it may be carried out."""
        self._changes += grant.changes
        if grant.command:
            self._commands.append(grant.command)

    def take_change(self, file: LocatedFile, content: str) -> bool:
        """Return whether an allowed call shows this change; it then counts as made."""
        return _take((file, content), self._changes)

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
        try:
            folder = Path(self._folder, folders.pop()).resolve()
        except (OSError, RuntimeError, ValueError):  # links in a circle, or a NUL character
            return None
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
