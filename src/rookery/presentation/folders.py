"""Shorten folders: relative to a common root, or to the user's home."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

#: A path that would lose fewer characters stays whole.
MIN_SAVED_CHARACTERS = 4


def short_folders(folders: Collection[str], home: str) -> dict[str, str]:
    """Return a short text for each folder, relative to the root that all have in common.

    The root is above each folder, so that each has a name. Without a useful common root, each
    has as many of its last parts as distinguish it from the others.
    """
    known = {each for each in folders if each}
    root = _common_root(known)
    # With "/" or "/home" as the root, the rest of a path would be almost as long as the path.
    is_useful = root.count("/") > 1 or root == home
    if not is_useful:
        found = Counter(end for each in known for end in _ends(each))
        return {each: _ending(each, found, home) for each in known}
    return {each: each.removeprefix(f"{root}/") for each in known}


def with_tilde(path: str, home: str) -> str:
    """Abbreviate the user's home in a path to a tilde."""
    is_below = bool(home) and (path == home or path.startswith(f"{home}/"))
    return "~" + path.removeprefix(home) if is_below else path


def _ends(folder: str) -> Iterator[str]:
    """Yield the ends of a path at its slashes, the shortest first."""
    start = folder.rfind("/")
    while start >= 0:
        yield folder[start:]
        start = folder.rfind("/", 0, start)


def _ending(folder: str, found: Mapping[str, int], home: str) -> str:
    """Return the shortest end of a path that is found once, or its whole path."""
    whole = with_tilde(folder, home)
    for end in _ends(folder):
        if found[end] == 1:
            short = f"…{end}"
            return short if len(short) + MIN_SAVED_CHARACTERS < len(whole) else whole
    return whole


def _common_root(folders: Collection[str]) -> str:
    parents = [posixpath.dirname(each) for each in folders if each.startswith("/")]
    return posixpath.commonpath(parents) if len(parents) == len(folders) > 0 else ""
