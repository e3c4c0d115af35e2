"""The operation that shows what a session has changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from rookery.model.errors import CommandRefused
from rookery.model.facts import SessionId
from rookery.model.scopes import Need
from rookery.model.sessions import Session
from rookery.operations.access import target
from rookery.operations.context import Caller, Context
from rookery.operations.operation import OfSession
from rookery.operations.workspaces import find_workspace
from rookery.workspaces.differences import (
    ChangedFile,
    Difference,
    folder_difference,
    worktree_difference,
)


class DiffParams(OfSession):
    stat: bool = Field(False, description="only the files and the numbers of lines")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDiff:
    session: SessionId
    name: str
    is_worktree: bool  #: else these are the uncommitted changes of its folder
    against: str  #: the name of what it is compared with
    commit: str
    branch: str
    commits: int  #: since that commit
    files: list[ChangedFile]
    text: str
    is_cut: bool  #: the text is longer than what is shown


async def diff(context: Context, caller: Caller, params: DiffParams) -> SessionDiff:
    """Show a session's changes in its worktree, or the uncommitted ones in its folder."""
    session = await target(context, caller, params.session, Need.READ)
    git, with_text = context.worktrees.git, not params.stat
    workspace = await find_workspace(context, session)
    if workspace:
        found = await worktree_difference(git, workspace, with_text=with_text)
    else:
        folder = _folder_of(session)
        found = await folder_difference(git, folder, with_text=with_text)
    return _session_diff(session, found, is_worktree=workspace is not None)


def _folder_of(session: Session) -> Path:
    folder = Path(session.project_path, session.subdir)
    if not session.project_path or not folder.is_dir():
        raise CommandRefused(f"The folder of {session.name} is not known, or is gone.")
    return folder


def _session_diff(session: Session, found: Difference, *, is_worktree: bool) -> SessionDiff:
    return SessionDiff(
        session=session.id,
        name=session.name,
        is_worktree=is_worktree,
        against=found.base.name,
        commit=found.base.commit,
        branch=found.base.branch,
        commits=found.base.commits,
        files=found.files,
        text=found.text,
        is_cut=found.is_cut,
    )
