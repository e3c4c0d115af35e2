"""Run git so that it runs no program of the repository, asks nothing and ends in time."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rookery.model.errors import GitFailed, ProgramFailed
from rookery.model.variables import OWN_GIT, SESSION_VARIABLE
from rookery.workspaces.child_programs import ProgramOutput, ProgramRun, Record, run_program

#: Seconds for a call that only reads, and for one that writes a whole tree.
READ_TIMEOUT_S, CHANGE_TIMEOUT_S = 30.0, 600.0

#: Variables of git that the user's login shell may set. All others, such as GIT_DIR, would
#: make git work on another repository.
_KEPT_VARIABLES = frozenset(
    {
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
        *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"),
        *("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
        *("GIT_SSH", "GIT_SSH_COMMAND"),
    }
)

#: Prevents questions in a terminal, editors and translated messages.
_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PROXY_COMMAND": "",  # of core.gitProxy the first value counts, not the last
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_MERGE_AUTOEDIT": "no",
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "C",
}

#: Settings for every call. Hooks, a file-system monitor and the programs that check signatures
#: are programs of the repository: an agent can configure them there.
_SAFE_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "submodule.recurse": "false",
    "core.quotePath": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.ext.allow": "never",
    "advice.detachedHead": "false",
    "commit.gpgSign": "false",
    "log.showSignature": "false",
    "merge.verifySignatures": "false",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.x509.program": "false",
    "gpg.ssh.program": "false",
    "diff.renames": "true",
    "color.ui": "false",
}

#: Settings that name hooks (Git 2.54 and newer): none runs, as with ``core.hooksPath``.
_HOOK_SETTINGS = (
    (re.compile(r"hook\..*\.command", re.DOTALL), "true"),
    (re.compile(r"hook\..*\.event", re.DOTALL), ""),
    (re.compile(r"hook\..*\.enabled", re.DOTALL), "false"),
)

#: Settings of a repository that name a program, with the value that runs none. A merge driver
#: that fails is a conflict; an empty one would silently take one side. In a partial clone, git
#: runs programs to fetch missing files.
_PROGRAM_SETTINGS = (
    (re.compile(r"merge\..*\.driver", re.DOTALL), "false"),
    (re.compile(r"remote\..*\.uploadpack", re.DOTALL), "git-upload-pack"),
    (re.compile(r"core\.sshcommand"), "ssh"),
    (re.compile(r"(?:core\.(?:askpass|alternaterefscommand))"), ""),
    (re.compile(r"credential\.(?:.*\.)?helper", re.DOTALL), ""),
)

#: The same for filters. They run where Rookery stores files: without them, git-crypt would
#: store plain text.
_FILTER_SETTINGS = (
    (re.compile(r"filter\..*\.(?:clean|smudge|process)", re.DOTALL), ""),
    (re.compile(r"filter\..*\.required", re.DOTALL), "false"),
    # Git LFS runs these, and its filters may be the user's own.
    (re.compile(r"lfs\.extension\..*\.(?:clean|smudge)", re.DOTALL), "cat"),
    (re.compile(r"lfs\.customtransfer\..*\.path", re.DOTALL), "false"),
    (re.compile(r"lfs\.(?:.*\.)?standalonetransferagent", re.DOTALL), ""),
)

#: The filters of Git LFS, which it may install for one repository only.
_LFS_FILTERS = frozenset(
    {
        *("git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs filter-process"),
        *("git-lfs smudge --skip -- %f", "git-lfs filter-process --skip"),
    }
)


@dataclass(frozen=True, slots=True)
class GitPlace:
    """Where git works: a folder in which it finds the repository, or exactly these folders."""

    folder: str
    git_dir: str = ""  #: an agent may change the ``.git`` file of its worktree
    work_tree: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        named = ((f"--git-dir={self.git_dir}",) if self.git_dir else ()) + (
            (f"--work-tree={self.work_tree}",) if self.work_tree else ()
        )
        return ("--no-pager", *named)


@dataclass(frozen=True, slots=True)
class Git:
    environment: Mapping[str, str]  #: of the user's login shell

    async def reading(self, place: GitPlace) -> Repository:
        """Return a repository to read: its own filters and merge drivers do not run."""
        # Files that are missing in a partial clone are not fetched.
        environment = {"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "none"}
        settings = disarmed(await self._settings(place), with_filters=False)
        return Repository(self, place, settings, environment)

    async def changing(self, place: GitPlace) -> Repository:
        """Return a repository to change: filters run, or encrypted files would be stored."""
        settings = disarmed(await self._settings(place), with_filters=True)
        return Repository(self, place, settings, {}, CHANGE_TIMEOUT_S)

    async def _settings(self, place: GitPlace) -> str:
        plain = Repository(self, place)
        listed = await plain.run("config", "--list", "--show-scope", "-z", accept=(0, 1, 128))
        if listed.is_cut:
            raise GitFailed("git config: the repository has too many settings to check them.")
        return os.fsdecode(listed.stdout)

    async def run(self, program_run: ProgramRun) -> ProgramOutput:
        return await run_program(program_run)


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository or worktree, and how git is run there."""

    git: Git
    place: GitPlace
    settings: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = READ_TIMEOUT_S

    async def run(
        self,
        *arguments: str,
        given: bytes = b"",
        accept: tuple[int, ...] = (0,),
        max_bytes: int = 16_000_000,
        variables: Mapping[str, str] | None = None,
        record: Record | None = None,
    ) -> ProgramOutput:
        """Run a git command. Raises ``GitFailed`` with git's own words."""
        run = ProgramRun(
            argv=("git", *self.place.options, *arguments),
            environment=self._environment(variables or {}),
            folder=self.place.folder,
            given=given,
            timeout_s=self.timeout_s,
            max_bytes=max_bytes,
            record=record,
        )
        return await self._run(run, f"git {arguments[0]}", accept)

    async def run_python(self, program: str, *arguments: str) -> ProgramOutput:
        """Run a program of Rookery that calls git here. Raises ``GitFailed``."""
        run = ProgramRun(
            argv=(sys.executable, "-I", "-S", program, *arguments),
            environment=self._environment({}),
            folder=self.place.folder,
            timeout_s=self.timeout_s,
        )
        return await self._run(run, "git", (0,))

    async def _run(self, run: ProgramRun, name: str, accept: tuple[int, ...]) -> ProgramOutput:
        try:
            output = await self.git.run(run)
        except ProgramFailed as error:
            raise GitFailed(f"{name}: {error.args[0]}") from error
        if output.status not in accept and not output.is_cut:
            why = output.complaint or f"it exited with {output.status}."
            raise GitFailed(f"{name}: {why}")
        return output

    def _environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        return {
            **git_environment(self.git.environment),
            **self.variables,
            **variables,
            **as_variables({**_SAFE_SETTINGS, **self.settings}),
        }

    async def text(self, *arguments: str, **more: tuple[int, ...]) -> str:
        """Run a git command and return what it prints, without the final line break."""
        output = await self.run(*arguments, **more)  # type: ignore[arg-type]
        return os.fsdecode(output.stdout).removesuffix("\n")

    async def words(self, *arguments: str) -> list[str]:
        """Run a git command and return the words that it separates by NUL characters."""
        output = await self.run(*arguments)
        return [os.fsdecode(each) for each in output.stdout.split(b"\0") if each]

    async def is_true(self, *arguments: str) -> bool:
        """Run a git command that answers by its exit status: 0 or 1."""
        return (await self.run(*arguments, accept=(0, 1))).status == 0

    async def find(self, *arguments: str) -> str:
        """Return what a git command prints; empty if it finds nothing."""
        output = await self.run(*arguments, accept=(0, 1, 128))
        return os.fsdecode(output.stdout).removesuffix("\n") if output.status == 0 else ""


