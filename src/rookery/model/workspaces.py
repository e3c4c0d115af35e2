"""Workspaces: the git worktrees that Rookery makes for sessions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rookery.model.facts import SessionId

#: Precedes the name of a branch that Rookery chooses.
BRANCH_PREFIX = "rookery/"

#: Characters of a commit's id that a person reads.
SHORT_ID_CHARACTERS = 8


class WorkspaceState(StrEnum):
    """How far a workspace has come."""

    REQUESTED = "requested"  #: a part of it may exist; its session is not started yet
    READY = "ready"  #: its session works in it, or has ended and it is not yet kept or removed
    KEPT = "kept"  #: no session works in it, and something in it would be lost
    REMOVING = "removing"  #: a part of it may be removed already
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionWorkspace:
    """The worktree of a session, as chosen when the session was requested."""

    path: str  #: the folder of the worktree
    branch: str
    base: str  #: the branch into which it lands; empty if it began at a detached commit
    base_commit: str  #: the commit from which it began
    repository: str  #: git's common folder, which all worktrees of a repository share
    uncommitted: int = 0  #: changes in the folder of the start that are not in the worktree
    has_submodules: bool = False  #: they are not initialised


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspacePlan:
    """A worktree that can be made. Its folder and its branch are chosen with the name."""

    folder: str  #: the folder in which the worktree is made
    repository: str
    source: str  #: the checkout from which files are copied; empty for a bare repository
    subdir: str  #: the session's folder, relative to the worktree
    branch: str  #: as requested; empty for a branch named after the session
    is_new_branch: bool
    base: str
    base_commit: str
    uncommitted: int
    has_submodules: bool
    taken_folders: frozenset[str]  #: names that exist in the folder
    taken_branches: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A worktree that Rookery made or is about to make, as stored."""

    path: str
    session: SessionId  #: the last session that it was given to
    repository: str
    source: str
    branch: str
    is_new_branch: bool  #: Rookery made the branch, and may delete it
    base: str
    base_commit: str
    state: WorkspaceState
    reason: str = ""  #: why it is kept, or how it was removed
    is_discarded: bool = False  #: it is removed whatever is in it
    landed_commit: str = ""  #: the branch's last commit that has landed
    landed_as: str = ""  #: the last commit of the other branch after that landing
    last_commit: str = ""  #: the branch's last commit when the worktree was removed
    #: The process that works on it for Rookery; a daemon that died may have left it running.
    process: str = ""
    created_at: datetime

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"


def short_id(commit: str) -> str:
    return commit[:SHORT_ID_CHARACTERS]


def branch_name(session_name: str) -> str:
    """Return the branch of a session. Git refuses names that end in ``.lock``."""
    is_lock = session_name.lower().endswith(".lock")
    name = f"{session_name[:-5]}-lock" if is_lock else session_name
    return f"{BRANCH_PREFIX}{name}"
