"""Sentences about worktrees."""

from __future__ import annotations

from rookery.cli.render import count, short
from rookery.client.sessions import SessionWorkspaceInfo
from rookery.model.workspaces import short_id


def describe_start(workspace: SessionWorkspaceInfo) -> str:
    """Return where a session works, from what it begins and what it does not contain."""
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
