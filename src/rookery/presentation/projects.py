"""Find the project that a session belongs to: for a worktree, the repository it came from."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from rookery.client.sessions import SessionInfo, SessionWorkspaceInfo
from rookery.model.folders import is_within


def project_folder(session: SessionInfo) -> str:
    """Return the folder of a session; for one in a worktree, the same folder in its project."""
    workspace = session.workspace
    return _in_project(session.project_path, workspace) if workspace else session.project_path


def project_folders(sessions: Iterable[SessionInfo]) -> dict[str, str]:
    """Return the project folder of each session by its id.

    A session without a worktree of its own may work in that of another session.
    """
    sessions = [*sessions]
    worktrees = {each.workspace.path: each.workspace for each in sessions if each.workspace}
    folders = {}
    for each in sessions:
        found = each.workspace or _around(each.project_path, worktrees.values())
        folders[each.id] = _in_project(each.project_path, found) if found else each.project_path
    return folders


def _around(
    folder: str, worktrees: Iterable[SessionWorkspaceInfo]
) -> SessionWorkspaceInfo | None:
    return next((each for each in worktrees if is_within(folder, each.path)), None)


def _in_project(folder: str, worktree: SessionWorkspaceInfo) -> str:
    """Return the folder of the project that corresponds to a folder of its worktree."""
    repository = worktree.repository.removesuffix("/.git")
    if not repository or not is_within(folder, worktree.path):
        return repository or folder
    below = posixpath.relpath(folder, worktree.path)
    return repository if below == "." else f"{repository}/{below}"
