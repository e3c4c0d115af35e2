"""Carries out the rows of workspaces: makes worktrees, and removes those that are done."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from sqlite3 import Connection

from rookery.model.errors import GitFailed, ProgramFailed
from rookery.model.facts import (
    Fact,
    SessionEnded,
    SessionId,
    SessionRequested,
    WorkspaceKept,
    WorkspaceLanded,
    WorkspaceProgressed,
    WorkspacePruneRequested,
    WorkspaceReady,
    WorkspaceRemoved,
)
from rookery.model.lifecycle import Status
from rookery.model.sessions import Session
from rookery.model.workspaces import Workspace, WorkspaceState
from rookery.sessions import record_end
from rookery.store import sessions, wait_for_change, workspaces
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.supervise import Reconciler, first_of
from rookery.workspaces.child_programs import end_left_over
from rookery.workspaces.worktrees import Worktrees

#: The facts after which a worktree must be made, checked or removed.
TRIGGERING_FACTS: frozenset[type[Fact]] = frozenset(
    {SessionRequested, SessionEnded, WorkspacePruneRequested, WorkspaceLanded}
)

#: Longer than any set-up command may take.
MAX_MAKING_S = 100_000.0

#: Failures that another attempt would repeat.
_FINAL = (GitFailed, ProgramFailed, OSError)


@dataclass(frozen=True, slots=True)
class WorkspaceKeeper:
    database: Database
    journal: Journal
    worktrees: Worktrees
    #: Returns why the conversation of an ended session cannot be continued; empty if it can.
    why_not_resumable: Callable[[Connection, Session], str]
    #: One change of a repository at a time.
    _locks: defaultdict[str, asyncio.Lock] = field(
        default_factory=lambda: defaultdict(asyncio.Lock)
    )

    async def run(self) -> None:
        """Make, check and remove worktrees as needed. Runs for ever."""
        await Reconciler(
            name="Workspaces",
            clock=self.journal.clock,
            pending=partial(self.database.peek, workspaces.pending),
            step=self._step,
            changed=partial(self.database.bells.of_kinds, TRIGGERING_FACTS),
        ).run()

    async def _step(self, session_id: SessionId) -> bool:
        """Take the next step for the workspace of a session. False if there is none."""

        def read(db: Connection) -> tuple[Workspace | None, bool, Session]:
            found = workspaces.of_session(db, session_id)
            in_use = found is not None and workspaces.is_in_use(db, found.path)
            return found, in_use, sessions.get(db, session_id)

        workspace, in_use, session = await self.database.read(read)
        status = session.status
        if workspace is None:
            return False
        if workspace.process:
            await end_left_over(workspace.process, self.journal.clock)
        match workspace.state:
            case WorkspaceState.REQUESTED if status is Status.STARTING:
                await self._make(workspace)
            case WorkspaceState.REQUESTED if status.is_over:
                await self._discard(workspace, "its session ended before it was ready")
            case WorkspaceState.READY if not in_use:
                await self._check(workspace, session)
            case WorkspaceState.REMOVING:
                await self._remove(workspace)
            case _:
                return False
        return True

    async def _make(self, workspace: Workspace) -> None:
        """Make a worktree, unless its session is ended meanwhile."""
        session = workspace.session

        def has_left(db: Connection) -> bool:
            return sessions.get(db, session).status is not Status.STARTING

        async def stop() -> None:
            await wait_for_change.until(
                self.database,
                has_left,
                seconds=MAX_MAKING_S,
                clock=self.journal.clock,
                sessions=(session,),
            )

        try:
            await first_of(self._make_now(workspace), stop())
        except _FINAL as error:
            await self._fail(workspace, f"its worktree could not be made. {error}")

    async def _make_now(self, workspace: Workspace) -> None:
        session, path = workspace.session, workspace.path

        async def report(doing: str) -> None:
            await self._write(WorkspaceProgressed(session, doing))

        async def record(process: str) -> None:
            note = partial(workspaces.note_process, path=path, process=process)
            await self.database.write(note)

        async with self._locks[workspace.repository]:
            await self.worktrees.make(workspace, report=report, record=record)

        def finish(db: Connection) -> None:
            workspaces.advance(db, path, WorkspaceState.READY)
            self.journal.append(
                db, WorkspaceReady(session, path, workspace.branch, workspace.base)
            )

        await self.database.write(finish)

    async def _fail(self, workspace: Workspace, reason: str) -> None:
        """End a session whose worktree could not be made, and let the rest be removed."""

        def fail(db: Connection) -> None:
            workspaces.discard(db, workspace.path, reason)
            session = workspace.session
            record_end.end(db, self.journal, session, outcome="failed", reason=reason)

        await self.database.write(fail)

    async def _discard(self, workspace: Workspace, reason: str) -> None:
        discard = partial(workspaces.discard, path=workspace.path, reason=reason)
        await self.database.write(discard)

    async def _check(self, workspace: Workspace, session: Session) -> None:
        """Begin to remove a worktree if nothing in it would be lost; else keep it.

        That of a lost session is kept once: its conversation can be resumed only there.
        """
        resumable = partial(self._is_resumable, session=session)
        if not workspace.reason and await self.database.read(resumable):
            await self._keep(workspace, "its session was lost and can be resumed")
            return
        try:
            reason = await self.worktrees.why_keep(workspace)
        except (GitFailed, OSError) as error:
            reason = f"it could not be checked. {error}"
        if reason:
            await self._keep(workspace, reason)
            return
        await self.database.write(partial(workspaces.begin_removal, path=workspace.path))

    def _is_resumable(self, db: Connection, session: Session) -> bool:
        """Return whether `resume --lost` offers a session."""
        return session.lost and not self.why_not_resumable(db, session)

    async def _keep(self, workspace: Workspace, reason: str) -> None:
        def keep(db: Connection) -> None:
            if workspace.state is WorkspaceState.READY and workspaces.is_in_use(
                db, workspace.path
            ):
                return  # it was resumed meanwhile
            workspaces.advance(db, workspace.path, WorkspaceState.KEPT, reason)
            self.journal.append(db, WorkspaceKept(workspace.session, workspace.path, reason))

        await self.database.write(keep)

    async def _remove(self, workspace: Workspace) -> None:
        """Remove a worktree; one that was interrupted in between is checked again."""
        try:
            # Under the lock: two worktrees with the last copies of a commit would each rely on
            # the other.
            async with self._locks[workspace.repository]:
                if reason := await self._why_not_remove(workspace):
                    await self._keep(workspace, reason)
                    return
                await self._note_last_commit(workspace)
                left = await self.worktrees.remove(workspace)
        except _FINAL as error:
            await self._keep(workspace, f"it could not be removed. {error}")
            return

        def finish(db: Connection) -> None:
            reason = left or workspace.reason
            workspaces.advance(db, workspace.path, WorkspaceState.REMOVED, reason)
            self.journal.append(db, WorkspaceRemoved(workspace.session, workspace.path, left))

        await self.database.write(finish)

    async def _why_not_remove(self, workspace: Workspace) -> str:
        in_use = partial(workspaces.is_in_use, path=workspace.path)
        if await self.database.read(in_use):
            return "a session works in it"
        if workspace.is_discarded:
            return ""
        return await self.worktrees.why_keep(workspace, half_removed=True)

    async def _note_last_commit(self, workspace: Workspace) -> None:
        """Store where the branch is before it is deleted: a resumed session begins there."""
        if commit := await self.worktrees.last_commit(workspace):
            note = partial(workspaces.note_last_commit, path=workspace.path, commit=commit)
            await self.database.write(note)

    async def _write(self, fact: Fact) -> None:
        await self.database.write(lambda db: self.journal.append(db, fact))
