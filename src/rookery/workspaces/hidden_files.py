"""Find the work in a worktree that ``git status`` does not show.

Git can be told to overlook the changes of a file, and it ignores files on purpose. Ignored
folders are left out here: they have what programs load or build, such as ``node_modules``.
"""

from __future__ import annotations

import asyncio
import filecmp
import os
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from rookery.model.workspaces import Workspace
from rookery.workspaces.commits import copied_index
from rookery.workspaces.git import Repository
from rookery.workspaces.inspection import MAX_LIST_BYTES, with_own_repository

#: Ignored files that programs make and can make again.
_MADE_AGAIN = (
    *("*.pyc", "*.pyo", "*.o", "*.obj", "*.a", "*.so", "*.dylib", "*.dll", "*.class"),
    *("*.log", "*.log.*", "*.tmp", "*.swp", "*.pid", "*.tsbuildinfo", ".eslintcache"),
    *(".coverage", ".coverage.*", "coverage.xml", ".DS_Store", "Thumbs.db"),
)

#: A name for which there is no pattern.
_ANY_NAME = "rookery-asks-about-any-file"

#: In git's folder of a worktree: the ignored files that were there when it was ready.
_NOTE = "rookery-ignored-files"


async def list_overlooked_changes(repository: Repository) -> list[str]:
    """Return changed files that git was told to take for unchanged, or to skip."""
    listed = await repository.run("ls-files", "-v", "-z", max_bytes=MAX_LIST_BYTES)
    marked = [each[2:] for each in listed.stdout.split(b"\0") if _is_marked(each[:1])]
    if not marked:
        return []
    given = b"".join(each + b"\0" for each in marked)
    async with copied_index(repository) as variables:
        for option in ("--no-assume-unchanged", "--no-skip-worktree"):
            update = ("update-index", option, "-z", "--stdin")
            await repository.run(*update, given=given, variables=variables)
        # Deleted files are left out: a sparse checkout skips them, and nothing of them is lost.
        options = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
        diff = ("diff", *options, "--name-only", "--diff-filter=d", "-z")
        changed = await repository.run(*diff, variables=variables)
    overlooked = {*marked}
    return [os.fsdecode(each) for each in changed.stdout.split(b"\0") if each in overlooked]


def _is_marked(tag: bytes) -> bool:
    """Return whether a file has one of the marks, by the letter of ``git ls-files -v``."""
    return tag.islower() or tag == b"S"


async def note_ignored_files(repository: Repository, git_dir: str) -> None:
    """Store which ignored files a worktree has before a session works in it."""
    files = await _list_ignored_files(repository)
    await asyncio.to_thread(_write_note, Path(repository.place.folder), files, git_dir)


async def list_ignored_work(
    repository: Repository, workspace: Workspace, git_dir: str
) -> list[str]:
    """Return ignored files that are new or changed since the set-up, and only there."""
    files = await _list_ignored_files(repository)
    return await asyncio.to_thread(_only_there, workspace, files, git_dir)


async def list_ignored_repositories(repository: Repository) -> list[str]:
    """Return the ignored folders, and the folders directly in them, that are repositories.

    Further down are those that programs load, such as the sources in a build folder.
    """
    listed = await _list_ignored(repository, "--ignored=traditional", "normal")
    folders = [each.rstrip("/") for each in listed if each.endswith("/")]
    return await asyncio.to_thread(_find_repositories, repository.place.folder, folders)


def _find_repositories(folder: str, ignored: Iterable[str]) -> list[str]:
    found = []
    for each in ignored:
        inner = (str(PurePath(each, name)) for name in _list_names(Path(folder, each)))
        found += with_own_repository(folder, (each, *inner))
    return found


def _list_names(folder: Path) -> list[str]:
    """Return the names in a folder; none if it cannot be read, or is gone."""
    try:
        return sorted(each.name for each in folder.iterdir())
    except OSError:
        return []


