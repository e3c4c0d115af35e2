"""Store workspaces: the git worktrees that Rookery makes for sessions."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import PurePath
from sqlite3 import Connection, Row

from rookery.model.errors import CommandRefused
from rookery.model.facts import SessionId
from rookery.model.names import distinct
from rookery.model.workspaces import (
    SessionWorkspace,
    Workspace,
    WorkspacePlan,
    WorkspaceState,
    branch_name,
)
from rookery.store.sessions import LIVE
from rookery.store.timestamps import stamp

#: The condition that a live session works in a workspace, also one that it was not made for.
_IN_USE = (
    f"exists (select 1 from sessions indexed by sessions_live where {LIVE}"
    " and (project_path = workspaces.path"
    " or substr(project_path, 1, length(workspaces.path) + 1) = workspaces.path || '/'))"
)

#: States of a workspace whose folder may be gone, and can be made again.
_RESTORABLE = frozenset({WorkspaceState.REMOVED, WorkspaceState.KEPT, WorkspaceState.READY})


def choose(db: Connection, plan: WorkspacePlan, name: str) -> SessionWorkspace:
    """Choose the folder and the branch of a session. Raises ``CommandRefused``."""
    folders = {
        PurePath(row["path"]).name
        for row in db.execute("select path from workspaces where state <> 'removed'")
        if PurePath(row["path"]).parent == PurePath(plan.folder)
    }
    branches = {
        row["branch"]
        for row in db.execute(
            "select branch from workspaces where state <> 'removed' and repository = ?",
            (plan.repository,),
        )
    }
    if plan.branch in branches:
        raise CommandRefused(
            f"The branch {plan.branch} has a worktree already. See:  rookery workspace ls"
        )
    folder = distinct(name, plan.taken_folders | folders)
    own_branch = distinct(branch_name(name), plan.taken_branches | branches)
    return SessionWorkspace(
        path=str(PurePath(plan.folder, folder)),
        branch=plan.branch or own_branch,
        base=plan.base,
        base_commit=plan.base_commit,
        repository=plan.repository,
        uncommitted=plan.uncommitted,
        has_submodules=plan.has_submodules,
    )


def request(
    db: Connection,
    session: SessionId,
    plan: WorkspacePlan,
    chosen: SessionWorkspace,
    *,
    at: datetime,
) -> None:
    """Add the worktree that is to be made for a session."""
    add(
        db,
        Workspace(
            path=chosen.path,
            session=session,
            repository=plan.repository,
            source=plan.source,
            branch=chosen.branch,
            is_new_branch=plan.is_new_branch,
            base=plan.base,
            base_commit=plan.base_commit,
            state=WorkspaceState.REQUESTED,
            created_at=at,
        ),
    )


def add(db: Connection, workspace: Workspace) -> None:
    db.execute("delete from workspaces where path = ? and state = 'removed'", (workspace.path,))
    row = {**asdict(workspace), "created_at": stamp(workspace.created_at)}
    names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
    db.execute(f"insert into workspaces ({names}) values ({marks})", row)


def of_session(db: Connection, session: SessionId) -> Workspace | None:
    """Return the workspace that was given to a session last; none if it was given on."""
    query = "select * from workspaces where session = ? order by created_at desc limit 1"
    row = db.execute(query, (session,)).fetchone()
    return _read(row) if row else None


def of_path(db: Connection, path: str) -> Workspace | None:
    row = db.execute("select * from workspaces where path = ?", (path,)).fetchone()
    return _read(row) if row else None


def listed(db: Connection) -> list[Workspace]:
    """Return the workspaces that have not been removed, oldest first."""
    rows = db.execute(
        "select * from workspaces where state <> 'removed' order by created_at, path"
    )
    return [_read(row) for row in rows]


def pending(db: Connection) -> list[SessionId]:
    """Return the sessions whose workspaces have to be made, checked or removed."""
    rows = db.execute(
        "select session from workspaces where state in ('requested', 'removing')"
        f" or (state = 'ready' and not {_IN_USE})"
    )
    return [SessionId(row["session"]) for row in rows]


def is_in_use(db: Connection, path: str) -> bool:
    """Return whether a live session works in a workspace."""
    query = f"select {_IN_USE} from workspaces where path = ?"
    row = db.execute(query, (path,)).fetchone()
    return bool(row and row[0])


def require_stays(db: Connection, folder: str) -> None:
    """Refuse a folder in a workspace that is being removed. Raises ``CommandRefused``."""
    row = db.execute(
        "select path from workspaces where state = 'removing'"
        " and (path = ?1 or substr(?1, 1, length(path) + 1) = path || '/')",
        (folder,),
    ).fetchone()
    if row:
        raise CommandRefused(f"The worktree {row['path']} is being removed. Try again later.")


def users(db: Connection, path: str) -> list[SessionId]:
    """Return the live sessions that work in a workspace."""
    rows = db.execute(
        f"select id from sessions indexed by sessions_live where {LIVE} and (project_path = ?1"
        " or substr(project_path, 1, length(?1) + 1) = ?1 || '/')",
        (path,),
    )
    return [SessionId(row["id"]) for row in rows]


def is_awaited(db: Connection, session: SessionId) -> bool:
    """Return whether a session cannot be started because its worktree is not ready."""
    query = "select 1 from workspaces where session = ? and state = 'requested'"
    return db.execute(query, (session,)).fetchone() is not None


def advance(db: Connection, path: str, state: WorkspaceState, reason: str = "") -> None:
    """Store how far a workspace has come."""
    query = "update workspaces set state = ?, reason = ?, process = '' where path = ?"
    db.execute(query, (state, reason, path))


def begin_removal(db: Connection, path: str) -> None:
    """Let a workspace be removed, unless a session was started in it meanwhile."""
    query = "update workspaces set state = 'removing', reason = '', process = ''"
    db.execute(f"{query} where path = ? and state = 'ready' and not {_IN_USE}", (path,))


def discard(db: Connection, path: str, reason: str) -> None:
    """Let a workspace be removed, whatever is in it."""
    query = "update workspaces set state = 'removing', is_discarded = 1, reason = ?"
    db.execute(f"{query} where path = ?", (reason, path))


def recheck(db: Connection, path: str) -> None:
    """Let a kept workspace be checked again, and removed if nothing would be lost."""
    query = "update workspaces set state = 'ready', is_discarded = 0 where path = ?"
    db.execute(f"{query} and state = 'kept'", (path,))


def give(db: Connection, path: str, session: SessionId) -> None:
    """Give a workspace that is still there to another session."""
    query = "update workspaces set session = ?, state = 'ready', reason = '' where path = ?"
    db.execute(f"{query} and state in ('ready', 'kept')", (session, path))


def restore(db: Connection, workspace: Workspace) -> None:
    """Let a worktree that is gone be made again. Raises ``CommandRefused``."""
    others = db.execute(
        "select path from workspaces where state <> 'removed' and repository = ?"
        " and branch = ? and path <> ?",
        (workspace.repository, workspace.branch, workspace.path),
    )
    if other := others.fetchone():
        raise CommandRefused(
            f"The branch {workspace.branch} has another worktree now: {other['path']}"
        )
    found = of_path(db, workspace.path)
    is_free = found is None or found.state in _RESTORABLE
    if not is_free or {*users(db, workspace.path)} - {workspace.session}:
        raise CommandRefused(f"Another session uses {workspace.path}.")
    db.execute("delete from workspaces where path = ?", (workspace.path,))
    add(db, workspace)


def note_last_commit(db: Connection, path: str, commit: str) -> None:
    """Store the last commit of a branch that is about to be deleted with its worktree."""
    db.execute("update workspaces set last_commit = ? where path = ?", (commit, path))


def note_process(db: Connection, path: str, process: str) -> None:
    """Store which process is about to work on a workspace."""
    db.execute("update workspaces set process = ? where path = ?", (process, path))


def note_landing(db: Connection, path: str, commit: str, *, landed_as: str) -> None:
    """Store the last commit of a workspace's branch that has landed, and what it became."""
    query = "update workspaces set landed_commit = ?, landed_as = ? where path = ?"
    db.execute(query, (commit, landed_as, path))


def _read(row: Row) -> Workspace:
    values = {name: row[name] for name in row.keys()}  # noqa: SIM118 - a row is no mapping
    values["state"] = WorkspaceState(values["state"])
    values["is_new_branch"] = bool(values["is_new_branch"])
    values["is_discarded"] = bool(values["is_discarded"])
    values["created_at"] = datetime.fromisoformat(values["created_at"])
    return Workspace(**values)
