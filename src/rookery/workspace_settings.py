"""The part of the user's configuration about workspaces, and its defaults."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rookery.model.errors import BadInput
from rookery.user_paths import UNKNOWN_HOME, expanded


def _check_program(words: tuple[str, ...]) -> tuple[str, ...]:
    if any("\0" in word for word in words):
        raise ValueError("no program can be given a NUL character")
    return words


def _check_files(paths: tuple[str, ...]) -> tuple[str, ...]:
    for each in paths:
        parts = PurePath(each).parts
        if not parts or PurePath(each).is_absolute() or ".." in parts or "\0" in each:
            raise ValueError(f"{each!r} must be a path within the repository")
        if parts[0] == ".git":
            raise ValueError(f"{each!r} belongs to git, and every worktree has its own")
    return paths


def _expanded(path: str) -> Path:
    try:
        return expanded(path)
    except BadInput as error:
        raise ValueError(f"{path!r}: {UNKNOWN_HOME}") from error


def _check_root(root: str) -> str:
    if root and not _expanded(root).is_absolute():
        raise ValueError("it must be an absolute path")
    return root


def _check_checkout(path: str) -> str:
    _expanded(path)
    return path


#: A program and its arguments, without a shell.
Program = Annotated[tuple[str, ...], AfterValidator(_check_program)]

#: Paths relative to the root of a working tree.
RelativePaths = Annotated[tuple[str, ...], AfterValidator(_check_files)]

#: The path of the checkout of a repository.
Checkout = Annotated[str, AfterValidator(_check_checkout)]


class _WorkspaceSection(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, serialize_by_alias=True
    )


class RepositorySettings(_WorkspaceSection):
    """What is done in each new worktree of one repository, instead of the general settings."""

    #: The command to run in a new worktree. Default: `workspaces.setup`.
    setup: Program | None = None
    #: Files to copy from the checkout of the start. Default: `workspaces.copy`.
    copy_files: RelativePaths | None = Field(None, alias="copy")


class WorkspaceSettings(_WorkspaceSection):
    """The git worktrees of `start --worktree`."""

    #: The folder for worktrees. Default: `workspaces` in Rookery's state folder.
    root: Annotated[str, AfterValidator(_check_root)] = ""
    #: The command to run in each new worktree before its session starts, such as
    #: `["npm", "ci"]`. It runs without a shell, with the environment of agents.
    setup: Program = ()
    #: Seconds for that command.
    setup_seconds: float = Field(600.0, gt=0, le=86_400)
    #: Files and folders to copy into each new worktree, such as `[".env"]`, if they exist.
    copy_files: RelativePaths = Field((), alias="copy")
    #: Also tell agents, not only the person, that another session changes the same file.
    tell_agents: bool = False
    #: `setup` and `copy` for single repositories, by the path of their checkout.
    repositories: dict[Checkout, RepositorySettings] = Field(default_factory=dict)

    def of(self, *paths: str) -> RepositorySettings:
        """Return the settings for a repository that is known by these paths."""
        known = {expanded(path): each for path, each in self.repositories.items()}
        own = next((known[Path(each)] for each in paths if each and Path(each) in known), None)
        own = own or RepositorySettings()
        return RepositorySettings(
            setup=self.setup if own.setup is None else own.setup,
            copy=self.copy_files if own.copy_files is None else own.copy_files,
        )
