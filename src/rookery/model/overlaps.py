"""Overlaps: files that two live sessions have changed."""

from __future__ import annotations

from dataclasses import dataclass

from rookery.model.facts import SessionId


@dataclass(frozen=True, slots=True)
class FileInRepository:
    repository: str  #: git's common folder, which all worktrees of a repository share
    path: str  #: relative to the root of the working tree


@dataclass(frozen=True, slots=True)
class Overlap:
    """A file that two sessions have changed."""

    session: SessionId
    other: SessionId
    path: str
