"""Which folder a tool call works in, and whether that is inside a session's project. Pure."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from typing import Any

#: Fields of a tool's input that a shell runs.
COMMAND_FIELDS = frozenset({"command", "cmd", "script"})

#: Fields of a tool's input that name the folder which a command runs in.
FOLDER_FIELDS = frozenset({"workdir", "cwd", "directory", "dir_path", "dirPath"})


def paths_in(value: object) -> list[str]:
    """Return the paths that a path field holds: one, or a list of several."""
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
    """Return the folders that a call may work in; ``folder`` is the one that its agent is in.

    Several fields may name one, and only the tool knows which of them it uses.
    """
    folders = [absolute_path(each, folder) for each in named_folders(tool_input).values()]
    return folders or ([absolute_path(folder, "/")] if folder else [])


def is_within(folder: str, project: str) -> bool:
    """Return whether an absolute folder is the project's folder, or below it."""
    is_known = bool(project)
    return is_known and (folder == project or folder.startswith(f"{project.rstrip('/')}/"))


def absolute_path(path: str, folder: str) -> str:
    """Return a path, relative to a folder, as absolute and without ``.``, ``..`` and ``//``."""
    # normpath keeps two leading slashes, which POSIX lets a system treat specially.
    whole = os.path.normpath(os.path.join(folder, path))  # noqa: PTH118 - pathlib keeps ".."
    return "/" + whole.lstrip("/") if whole.startswith("/") else whole
