"""Recognise unchanged files whose filter Rookery does not run.

Git compares the content of a file if it may have changed in the second in which the index was
written. A filter of the repository is a program that an agent can configure, so it does not run
when Rookery only reads; without it, an unchanged file of git-crypt looks changed. The index has
the exact time stamps of each file at its checkout, and these tell.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rookery.workspaces.git import Repository

#: Files that git is asked about at once; a command line is limited.
BATCH_FILES = 500

#: What ``git ls-files --debug -z`` prints for a file.
_ENTRY = re.compile(
    rb"([^\0]+)\0  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n"
    rb"  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: [0-9a-f]+\n"
)

#: Inode and size have this many bits in the index.
_MASK = 0xFFFFFFFF


async def find_unchanged_files(repository: Repository, changed: Sequence[str]) -> set[str]:
    """Return those of the files that only look changed, because their filter does not run."""
    filters = _filters_left_out(repository)
    if not filters or not changed:
        return set()
    at_top = await _at_top(repository)
    filtered = await _with_filter(at_top, changed, filters)
    found: set[str] = set()
    for start in range(0, len(filtered), BATCH_FILES):
        paths = (f":(literal){each}" for each in filtered[start : start + BATCH_FILES])
        listed = await at_top.run("ls-files", "--debug", "-z", "--", *paths)
        found |= await asyncio.to_thread(_as_in_index, Path(at_top.place.folder), listed.stdout)
    return found


async def mark_unchanged_files(
    repository: Repository, changed: Sequence[str], variables: Mapping[str, str]
) -> bool:
    """Mark the files that only look changed as unchanged; return whether there are any.

    The marks are made in the index that ``variables`` name, which must be a copy.
    """
    found = await find_unchanged_files(repository, changed)
    if not found:
        return False
    given = b"".join(os.fsencode(each) + b"\0" for each in found)
    marking = ("update-index", "--assume-unchanged", "-z", "--stdin")
    await (await _at_top(repository)).run(*marking, given=given, variables=variables)
    return True


def _filters_left_out(repository: Repository) -> frozenset[str]:
    keys = (each.split(".", 1) for each in repository.settings)
    return frozenset(rest.rpartition(".")[0] for kind, rest in keys if kind == "filter")


async def _at_top(repository: Repository) -> Repository:
    top = await repository.text("rev-parse", "--show-toplevel")
    return replace(repository, place=replace(repository.place, folder=top))


async def _with_filter(
    repository: Repository, paths: Iterable[str], filters: frozenset[str]
) -> list[str]:
    """Return the files that have one of the filters."""
    given = b"".join(os.fsencode(each) + b"\0" for each in paths)
    output = await repository.run("check-attr", "-z", "--stdin", "filter", given=given)
    words = os.fsdecode(output.stdout).split("\0")
    return [
        path for path, value in zip(words[::3], words[2::3], strict=False) if value in filters
    ]


def _as_in_index(folder: Path, listed: bytes) -> set[str]:
    """Return the files that are as they were when the index was written."""
    found = set()
    for name, *stamps in _ENTRY.findall(listed):
        path = os.fsdecode(name)
        if [int(each) for each in stamps] == _stamps(folder / path):
            found.add(path)
    return found


def _stamps(path: Path) -> list[int]:
    """Return change time, modification time, inode and size, as the index has them."""
    try:
        seen = path.lstat()
    except OSError:
        return []
    times = (*divmod(seen.st_ctime_ns, 10**9), *divmod(seen.st_mtime_ns, 10**9))
    return [*times, seen.st_ino & _MASK, seen.st_size & _MASK]
