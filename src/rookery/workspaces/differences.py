"""Show what changed in a working tree since a commit, untracked files included."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rookery.model.errors import CommandRefused
from rookery.model.workspaces import Workspace
from rookery.workspaces.commits import copied_index
from rookery.workspaces.filtered_files import mark_unchanged_files
from rookery.workspaces.git import Git, GitPlace, Repository
from rookery.workspaces.inspection import as_text, base_tip, open_worktree
from rookery.workspaces.losses import find_landed_commit

#: Bytes of a difference that are returned; the rest is for git itself.
MAX_DIFF_BYTES = 1_000_000

#: The whole working tree, also from a folder below its root.
_ALL = ":/"

#: Options under which git runs no program and looks into no submodule.
_PLAIN = ("--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=dirty")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    path: str
    added: int | None  #: lines; none for a binary file
    removed: int | None
    is_untracked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffBase:
    """What a working tree is compared with."""

    name: str  #: a branch, or HEAD
    commit: str
    branch: str  #: that the working tree has; empty if its HEAD is detached
    commits: int = 0  #: that were made since


@dataclass(frozen=True, slots=True)
class Difference:
    base: DiffBase
    files: list[ChangedFile]
    text: str
    is_cut: bool


async def worktree_difference(git: Git, workspace: Workspace, *, with_text: bool) -> Difference:
    """Return what changed in a worktree since it left its base. Raises ``GitFailed``."""
    repository = await open_worktree(git, workspace)
    tip = await base_tip(repository, workspace)
    commit = await repository.find("merge-base", tip, "HEAD") or workspace.base_commit
    landed = await find_landed_commit(repository, workspace)
    if landed and await repository.is_true("merge-base", "--is-ancestor", landed, "HEAD"):
        commit = landed  # it landed as other commits
    base = DiffBase(
        name=workspace.base or "its first commit",
        commit=commit,
        branch=as_text(await repository.find("symbolic-ref", "--quiet", "--short", "HEAD")),
        commits=int(await repository.text("rev-list", "--count", f"{commit}..HEAD")),
    )
    return await _difference(repository, base, with_text=with_text)


async def folder_difference(git: Git, folder: Path, *, with_text: bool) -> Difference:
    """Return what is not committed in the repository of a folder. Raises ``GitFailed``."""
    repository = await git.reading(GitPlace(str(folder)))
    if not await repository.find("rev-parse", "--show-toplevel"):
        raise CommandRefused(f"{folder} is not in a git repository, so there is no difference.")
    commit = await repository.find("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    base = DiffBase(
        name="HEAD" if commit else "nothing",
        commit=commit or await repository.text("hash-object", "-t", "tree", os.devnull),
        branch=as_text(await repository.find("symbolic-ref", "--quiet", "--short", "HEAD")),
    )
    return await _difference(repository, base, with_text=with_text)


async def _difference(repository: Repository, base: DiffBase, *, with_text: bool) -> Difference:
    others = ("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", _ALL)
    untracked = frozenset(await repository.words(*others))
    # Untracked files are noted in a copy of the index: the agent's own stays as it is.
    async with copied_index(repository) as variables:
        add = ("add", "--intent-to-add", "--", _ALL)
        await repository.run(*add, variables=variables, accept=(0, 1, 128))
        diff = ("diff", *_PLAIN, base.commit)
        counted = await repository.run(*diff, "--numstat", "-z", variables=variables)
        files = list(_read_counts(counted.stdout.split(b"\0"), untracked))
        if await mark_unchanged_files(repository, [each.path for each in files], variables):
            counted = await repository.run(*diff, "--numstat", "-z", variables=variables)
            files = list(_read_counts(counted.stdout.split(b"\0"), untracked))
        files = [replace(each, path=as_text(each.path)) for each in files]
        if not with_text:
            return Difference(base, files, "", is_cut=False)
        shown = await repository.run(*diff, variables=variables, max_bytes=MAX_DIFF_BYTES)
    return Difference(base, files, shown.stdout.decode(errors="replace"), shown.is_cut)


def _read_counts(words: Sequence[bytes], untracked: frozenset[str]) -> Iterator[ChangedFile]:
    """Read what ``git diff --numstat -z`` prints; a renamed file has two names."""
    remaining = iter(words)
    for word in remaining:
        if not word:
            continue
        added, removed, path = word.split(b"\t", 2)
        if not path:
            next(remaining, b"")
            path = next(remaining, b"")
        name = os.fsdecode(path)
        yield ChangedFile(name, _number(added), _number(removed), name in untracked)


def _number(text: bytes) -> int | None:
    return int(text) if text.isdigit() else None