async def _list_ignored_files(repository: Repository) -> list[str]:
    """Return the ignored files, without ignored folders and what programs make again."""
    listed = await _list_ignored(repository, "--ignored=traditional", "normal")
    files = [each for each in listed if not each.endswith("/")]
    # Git also names a folder if it is not ignored itself, but all files in it are.
    if folders := {each.rstrip("/") for each in listed if each.endswith("/")}:
        files += await _list_files_in(repository, folders)
    return [each for each in files if not _is_made_again(Path(each).name)]


async def _list_files_in(repository: Repository, folders: AbstractSet[str]) -> list[str]:
    """Return the ignored files in folders, but not those in an ignored one."""
    # This names, and does not read, the folders that are ignored themselves.
    listed = await _list_ignored(repository, "--ignored=matching", "all")
    files = [PurePath(each) for each in listed if not each.endswith("/")]
    inner = [each for each in files if not folders.isdisjoint(map(str, each.parents))]
    ignored = await _list_ignored_as_a_whole(repository, {each.parent for each in inner})
    return [str(each) for each in inner if each.parent not in ignored]


async def _list_ignored(repository: Repository, ignored: str, untracked: str) -> list[str]:
    options = ("--no-renames", "--ignore-submodules=dirty", f"--untracked-files={untracked}")
    status = ("status", "--porcelain", "-z", ignored, *options)
    output = await repository.run(*status, max_bytes=MAX_LIST_BYTES)
    listed = output.stdout.split(b"\0")
    return [os.fsdecode(each[3:]) for each in listed if each.startswith(b"!! ")]


async def _list_ignored_as_a_whole(
    repository: Repository, folders: AbstractSet[PurePath]
) -> set[PurePath]:
    """Return the folders in which git ignores a file whatever its name is.

    Either a pattern names the folder, such as ``dist/*``, or the folder says so in its own
    ``.gitignore``, as those of Python environments and of many caches do.
    """
    given = b"".join(os.fsencode(each / _ANY_NAME) + b"\0" for each in folders)
    asked = ("check-ignore", "--verbose", "-z", "--stdin")
    output = await repository.run(*asked, given=given, accept=(0, 1))
    words = os.fsdecode(output.stdout).split("\0")
    found = set()
    for source, pattern, path in zip(words[::4], words[2::4], words[3::4], strict=False):
        folder = PurePath(path).parent
        is_own = PurePath(source) == folder / ".gitignore"
        if not pattern.startswith("!") and (is_own or _names_a_folder(pattern)):
            found.add(folder)
    return found


def _names_a_folder(pattern: str) -> bool:
    """Return whether a pattern is for all files of one folder, and not of every folder."""
    return pattern.endswith(("/*", "/**")) and bool(pattern.strip("*/"))


def _is_made_again(name: str) -> bool:
    return any(fnmatchcase(name, each) for each in _MADE_AGAIN)


def _write_note(folder: Path, files: Iterable[str], git_dir: str) -> None:
    entries = (f"{_stamp(folder / each)} {each}\0" for each in files)
    Path(git_dir, _NOTE).write_bytes(os.fsencode("".join(entries)))


def _only_there(workspace: Workspace, files: Iterable[str], git_dir: str) -> list[str]:
    noted = _read_note(git_dir)
    folder = Path(workspace.path)
    return [
        each
        for each in files
        if noted.get(each) != _stamp(folder / each) and not _is_in_source(workspace, each)
    ]


def _read_note(git_dir: str) -> Mapping[str, str]:
    """Return the stamps of the noted files; none if there is no note."""
    try:
        entries = os.fsdecode(Path(git_dir, _NOTE).read_bytes()).split("\0")
    except OSError:
        return {}
    pairs = (each.partition(" ") for each in entries if each)
    return {name: stamp for stamp, _, name in pairs}


def _stamp(path: Path) -> str:
    """Return what changes when a file is written; empty if it is gone."""
    try:
        found = path.lstat()
    except OSError:
        return ""
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ino}"


def _is_in_source(workspace: Workspace, name: str) -> bool:
    """Return whether the checkout of the start has the same file."""
    return bool(workspace.source) and is_same(
        Path(workspace.source, name), Path(workspace.path, name)
    )


def is_same(one: Path, other: Path) -> bool:
    """Return whether two files have the same content; not if one cannot be read."""
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False
