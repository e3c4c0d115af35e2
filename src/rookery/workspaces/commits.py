"""Make commits that no branch has yet: of a worktree's files, and of other commits."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rookery.model.errors import CommandRefused, GitFailed, LandingConflict
from rookery.workspaces.git import Repository
from rookery.workspaces.inspection import as_text

#: Conflicting files that an error names.
MAX_NAMED_CONFLICTS = 20

#: Commits that are replayed one by one; more would take minutes.
MAX_REPLAYED_COMMITS = 500


@dataclass(frozen=True, slots=True)
class Merging:
    """Two commits that are brought together."""

    repository: Repository
    onto: str  #: the last commit of the branch that receives the others
    tip: str  #: the last of the commits that land

    async def merge(self, message: str) -> str:
        """Return a merge commit of both. Raises ``LandingConflict``."""
        tree = await merged_tree(self.repository, self.onto, self.tip)
        return await self._commit(tree, (self.onto, self.tip), message)

    async def squash(self, message: str) -> str:
        """Return one commit with all changes; the old commit if there are none."""
        tree = await merged_tree(self.repository, self.onto, self.tip)
        if tree == await _tree(self.repository, self.onto):
            return self.onto
        return await self._commit(tree, (self.onto,), message)

    async def rebase(self) -> str:
        """Return the last of copies of the commits, each on top of the one before."""
        between = f"{self.onto}..{self.tip}"
        listing = ("rev-list", "--reverse", "--topo-order", "--no-merges", between)
        commits = (await self.repository.text(*listing)).split()
        if len(commits) > MAX_REPLAYED_COMMITS:
            number = len(commits)
            raise CommandRefused(f"{number} commits are too many to replay; use --squash.")
        last = self.onto
        for commit in commits:
            last = await self._replay(commit, last)
        return last

    async def _replay(self, commit: str, onto: str) -> str:
        """Return a copy of a commit on top of another; that one if it changes nothing."""
        repository = self.repository
        parent = await repository.find("rev-parse", "--verify", "--quiet", f"{commit}^")
        empty = ("hash-object", "-w", "-t", "tree", os.devnull)
        before = await _tree(repository, parent) if parent else await repository.text(*empty)
        # Git finds the base of a merge in the history, so a history is made for it.
        base = await self._commit(before, (), "base")
        ours = await self._commit(await _tree(repository, onto), (base,), "ours")
        theirs = await self._commit(await _tree(repository, commit), (base,), "theirs")
        tree = await merged_tree(repository, ours, theirs)
        if tree == await _tree(repository, onto):
            return onto
        told = await repository.text("show", "--no-patch", "--format=%an%n%ae%n%aI%n%B", commit)
        name, address, at, message = told.split("\n", 3)
        author = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": address, "GIT_AUTHOR_DATE": at}
        return await self._commit(tree, (onto,), message, author)

    async def _commit(
        self,
        tree: str,
        parents: tuple[str, ...],
        message: str,
        author: dict[str, str] | None = None,
    ) -> str:
        words = [word for parent in parents for word in ("-p", parent)]
        return await _commit_tree(self.repository, [tree, *words], message, author)


async def commit_worktree(
    worktree: Repository, parent: str, message: str, stage: tuple[str, ...]
) -> str:
    """Return a commit of all files; its parent if that has the same files.

    ``stage`` is the command that adds the files to the index. Branch, index and files stay.
    """
    async with copied_index(worktree) as variables:
        await worktree.run(*stage, variables=variables)
        written = await worktree.run("write-tree", variables=variables)
    tree = written.stdout.decode().strip()
    if tree == await _tree(worktree, parent):
        return parent
    return await _commit_tree(worktree, [tree, "-p", parent], f"{message.strip()}\n")


@asynccontextmanager
async def copied_index(repository: Repository) -> AsyncIterator[dict[str, str]]:
    """Yield variables under which git changes a copy of the index; the real one stays."""
    index = await repository.text("rev-parse", "--path-format=absolute", "--git-path", "index")
    with TemporaryDirectory(prefix="rookery-") as folder:
        copy = str(Path(folder, "index"))
        with suppress(FileNotFoundError):  # a repository without commits may have no index
            await asyncio.to_thread(_copy_index, index, copy)
        yield {"GIT_INDEX_FILE": copy}


def _copy_index(index: str, copy: str) -> None:
    """Copy an index with its time of modification.

    Git compares the content of a file only if the file may have changed in the second in which
    the index was written, or later. With a newer index, it would miss such a change.
    """
    written_ns = Path(index).stat().st_mtime_ns  # before: git may replace it meanwhile
    shutil.copyfile(index, copy)
    os.utime(copy, ns=(written_ns, written_ns))


async def _commit_tree(
    repository: Repository,
    words: list[str],
    message: str,
    author: dict[str, str] | None = None,
) -> str:
    given = message.encode(errors="replace")
    made = await repository.run("commit-tree", *words, "-F", "-", given=given, variables=author)
    return made.stdout.decode().strip()


async def merged_tree(repository: Repository, ours: str, theirs: str) -> str:
    """Return the tree that merges two commits. Raises ``LandingConflict``."""
    options = ("--write-tree", "--name-only", "--no-messages", "-z")
    try:
        merged = await repository.run("merge-tree", *options, ours, theirs, accept=(0, 1))
    except GitFailed as error:
        if "usage: git merge-tree" in str(error):
            raise CommandRefused("Landing needs git 2.38 or newer.") from error
        raise
    tree, *files = [os.fsdecode(each) for each in merged.stdout.split(b"\0") if each]
    if merged.status:
        names = [as_text(each) for each in dict.fromkeys(files)]
        shown = ", ".join(names[:MAX_NAMED_CONFLICTS])
        more = len(names) - MAX_NAMED_CONFLICTS
        raise LandingConflict(
            f"{shown} and {more} more." if more > 0 else f"{shown}.", files="\n".join(names)
        )
    return tree


async def adds_nothing(repository: Repository, onto: str, tip: str) -> bool:
    """Return whether a commit has all changes of another, as after a squash."""
    return await merged_tree(repository, onto, tip) == await _tree(repository, onto)


async def _tree(repository: Repository, commit: str) -> str:
    return await repository.text("rev-parse", "--verify", f"{commit}^{{tree}}")
