"""Word what is in worktrees."""

from __future__ import annotations

from rookery.client.workspaces import WorkspaceInfo


def changes_text(worktree: WorkspaceInfo) -> str:
    """Return the commits ahead and behind, and the number of uncommitted files."""
    if worktree.ahead is None or worktree.behind is None or worktree.dirty is None:
        return "?"
    ahead = f"+{worktree.ahead}" if worktree.ahead else ""
    behind = f"-{worktree.behind}" if worktree.behind else ""
    commits = " ".join(filter(None, [ahead, behind]))
    dirty = f"{worktree.dirty} dirty" if worktree.dirty else ""
    return ", ".join(filter(None, [commits, dirty])) or "none"


def compared_with_base(worktree: WorkspaceInfo) -> str:
    """Return the changes of a worktree, and with what it was compared."""
    base = worktree.base or "the commit from which it began"
    return f"{changes_text(worktree)}, compared with {base}"
