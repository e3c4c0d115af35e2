"""What Rookery knows of an agent's settings files: where they lie, how hooks stand in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

SettingsValues: TypeAlias = Mapping[str, Any]

#: What was put in for each event, in that order.
Fragments: TypeAlias = Sequence[tuple[str, str]]

#: Whether the agent's user trusts our hooks; ``off``: its user has switched them off.
TrustStanding = Literal["trusted", "untrusted", "changed", "off"]


@dataclass(frozen=True, slots=True)
class HookShape:
    """The hooks that an agent is asked to run, in its own words."""

    timeouts: Mapping[str, int]  #: of each event, in the agent's unit
    name: str = ""  #: what it calls the hook on its screen

    def groups(self, command: str) -> Mapping[str, Mapping[str, Any]]:
        """Return what is added to the list of each event."""
        named = {"name": self.name} if self.name else {}
        hook = {"type": "command", **named, "command": command}
        return {
            event: {"hooks": [{**hook, "timeout": timeout}]}
            for event, timeout in self.timeouts.items()
        }


@dataclass(frozen=True, slots=True)
class FoundHook:
    """A hook of some Rookery among an agent's settings, and its position there."""

    event: str
    group: int
    hook: int
    command: str
    timeout: object
    program: str  #: that it runs: it tells which home the hook belongs to

    @property
    def path(self) -> tuple[str | int, ...]:
        return ("hooks", self.event, self.group, "hooks", self.hook)


class SettingsLanguage(Protocol):
    """What settings are written in."""

    @property
    def advice(self) -> str:
        """Say what to do if nothing can be added to what is there."""

    def parse(self, text: str) -> dict[str, Any]:
        """Read settings. Raises ``ConfigBroken``."""

    def add(self, text: str, event: str, group: Mapping[str, Any]) -> tuple[str, str]:
        """Return the new text, and what was put in."""

    def cut(self, text: str, found: FoundHook, fragment: str) -> str | None:
        """Return the text without what put a hook there, if that is there as it was."""

    def remove(self, text: str, found: FoundHook) -> str:
        """Return the text without a hook, and without what holds nothing else."""


class TrustList(Protocol):
    """The list in which an agent keeps the hooks that its user trusts."""

    def require_known_keys(self, settings: SettingsValues) -> None:
        """Raise ``ConfigBroken`` for settings with hooks that the agent does not read."""

    def hashes(self, file: str, found: Iterable[FoundHook]) -> Mapping[str, str]:
        """Return the agent's names of the hooks found in ``file``, and the hash of each."""

    def standing(self, text: str, trusted: Mapping[str, str]) -> TrustStanding:
        """Return how the hooks with these names and hashes stand: as the worst of them."""

    def best(self, found: Iterable[TrustStanding]) -> TrustStanding: ...

    def grant(self, text: str, trusted: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
        """Return the text with these trusted, and what was put in. Raises ``ConfigBroken``."""

    def withdraw(self, text: str, keys: Collection[str], fragments: Sequence[str]) -> str:
        """Return the text without what is said of these hooks."""

    def has_head(self, text: str) -> bool:
        """Return whether there is a list, be it empty."""

    def withdraw_head(self, text: str) -> str:
        """Return the text without the head of a list that is empty."""


@dataclass(frozen=True, slots=True)
class TrustFile:
    """Where an agent keeps the hooks that its user trusts."""

    name: str  #: in the user's folder of settings
    next_step: str  #: what the person must do while our hooks are not trusted
    list: TrustList


@dataclass(frozen=True, slots=True)
class PluginFile:
    """A file that is Rookery's as a whole, for an agent that loads plugins."""

    path: str  #: in the folder of settings
    template: Callable[[], str]


@dataclass(frozen=True, slots=True)
class HookSwitch:
    """The settings files of a project that can switch the agent's hooks off."""

    files: tuple[str, ...]
    is_off: Callable[[str], bool]  #: of the text of one
    in_parents: bool = False  #: the files of the folders above count, up to the repository's


@dataclass(frozen=True, slots=True)
class SkillDialect:
    """Skills and command files whose text has the agent run shell commands on loading it."""

    tools: frozenset[str]  #: that load such a file
    #: Return the name of the file that a call of such a tool loads, by the tool and its input;
    #: empty if that is unclear.
    named_file: Callable[[str, Mapping[str, Any]], str]
    #: Return the commands that a text has the agent run; ``None`` if they cannot be told.
    inline_commands: Callable[[str], tuple[str, ...] | None]
    #: Return the user's folder of settings, by the path of a session's transcript.
    user_folder: Callable[[str], Path | None]


@dataclass(frozen=True, slots=True)
class CommandFiles:
    """Where a project defines slash commands, which shadow those of the program."""

    folder: str  #: with commands, skills and plugins
    settings: tuple[str, ...] = ()  #: settings files in which commands can be defined
    skills: SkillDialect | None = None  #: none if loading a file runs nothing


@dataclass(frozen=True, slots=True)
class SettingsDialect:
    """Where an agent's settings lie, and how our hooks are written there."""

    title: str  #: what its makers call the program
    next_step: str  #: from when on it runs hooks that were just installed
    #: Return the user's folder of settings, by the environment and the home folder.
    user_folder: Callable[[Mapping[str, str], Path], Path]
    #: Return the files that may have hooks, in the user's folder or (``True``) a project's. The
    #: first is used where no file has hooks yet.
    files: Callable[[bool], tuple[tuple[str, SettingsLanguage], ...]]
    hooks: HookShape | None = None  #: none for an agent with a plugin
    trust: TrustFile | None = None
    plugin: PluginFile | None = None
    switch: HookSwitch | None = None
    commands: CommandFiles | None = None
