"""The daemon dies at every commit and around every program, and its worktrees survive it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest

from rookery.model.errors import CommitFailed
from rookery.model.workspaces import Workspace, WorkspaceState
from rookery.store import workspaces
from rookery.store.journal import Journal
from rookery.workspace_settings import WorkspaceSettings
from rookery.workspaces.child_programs import ProgramOutput, ProgramRun
from rookery.workspaces.git import Git
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.connection import connection
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.fate import Fate, Killed
from tests.support.workshop import Workshop

pytestmark = pytest.mark.anyio

#: Commands of git that change something.
CHANGING = frozenset({"worktree", "update-ref"})


class MortalGit(Git):
    """Dies before or after a command that changes something."""

    fate = Fate()

    async def run(self, program_run: ProgramRun) -> ProgramOutput:
        if CHANGING.isdisjoint(program_run.argv):
            return await super().run(program_run)
        type(self).fate.moment()
        done = await super().run(program_run)
        type(self).fate.moment()
        return done


class Story:
    """Something that is to happen to a worktree. It can be taken up anywhere."""

    settled = WorkspaceState.READY

    def __init__(self, folder: Path) -> None:
        self.path, self.clock = folder / "rookery.db", FakeClock()
        self.journal = Journal("here", self.clock, readers={})
        folder.mkdir(parents=True)
        settings = WorkspaceSettings.model_validate(
            {"setup": ["touch", "made"], "copy": [".env"]}
        )
        self.folder, self.settings = folder, settings
        self.workshop: Workshop | None = None

    def open(self, database: ObservedDatabase) -> Workshop:
        if self.workshop is None:
            self.workshop = Workshop(database, self.journal, self.folder, self.settings)
            self.workshop.repository.write(".env", "KEY=1\n")
            self.workshop.repository.commit(".gitignore", ".env\nmade\n")
        self.workshop.database = database
        return self.workshop

    async def begin(self) -> None:
        """Do what comes before; the daemon does not die of it."""
        async with ObservedDatabase(self.path, self.clock) as database:
            await self.open(database).request("fix")

    async def go_on(self, fate: Fate) -> None:
        mortal = connection(before_commit=fate.moment, after_commit=fate.moment)
        MortalGit.fate = fate
        async with ObservedDatabase(self.path, self.clock, connection=mortal) as database:
            workshop = self.open(database)
            git = MortalGit(workshop.worktrees.environment)
            object.__setattr__(workshop.worktrees, "git", git)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(workshop.keeper.run)
                await self._until_settled(database, fate)
                tasks.cancel_scope.cancel()

    async def _until_settled(self, database: ObservedDatabase, fate: Fate) -> None:
        with anyio.fail_after(60):
            while True:
                bell = database.bell()
                fate.mourn()
                if (await database.read(only_row)).state is self.settled:
                    return
                with anyio.move_on_after(0.1):
                    await bell.wait()

    async def check(self, workshop: Workshop, found: Workspace) -> None:
        """See that the worktree is whole, and that there is one."""
        tree = workshop.repository.at(found.path)
        assert tree.git("status", "--porcelain") == ""
        assert tree.git("branch", "--show-current") == "rookery/fix"
        assert (tree.path / "made").exists()
        assert (tree.path / ".env").read_text() == "KEY=1\n"
        assert workshop.repository.branches() == ["main", "rookery/fix"]
        assert workshop.repository.git("worktree", "list").count("\n") == 1


class Removal(Story):
    """The session of a worktree without work has ended."""

    settled = WorkspaceState.REMOVED

    async def begin(self) -> None:
        async with ObservedDatabase(self.path, self.clock) as database:
            workshop = self.open(database)
            async with workshop.kept():
                await workshop.make("fix")
            await workshop.finish(await workshop.id_of("fix"))

    async def check(self, workshop: Workshop, found: Workspace) -> None:
        assert not workshop.file(found, "").exists()
        assert workshop.repository.branches() == ["main"]
        assert workshop.repository.git("worktree", "list").count("\n") == 0


class Abandonment(Removal):
    """The session ended before its worktree was made."""

    async def begin(self) -> None:
        async with ObservedDatabase(self.path, self.clock) as database:
            workshop = self.open(database)
            session = await workshop.request("fix")
            await workshop.finish(session.id)


class Restoration(Story):
    """The session of a removed worktree is resumed."""

    async def begin(self) -> None:
        async with ObservedDatabase(self.path, self.clock) as database:
            workshop = self.open(database)
            async with workshop.kept():
                await workshop.make("fix")
                removed = await workshop.end("fix")
            await workshop.resume(await workshop.session(removed.session), removed)


def only_row(db: object) -> Workspace:
    (path,) = db.execute("select path from workspaces").fetchone()  # type: ignore[attr-defined]
    found = workspaces.of_path(db, path)  # type: ignore[arg-type]
    assert found
    return found


@pytest.mark.spec("L1", "L3", "K3")
@pytest.mark.parametrize("story", [Story, Removal, Abandonment, Restoration])
async def test_a_worktree_is_whole_or_gone_wherever_the_daemon_dies(
    tmp_path: Path, story: type[Story]
) -> None:
    whole = Fate()
    await tell(story(tmp_path / "whole"), [whole])
    assert whole.moments > 3

    for moment in range(whole.moments):
        lives = [Fate(moment), Fate(moment % 5), Fate()]
        await tell(story(tmp_path / str(moment)), lives)


async def tell(story: Story, lives: Sequence[Fate]) -> None:
    await story.begin()
    for fate in lives:
        try:
            await story.go_on(fate)
            break
        except* (Killed, CommitFailed):
            pass
    async with ObservedDatabase(story.path, story.clock) as database:
        workshop = story.open(database)
        await story.check(workshop, await database.read(partial(only_row)))
