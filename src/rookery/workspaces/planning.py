"""Check whether a worktree can be made, before a start is accepted. It changes nothing."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from rookery.model.errors import CommandRefused, GitFailed
from rookery.model.workspaces import WorkspacePlan, short_id
from rookery.workspaces.git import Git, GitPlace, Repository
from rookery.workspaces.inspection import count_changes, list_checkouts

#: Characters of a repository's name, and of the digest that distinguishes it from others.
MAX_NAME_CHARACTERS, DIGEST_CHARACTERS = 40, 8

_UNUSUAL = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class WorktreeRequest:
    """The worktree that a start asks for."""

    branch: str = ""  #: empty for a branch named after the session
    base: str = ""  #: a branch, tag or commit; empty for HEAD


@dataclass(frozen=True, slots=True)
class _Base:
    branch: str  #: empty unless it is a local branch
    commit: str


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The repository of a folder."""

    top: str  #: empty for a bare repository
    common: str  #: git's folder, which all worktrees share
    prefix: str  #: the folder relative to ``top``


async def plan_worktree(
    git: Git, folder: Path, request: WorktreeRequest, root: Path
) -> WorkspacePlan:
    """Return a worktree that can be made for a session in a folder. Raises ``CommandRefused``.

    ``root`` is the folder for all worktrees.
    """
    repository = await git.reading(GitPlace(str(folder)))
    here = await _surroundings(repository, folder)
    base = await _base(repository, request, folder)
    branches = frozenset(
        each.removeprefix("refs/heads/")
        for each in (
            await repository.text("for-each-ref", "--format=%(refname)", "refs/heads")
        ).splitlines()
    )
    if request.branch:
        await _check_branch(repository, request, branches)
    await _check_folder(repository, here, base)
    parent = root / _folder_name(here.common)
    return WorkspacePlan(
        folder=str(parent),
        repository=here.common,
        source=here.top,
        subdir=here.prefix.rstrip("/"),
        branch=request.branch,
        is_new_branch=request.branch not in branches,
        base=base.branch,
        base_commit=base.commit,
        uncommitted=await count_changes(repository) if here.top else 0,
        has_submodules=bool(
            await repository.find(
                "rev-parse", "--verify", "--quiet", f"{base.commit}:.gitmodules"
            )
        ),
        taken_folders=frozenset(_names_in(parent)),
        taken_branches=branches,
    )


def _folder_name(common: str) -> str:
    """Return the name of the folder for a repository's worktrees: its own name and a digest."""
    path = Path(common)
    named = path.parent if path.name == ".git" else path
    name = _UNUSUAL.sub("-", named.name.removesuffix(".git"))[:MAX_NAME_CHARACTERS].strip(".-")
    digest = hashlib.sha256(common.encode(errors="replace")).hexdigest()
    return f"{name or 'repository'}-{digest[:DIGEST_CHARACTERS]}"


async def _surroundings(repository: Repository, folder: Path) -> _Surroundings:
    try:
        common = await repository.text(
            "rev-parse", "--path-format=absolute", "--git-common-dir"
        )
    except GitFailed as error:
        if "not a git repository" not in str(error):
            raise CommandRefused(f"{error}") from error
        raise CommandRefused(
            f"{folder} is not in a git repository, so it has no worktrees. Start without"
            " --worktree, or create a repository there:  git init"
        ) from error
    top = await repository.find("rev-parse", "--show-toplevel")
    is_bare = await repository.text("rev-parse", "--is-bare-repository") == "true"
    if not top and not is_bare:
        raise CommandRefused(f"{folder} is inside git's own folder. Name the project's folder.")
    prefix = await repository.text("rev-parse", "--show-prefix") if top else ""
    return _Surroundings(top, common, prefix)


async def _check_folder(repository: Repository, here: _Surroundings, base: _Base) -> None:
    """Refuse a folder that the base does not contain: the session could not start there."""
    folder = here.prefix.rstrip("/")
    if folder and await repository.find("cat-file", "-t", f"{base.commit}:{folder}") != "tree":
        raise CommandRefused(
            f"{folder} is not in commit {short_id(base.commit)}, from which the worktree would"
            f" begin. Commit it first, or start in {here.top}"
        )


async def _base(repository: Repository, request: WorktreeRequest, folder: Path) -> _Base:
    if request.base:
        return await _named_base(repository, request.base)
    commit = await repository.find("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not commit:
        raise CommandRefused(
            f"The repository of {folder} has no commits yet, and a worktree begins with one."
            " Make a first commit."
        )
    return _Base(await repository.find("symbolic-ref", "--quiet", "--short", "HEAD"), commit)


async def _named_base(repository: Repository, name: str) -> _Base:
    _check_words(name)
    verify = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    commit = await repository.find(*verify, f"{name}^{{commit}}")
    if not commit:
        raise CommandRefused(f"The repository has no commit, branch or tag named {name!r}.")
    full = await repository.find("rev-parse", "--symbolic-full-name", name)
    is_branch = full.startswith("refs/heads/")
    return _Base(full.removeprefix("refs/heads/") if is_branch else "", commit)


async def _check_branch(
    repository: Repository, request: WorktreeRequest, branches: frozenset[str]
) -> None:
    """Refuse a branch that cannot be checked out in a new worktree."""
    _check_words(request.branch)
    if not await repository.is_true("check-ref-format", f"refs/heads/{request.branch}"):
        raise CommandRefused(f"{request.branch!r} is not a valid name of a branch.")
    if request.branch not in branches:
        return
    if request.base:
        raise CommandRefused(
            f"The branch {request.branch} exists, so it cannot begin at {request.base}."
            " Leave out --base, or name a new branch."
        )
    for checkout in await list_checkouts(repository):
        if checkout.branch == request.branch:
            raise CommandRefused(
                f"The branch {request.branch} is checked out in {checkout.path}, and git allows"
                " one checkout of a branch. Name another branch, or leave it out."
            )


def _check_words(name: str) -> None:
    if name.startswith("-") or not name.isprintable() or len(name) > 200:  # noqa: PLR2004
        raise CommandRefused(f"{name[:80]!r} is not the name of a branch or a commit.")


def _names_in(folder: Path) -> list[str]:
    try:
        return [each.name for each in folder.iterdir()]
    except OSError:
        return []
