"""Find the folders that a tool call works in, and whether they are in a project. Pure."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from typing import Any

#: Fields of a tool's input that hold a shell command.
COMMAND_FIELDS = frozenset({"command", "cmd", "script"})

#: Fields of a tool's input that name the folder in which a command runs.
FOLDER_FIELDS = frozenset({"workdir", "cwd", "directory", "dir_path", "dirPath"})


def paths_in(value: object) -> list[str]:
    """Return the paths that a path field holds: one, several in a list, or none."""
    if isinstance(value, str):
        return [value]
    paths = [*value] if isinstance(value, list | tuple) else []
    return paths if all(isinstance(each, str) for each in paths) else []


def runs_command(tool_input: Mapping[str, Any]) -> bool:
    """Return whether a call with this input runs a command."""
    return not COMMAND_FIELDS.isdisjoint(tool_input)


def named_folders(tool_input: Mapping[str, Any]) -> dict[str, str]:
    """Return the folders that the input of a command names, by field."""
    if not runs_command(tool_input):
        return {}
    folders = {
        name: tool_input[name] for name in sorted(FOLDER_FIELDS.intersection(tool_input))
    }
    return {name: value for name, value in folders.items() if value and isinstance(value, str)}


def working_folders(tool_input: Mapping[str, Any], folder: str) -> list[str]:
    """Return the folders that a call may work in; by default ``folder``, where its agent is.

    Several fields may name a folder, and only the tool knows which of them it uses.
    """
    folders = [absolute_path(each, folder) for each in named_folders(tool_input).values()]
    return folders or ([absolute_path(folder, "/")] if folder else [])


def is_within(folder: str, project: str) -> bool:
    """Return whether an absolute folder is the project's folder, or below it."""
    is_known = bool(project)
    return is_known and (folder == project or folder.startswith(f"{project.rstrip('/')}/"))


def absolute_path(path: str, folder: str) -> str:
    """Resolve a path against a folder, and remove ``.``, ``..`` and ``//`` from it."""
    # normpath keeps two leading slashes, which POSIX lets a system treat specially.
    whole = os.path.normpath(os.path.join(folder, path))  # noqa: PTH118 - pathlib keeps ".."
    return "/" + whole.lstrip("/") if whole.startswith("/") else whole
