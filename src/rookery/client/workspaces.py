"""Worktrees of sessions: what changed in them, landing, the list, and pruning."""

from __future__ import annotations

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.transport import Client


class ChangedFileInfo(DaemonAnswer, frozen=True):
    path: str = ""
    added: int | None = None
    removed: int | None = None
    is_untracked: bool = False


class DiffInfo(DaemonAnswer, frozen=True):
    name: str = ""
    is_worktree: bool = False
    against: str = ""
    commit: str = ""
    branch: str = ""
    commits: int = 0
    files: tuple[ChangedFileInfo, ...] = ()
    text: str = ""
    is_cut: bool = False


def show_diff(daemon: Client, session: str, *, stat: bool) -> DiffInfo:
    return read(DiffInfo, daemon.get("sessions", session, "diff", stat=stat))


class LandedInfo(DaemonAnswer, frozen=True):
    name: str = ""
    branch: str = ""
    into: str = ""
    commit: str = ""
    commits: int = 0
    committed: tuple[str, ...] = ()
    checkout: str = ""


class WorkspaceInfo(DaemonAnswer, frozen=True):
    session: str = ""
    name: str = ""
    status: str = ""
    path: str = ""
    branch: str = ""
    base: str = ""
    state: str = ""
    reason: str = ""
    created_at: str = ""
    in_use: bool = False
    users: tuple[str, ...] = ()
    ahead: int | None = None
    behind: int | None = None
    dirty: int | None = None
    problem: str = ""


class WorkspaceListInfo(DaemonAnswer, frozen=True):
    root: str = ""
    workspaces: tuple[WorkspaceInfo, ...] = ()


class PrunedWorkspaceInfo(DaemonAnswer, frozen=True):
    name: str = ""
    path: str = ""
    branch: str = ""
    state: str = ""
    reason: str = ""


class PrunedWorkspacesInfo(DaemonAnswer, frozen=True):
    workspaces: tuple[PrunedWorkspaceInfo, ...] = ()


def land_session(
    daemon: Client, session: str, *, method: str, commit: str, into: str
) -> LandedInfo:
    """Put the commits of a session into the branch ``into``; by default into its base."""
    answer = daemon.post("sessions", session, "land", method=method, commit=commit, into=into)
    return read(LandedInfo, answer)


def show_workspace(daemon: Client, session: str, *, timeout: float) -> WorkspaceInfo:
    """Return the worktree of a session; wait up to ``timeout`` until it is kept or removed."""
    return read(WorkspaceInfo, daemon.get("sessions", session, "workspace", timeout=timeout))


def list_workspaces(daemon: Client) -> WorkspaceListInfo:
    return read(WorkspaceListInfo, daemon.get("workspaces"))


def prune_workspaces(
    daemon: Client, names: tuple[str, ...], *, force: bool
) -> PrunedWorkspacesInfo:
    """Remove kept worktrees that are safe to remove; with ``force`` the named ones."""
    answer = daemon.post("workspaces", "prune", names=list(names), force=force)
    return read(PrunedWorkspacesInfo, answer)
