"""Make and remove worktrees. Each step can be repeated after the daemon died in it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rookery.model.errors import GitFailed, ProgramFailed
from rookery.model.workspaces import Workspace, WorkspacePlan
from rookery.workspace_settings import WorkspaceSettings
from rookery.workspaces.child_programs import ProgramRun, Record, run_program
from rookery.workspaces.git import Git, GitPlace, Repository
from rookery.workspaces.hidden_files import note_ignored_files
from rookery.workspaces.inspection import find_git_dir, is_folder, place_of
from rookery.workspaces.losses import is_merged, why_keep
from rookery.workspaces.planning import WorktreeRequest, plan_worktree
from rookery.workspaces.restoring import find_commit, plan_restoring
from rookery.workspaces.set_up import copy_files

#: The old value of a ref that must not exist.
NO_COMMIT = ""

#: Reports a step of making a worktree.
Report = Callable[[str], Awaitable[None]]

#: Lines of a set-up command's last output that the reason of a failed start shows.
MAX_SHOWN_LINES = 10


@dataclass(frozen=True, slots=True)
class Worktrees:
    git: Git
    settings: WorkspaceSettings
    root: Path  #: the folder for all worktrees
    environment: Mapping[str, str]  #: of set-up commands

    async def plan(self, folder: Path, request: WorktreeRequest) -> WorkspacePlan:
        """Return a worktree that can be made for a session. Raises ``CommandRefused``."""
        return await plan_worktree(self.git, folder, request, self.root)

    async def plan_restoring(self, removed: Workspace) -> Workspace:
        """Return the row to make a removed worktree again. Raises ``CommandRefused``."""
        return await plan_restoring(self.git, removed)

    async def make(self, workspace: Workspace, *, report: Report, record: Record) -> None:
        """Make a worktree from nothing, and set it up. Raises ``GitFailed``, ``ProgramFailed``.

        What an earlier attempt has left is removed first: no session has worked in it yet.
        """
        await self.remove(workspace)
        Path(workspace.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        await report(f"makes the worktree on branch {workspace.branch}")
        await self._make_branch(workspace)
        common = await self._common(workspace)
        await common.run(
            *("worktree", "add", "--quiet", "--", workspace.path, workspace.branch),
            record=record,
        )
        await self._set_up(workspace, report, record)
        if git_dir := await find_git_dir(workspace):  # the set-up may have removed it
            repository = await self.git.reading(place_of(workspace, git_dir))
            await note_ignored_files(repository, git_dir)

    async def _make_branch(self, workspace: Workspace) -> None:
        """Make the branch of a new worktree, or that of a removed one if it was deleted."""
        if not workspace.is_new_branch:
            return
        if workspace.last_commit and await self.last_commit(workspace):
            return
        start = workspace.last_commit or workspace.base_commit
        common = await self._common(workspace)
        await common.run("update-ref", workspace.ref, start, NO_COMMIT)

    async def last_commit(self, workspace: Workspace) -> str:
        """Return the last commit of a worktree's branch; empty if the branch is gone."""
        if not await is_folder(workspace.repository):
            return ""
        common = await self.git.reading(GitPlace(workspace.repository, workspace.repository))
        return await find_commit(common, workspace.ref)

    async def _set_up(self, workspace: Workspace, report: Report, record: Record) -> None:
        own = self.settings.of(workspace.source, workspace.repository)
        if own.copy_files:
            await report(f"copies {', '.join(own.copy_files)}")
            try:
                await asyncio.to_thread(copy_files, workspace, own.copy_files)
            except OSError as error:
                raise ProgramFailed(f"a file cannot be copied: {error}") from error
        if own.setup:
            await report(f"runs {' '.join(own.setup)}")
            await self._run_setup(workspace, own.setup, record)

    async def _run_setup(
        self, workspace: Workspace, argv: tuple[str, ...], record: Record
    ) -> None:
        path = self.environment.get("PATH", os.defpath)
        program = await asyncio.to_thread(_find_program, argv[0], path)
        if program is None:
            raise ProgramFailed(f"the set-up command {argv[0]!r} was not found.")
        done = await run_program(
            ProgramRun(
                argv=(program, *argv[1:]),
                environment={
                    **self.environment,
                    "ROOKERY_WORKTREE": workspace.path,
                    "ROOKERY_SOURCE": workspace.source,
                },
                folder=workspace.path,
                timeout_s=self.settings.setup_seconds,
                record=record,
            )
        )
        if done.status or done.is_cut:
            said = done.complaint or done.stdout.decode(errors="replace").strip()
            last = "\n".join(said.splitlines()[-MAX_SHOWN_LINES:])
            how = "printed too much" if done.is_cut else f"exited with {done.status}"
            raise ProgramFailed(f"the set-up command {argv[0]} {how}. {last}".strip())

    async def why_keep(self, workspace: Workspace, *, half_removed: bool = False) -> str:
        """Return what would be lost with a worktree; empty if it can be removed."""
        copied = self.copied(workspace)
        return await why_keep(self.git, workspace, copied=copied, half_removed=half_removed)

    def copied(self, workspace: Workspace) -> tuple[str, ...]:
        """Return the files that are copied into the worktrees of a repository."""
        return self.settings.of(workspace.source, workspace.repository).copy_files or ()

    async def remove(self, workspace: Workspace) -> str:
        """Remove a worktree with all that is in it, and its branch if that is merged.

        Return what became of the branch; empty if it is gone.
        """
        await self._remove_folder(workspace)
        with suppress(OSError):  # other worktrees of the repository are there
            Path(workspace.path).parent.rmdir()
        return await self._remove_branch(workspace)

    async def _remove_folder(self, workspace: Workspace) -> None:
        """Remove the folder and git's record of it, however much of them is there."""
        await asyncio.to_thread(self._check_place, workspace)
        await asyncio.to_thread(_remove_tree, Path(workspace.path))
        if await find_git_dir(workspace):
            # Twice: a worktree that git was making when it was killed is locked.
            force = ("--force", "--force")
            common = await self._common(workspace)
            await common.run("worktree", "remove", *force, workspace.path)

    def _check_place(self, workspace: Workspace) -> None:
        """Refuse to remove a folder outside of the root, which a restored row may name."""
        path = Path(workspace.path)
        if path.exists() and not path.resolve().is_relative_to(self.root.resolve()):
            raise GitFailed(
                f"{path} is not below {self.root}, where worktrees are; remove it yourself:"
                f"  git worktree remove '{path}'"
            )

    async def _remove_branch(self, workspace: Workspace) -> str:
        """Delete the branch if Rookery made it and it is merged; return what became of it."""
        if not await is_folder(workspace.repository):
            return "its repository is gone"
        if not workspace.is_new_branch:
            return f"the branch {workspace.branch} stays"
        common = await self.git.reading(GitPlace(workspace.repository, workspace.repository))
        tip = await find_commit(common, workspace.ref)
        if not tip:
            return ""
        if not await is_merged(common, workspace, tip):
            return f"the branch {workspace.branch} stays: it is not merged"
        # Only if it has not moved meanwhile.
        changed = await self._common(workspace)
        await changed.run("update-ref", "-d", workspace.ref, tip)
        return ""

    async def _common(self, workspace: Workspace) -> Repository:
        """Return the repository itself: its worktree may not exist."""
        return await self.git.changing(GitPlace(workspace.repository, workspace.repository))


def _find_program(name: str, path: str) -> str | None:
    return shutil.which(os.path.expanduser(name), path=path)  # noqa: PTH111 - a bare name


def _remove_tree(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path, onerror=_make_writable_and_retry)


def _make_writable_and_retry(remove: Callable[[str], object], path: str, error: object) -> None:
    """Remove a file from a folder that a program has made read-only."""
    for each in (Path(path).parent, Path(path)):
        if each.is_dir() and not each.is_symlink():
            each.chmod(0o700)
    if remove in {os.rmdir, os.unlink}:
        remove(path)
    else:
        _remove_tree(Path(path))
