"""Sentences about worktrees."""

from __future__ import annotations

import shlex

from rookery.cli.render import short
from rookery.client import Client
from rookery.client.sessions import SessionInfo, SessionWorkspaceInfo
from rookery.client.workspaces import show_workspace
from rookery.model.errors import Answered
from rookery.model.workspaces import short_id
from rookery.presentation.texts import count

#: Seconds for the daemon to check the worktree of a session that has ended.
CHECK_TIMEOUT_S = 5.0


def describe_start(workspace: SessionWorkspaceInfo) -> str:
    """Return sentences on a new worktree: its place, its base, and what is not in it."""
    branch, path = workspace.branch, short(workspace.path)
    begins = f"{workspace.base or 'commit'} ({short_id(workspace.base_commit)})"
    lines = [f"It works in {path} on branch {branch}, from {begins}."]
    if workspace.uncommitted:
        changes = count(workspace.uncommitted, "uncommitted change")
        verb = "stays" if workspace.uncommitted == 1 else "stay"
        lines.append(f"{changes} here {verb} behind.")
    if workspace.has_submodules:
        lines.append(
            "Its submodules are not initialised; workspaces.setup can do that:"
            " git submodule update --init"
        )
    return "\n".join(lines)


def describe_end(daemon: Client, session: SessionInfo) -> str:
    """Return what became of the worktree of an ended session; empty if it had none."""
    if session.workspace is None:
        return ""
    try:
        found = show_workspace(daemon, session.id, timeout=CHECK_TIMEOUT_S)
    except Answered:  # the session has ended; the worktree is only a detail
        return ""
    if found.state == "removed":
        again = f"rookery resume {shlex.quote(session.name)}"
        return f" Its worktree was removed; `{again}` makes it again."
    if found.in_use:
        return f" Its worktree stays: {_workers(found.users)} in it."
    if found.state != "kept":
        return ""
    return f" Its worktree is kept in {short(found.path)}: {found.reason}."


def describe_sharing(daemon: Client, session: SessionInfo) -> str:
    """Return a text on the sessions that share a session's worktree; empty if none do."""
    if session.workspace is None:
        return ""
    try:
        found = show_workspace(daemon, session.id, timeout=0)
    except Answered:  # the session has started; the worktree is only a detail
        return ""
    others = tuple(each for each in found.users if each != session.name)
    if not others:
        return ""
    place = f"{short(found.path)} on branch {found.branch}"
    return f"It works in {place}. {_workers(others)} in the same worktree."


def _workers(names: tuple[str, ...]) -> str:
    """Return the subject and the verb of a sentence about sessions that work somewhere."""
    if not names:
        return "another session works"
    return f"{', '.join(names)} {'works' if len(names) == 1 else 'work'}"