def git_environment(login: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for git: the user's, without what leads to another repository.

    The daemon refuses commands of ``rookery`` in it: they would count as the owner's.
    """
    kept = {
        name: value
        for name, value in login.items()
        if not name.startswith("GIT_") or name in _KEPT_VARIABLES
    }
    return {**kept, **_QUIET, SESSION_VARIABLE: OWN_GIT}


def as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as variables: on a command line, a name could contain an equals sign."""
    pairs: dict[str, str] = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        pairs[f"GIT_CONFIG_KEY_{number}"] = name
        pairs[f"GIT_CONFIG_VALUE_{number}"] = value
    return pairs


def disarmed(listed: str, *, with_filters: bool) -> dict[str, str]:
    """Return settings that replace the programs which a repository itself configures.

    ``listed`` is what ``git config --list --show-scope -z`` prints. Programs that the user has
    configured for all repositories are the user's own, except for hooks.
    """
    own = _PROGRAM_SETTINGS if with_filters else (*_PROGRAM_SETTINGS, *_FILTER_SETTINGS)
    found: dict[str, str] = {}
    for scope, setting in _pairs(listed.split("\0")):
        name, _, value = setting.partition("\n")
        is_own = scope in {"local", "worktree"} and value not in _LFS_FILTERS
        harmless = _harmless(name, (*_HOOK_SETTINGS, *own) if is_own else _HOOK_SETTINGS)
        if harmless is not None:
            found[name] = harmless
    return found


def _pairs(words: list[str]) -> Iterable[tuple[str, str]]:
    return zip(words[::2], words[1::2], strict=False)


def _harmless(name: str, settings: Iterable[tuple[re.Pattern[str], str]]) -> str | None:
    """Return the harmless value of a setting; none if it runs no program."""
    return next((value for form, value in settings if form.fullmatch(name)), None)
