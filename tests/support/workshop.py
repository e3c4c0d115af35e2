"""A keeper of workspaces on a real git, with a store of the test and without agents."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from uuid import uuid4

import anyio

from rookery.agents.catalog import AGENTS
from rookery.model.facts import (
    SessionFound,
    SessionId,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from rookery.model.sessions import NativeId, Session
from rookery.model.workspaces import Workspace, WorkspaceState
from rookery.operations.lost_sessions import why_not_resumable
from rookery.sessions import commands, record_end, start_plans, starts
from rookery.sessions.commands import MessageSender
from rookery.store import sessions, workspaces
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.workspace_settings import WorkspaceSettings
from rookery.workspaces.git import Git
from rookery.workspaces.keeper import WorkspaceKeeper
from rookery.workspaces.planning import WorktreeRequest
from rookery.workspaces.worktrees import Worktrees
from tests.support.repositories import GitFolder, environment_in, make_repository

#: Seconds for git on a busy machine.
SOON = 30.0


@dataclass
class Workshop:
    database: Database
    journal: Journal
    folder: Path
    settings: WorkspaceSettings = WorkspaceSettings()  # noqa: RUF009 - it is frozen
    repository_name: str = "project"

    def __post_init__(self) -> None:
        home = self.folder / "user"
        self.repository = make_repository(self.folder / self.repository_name, home)
        self.root = self.folder / "workspaces"
        environment = environment_in(home)
        git = Git(environment)
        self.worktrees = Worktrees(git, self.settings, self.root, environment)

    @property
    def keeper(self) -> WorkspaceKeeper:
        resumable = partial(why_not_resumable, AGENTS)
        return WorkspaceKeeper(self.database, self.journal, self.worktrees, resumable)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Let a keeper work while the block lasts."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.keeper.run)
            yield
            tasks.cancel_scope.cancel()

    def replace_git(self, script: str) -> None:
        """Let a script run instead of git; ``$GIT`` is the real one."""
        folder = self.folder / "bin"
        folder.mkdir()
        program = folder / "git"
        program.write_text(f"#!/bin/sh\nGIT={shutil.which('git')}\n{script}\n")
        program.chmod(0o755)
        path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        git = Git({**self.worktrees.environment, "PATH": path})
        self.worktrees = replace(self.worktrees, git=git)

    async def request(
        self, name: str, *, folder: Path | None = None, branch: str = "", base: str = ""
    ) -> Session:
        """Accept a start in a worktree. Raises what the plan raises."""
        project = folder or self.repository.path
        wanted = start_plans.StartRequest(agent="demo", project=str(project), name=name)
        plan = start_plans.plan(wanted, AGENTS, command=("/bin/sh",), path="", limit=100)
        worktree = await self.worktrees.plan(plan.project, WorktreeRequest(branch, base))
        with_worktree = start_plans.StartPlan(
            plan.start, plan.agent, plan.project, plan.command, None, 100, worktree
        )
        return await self._accept(with_worktree)

    async def resume(self, old: Session, removed: Workspace) -> Session:
        """Accept that a session goes on in its worktree, which has to be made again."""
        conversation = start_plans.Conversation(
            native_id=NativeId(old.id),
            is_branch=False,
            session=old.id,
            name=old.name,
            workspace=old.workspace,
            restored=await self.worktrees.plan_restoring(removed),
        )
        wanted = start_plans.StartRequest(
            agent="demo", project=old.project_path, conversation=conversation
        )
        plan = start_plans.plan(wanted, AGENTS, command=("/bin/sh",), path="", limit=100)
        return await self._accept(plan)

    async def _accept(self, plan: start_plans.StartPlan) -> Session:
        speaker = MessageSender("person")
        accept = partial(starts.accept, journal=self.journal, plan=plan, speaker=speaker)
        return await self.database.write(accept)

    async def make(self, name: str, **more: str) -> GitFolder:
        """Have a worktree made; return it."""
        session = await self.request(name, **more)  # type: ignore[arg-type]
        await self.until(session.id, WorkspaceState.READY)
        assert session.workspace
        return self.repository.at(session.workspace.path)

    async def end(self, name: str) -> Workspace:
        """End a session as if its program was gone; return what became of its workspace."""
        live = await self.database.read(sessions.live)
        (session,) = (each.id for each in live if each.name == name)
        await self.finish(session)
        return await self.until(session, WorkspaceState.KEPT, WorkspaceState.REMOVED)

    async def talk(self, session: SessionId) -> None:
        """Record that a session has had a turn, and that its conversation can be continued."""

        def record(db: Connection) -> None:
            given = (str(uuid4()), session)
            db.execute("update sessions set native_id = ? where id = ?", given)
            self.journal.append(db, TurnStarted(session, "go"), TurnEnded(session, "done"))

        await self.database.write(record)

    async def finish(self, session: SessionId, *, lost: bool = False) -> None:
        """Record the end of a session."""
        end = partial(record_end.end, journal=self.journal, session=session, lost=lost)
        await self.database.write(partial(end, outcome="completed", reason="done"))

    async def id_of(self, name: str) -> SessionId:
        def find(db: Connection) -> SessionId:
            row = db.execute("select id from sessions where name = ?", (name,)).fetchone()
            return SessionId(row["id"])

        return await self.database.read(find)

    async def settle(self, name: str, folder: Path) -> SessionId:
        """Add a session that works in a folder."""
        now = self.journal.clock.now()
        session = Session(
            id=SessionId(name),
            name=name,
            agent="demo",
            runtime="tmux",
            computer="here",
            project_path=str(folder),
            since=now,
            created_at=now,
            last_activity_at=now,
        )
        await self.database.write(partial(sessions.add, session=session))
        found = SessionFound(session.id)
        await self.database.write(lambda db: self.journal.append(db, found))
        return session.id

    async def come_up(self, session: SessionId) -> None:
        """Record that the program of a session is up and idle."""
        started = SessionStarted(session)
        await self.database.write(lambda db: self.journal.append(db, started))

    async def ask_to_end(self, session: SessionId) -> None:
        end = partial(commands.end, journal=self.journal, session=session, by="person")
        await self.database.write(end)

    async def until(self, session: SessionId, *states: WorkspaceState) -> Workspace:
        """Wait until the workspace of a session is in one of these states."""
        return await self.until_true(session, lambda found: found.state in states)

    async def until_true(
        self, session: SessionId, is_reached: Callable[[Workspace], bool]
    ) -> Workspace:
        with anyio.fail_after(SOON):
            while True:
                bell = self.database.bell()
                found = await self.workspace(session)
                if found and is_reached(found):
                    return found
                with anyio.move_on_after(0.2):
                    await bell.wait()

    def file(self, workspace: Workspace, name: str) -> Path:
        """Return a file of a worktree."""
        return Path(workspace.path, name)

    async def workspace(self, session: SessionId) -> Workspace | None:
        return await self.database.read(partial(workspaces.of_session, session=session))

    async def session(self, session: SessionId) -> Session:
        return await self.database.read(partial(sessions.get, session=session))
