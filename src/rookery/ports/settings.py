"""An agent's settings files: where they are and how hooks are written there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

SettingsValues: TypeAlias = Mapping[str, Any]

#: Whether the agent's user trusts Rookery's hooks; ``off``: the user has disabled them.
TrustStanding = Literal["trusted", "untrusted", "changed", "off"]


@dataclass(frozen=True, slots=True)
class HookShape:
    """The hooks to install, in the form that the agent reads."""

    timeouts: Mapping[str, int]  #: by event, in the agent's unit
    name: str = ""  #: the name that the agent shows for the hook

    def groups(self, command: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the group to add to each event's list."""
        named = {"name": self.name} if self.name else {}
        hook = {"type": "command", **named, "command": command}
        return {
            event: {"hooks": [{**hook, "timeout": timeout}]}
            for event, timeout in self.timeouts.items()
        }


@dataclass(frozen=True, slots=True)
class FoundHook:
    """A Rookery hook found in an agent's settings, and its position there."""

    event: str
    group: int
    hook: int
    command: str
    timeout: object
    program: str  #: the program that it runs, which shows the home that the hook belongs to

    @property
    def path(self) -> tuple[str | int, ...]:
        return ("hooks", self.event, self.group, "hooks", self.hook)


class SettingsLanguage(Protocol):
    """The file format of settings."""

    @property
    def advice(self) -> str:
        """Return what the user can do if nothing can be added to the present text."""

    def parse(self, text: str) -> dict[str, Any]:
        """Parse settings. Raises ``ConfigBroken``."""

    def add(self, text: str, event: str, group: Mapping[str, Any]) -> str:
        """Return the text with the group at the end of the event's list."""

    def remove(self, text: str, found: FoundHook) -> str:
        """Return the text without the hook and without containers that become empty."""


class TrustList(Protocol):
    """The list of hooks that the agent's user trusts."""

    def require_known_keys(self, settings: SettingsValues) -> None:
        """Raise ``ConfigBroken`` for settings with hooks that the agent does not read."""

    def hashes(self, file: str, found: Iterable[FoundHook]) -> Mapping[str, str]:
        """Return the agent's keys for the hooks found in ``file``, and the hash of each."""

    def standing(self, text: str, trusted: Mapping[str, str]) -> TrustStanding:
        """Return the standing of these hooks (by key and hash): the worst among them."""

    def best(self, found: Iterable[TrustStanding]) -> TrustStanding: ...

    def grant(self, text: str, trusted: Mapping[str, str]) -> str:
        """Return the text that trusts these hooks. Raises ``ConfigBroken``."""

    def withdraw(self, text: str, keys: Collection[str]) -> str:
        """Return the text without the entries of these hooks; an empty list is removed too."""


@dataclass(frozen=True, slots=True)
class TrustFile:
    """The file with the list of hooks that the agent's user trusts."""

    name: str  #: in the user's settings folder
    next_step: str  #: what the user must do while Rookery's hooks are not trusted
    list: TrustList


@dataclass(frozen=True, slots=True)
class PluginFile:
    """A file that belongs to Rookery entirely, for an agent that loads plugins."""

    path: str  #: in the settings folder
    template: Callable[[], str]


@dataclass(frozen=True, slots=True)
class HookSwitch:
    """The settings files of a project that can disable the agent's hooks."""

    files: tuple[str, ...]
    are_disabled: Callable[[str], bool]  #: given the text of one file
    in_parents: bool = False  #: files in parent folders count too, up to the repository root


@dataclass(frozen=True, slots=True)
class SkillDialect:
    """Skills and command files whose text makes the agent run shell commands when loaded."""

    tools: frozenset[str]  #: the tools that load such a file
    subagent_tools: frozenset[str]  #: the tools that start a subagent, which may load one
    #: Return the name of the file that a tool call loads, given the tool and its input; empty
    #: if that is unclear, ``None`` if it loads none.
    named_file: Callable[[str, Mapping[str, Any]], str | None]
    #: Return the commands that a text makes the agent run; ``None`` if that is unclear.
    inline_commands: Callable[[str], tuple[str, ...] | None]
    #: Return whether an argument of the call may become part of a command in a text.
    completes_a_command: Callable[[str, str], bool]
    #: Return whether a file with this text runs in a subagent.
    starts_subagent: Callable[[str], bool]
    #: Return the name of the subagent that a call starts, given the tool and its input;
    #: ``None`` if it may be any.
    named_subagent: Callable[[str, Mapping[str, Any]], str | None]
    #: Return whether a subagent with this definition may run commands when it starts.
    runs_at_start: Callable[[str], bool]
    #: Return the user's settings folder, given the path of a session's transcript.
    user_folder: Callable[[str], Path | None]


@dataclass(frozen=True, slots=True)
class CommandFiles:
    """Where a project defines slash commands, which override the program's own."""

    folder: str  #: holds commands, skills and plugins
    settings: tuple[str, ...] = ()  #: settings files in which commands can be defined
    skills: SkillDialect | None = None  #: ``None`` if loading a file runs nothing


@dataclass(frozen=True, slots=True)
class SettingsDialect:
    """Where an agent's settings are, and how Rookery's hooks are written there."""

    title: str  #: the vendor's name of the program
    takes_effect: str  #: a sentence: when newly installed hooks take effect
    #: Return the user's settings folder, given the environment and the home folder.
    user_folder: Callable[[Mapping[str, str], Path], Path]
    #: Return the files that may hold hooks, in the user's folder or (``True``) a project's. The
    #: first is used where no file has hooks yet.
    files: Callable[[bool], tuple[tuple[str, SettingsLanguage], ...]]
    folder_variable: str = ""  #: the environment variable for another configuration folder
    hooks: HookShape | None = None  #: ``None`` for an agent with a plugin
    trust: TrustFile | None = None
    plugin: PluginFile | None = None
    switch: HookSwitch | None = None
    commands: CommandFiles | None = None
