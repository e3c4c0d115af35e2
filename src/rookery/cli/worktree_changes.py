"""Word what the long list of sessions shows about their worktrees."""

from __future__ import annotations

from rookery.client import Client
from rookery.client.workspaces import list_workspaces
from rookery.presentation.worktrees import changes_text


def changes_in_use(daemon: Client) -> dict[str, str]:
    """Return the changes in each worktree in use, as text by session id."""
    listed = list_workspaces(daemon).workspaces
    return {each.session: changes_text(each) for each in listed if each.in_use}
