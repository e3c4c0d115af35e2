"""Finds the settings files of each agent, for the user and for a project."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rookery.agents.catalog import AGENTS
from rookery.model.errors import BadInput
from rookery.ports.settings import SettingsDialect, SettingsLanguage

Environment = Mapping[str, str]


def dialect_of(agent: str) -> SettingsDialect:
    """Return an agent's settings dialect. Raises ``BadInput`` if it has none."""
    if (settings := AGENTS[agent].settings) is None:
        raise BadInput(f"there are no hooks for {agent} yet.")
    return settings


@dataclass(frozen=True, slots=True)
class HookPlace:
    """A settings folder in which an agent looks for hooks: the user's or a project's."""

    agent: str
    folder: Path
    user_folder: Path  #: equal to ``folder`` unless that is a project's

    @property
    def dialect(self) -> SettingsDialect:
        return dialect_of(self.agent)

    @property
    def is_project(self) -> bool:
        return self.folder != self.user_folder

    @property
    def trust(self) -> Path | None:
        """Return the file that lists the hooks that the user trusts; None if there is none."""
        trust = self.dialect.trust
        return self.user_folder / trust.name if trust else None

    @property
    def files(self) -> tuple[tuple[Path, SettingsLanguage], ...]:
        """Return the files that may have hooks. If none has, new hooks go into the first."""
        named = self.dialect.files(self.is_project)
        return tuple((self.folder / name, language) for name, language in named)

    @property
    def plugin(self) -> Path | None:
        """Return Rookery's plugin file; None if the agent loads no plugin."""
        plugin = self.dialect.plugin
        return self.folder / plugin.path if plugin else None


def of_user(agent: str, environment: Environment) -> HookPlace:
    home = Path(environment.get("HOME") or Path.home())
    return of_folder(agent, dialect_of(agent).user_folder(environment, home))


def of_project(agent: str, project: Path, environment: Environment) -> HookPlace:
    """Return the agent's place in a project. Raises ``BadInput`` if it has none there."""
    if not has_project_settings(agent):
        title = dialect_of(agent).title
        raise BadInput(
            f"{title} reads no hooks from projects; install them in your own settings:"
            f"  rookery hooks install --agent {agent}"
        )
    folder = project.expanduser().absolute() / f".{agent}"
    return HookPlace(agent, folder, of_user(agent, environment).folder)


def has_project_settings(agent: str) -> bool:
    dialect = dialect_of(agent)
    return bool(dialect.files(True) or dialect.plugin)


def of_folder(agent: str, folder: Path) -> HookPlace:
    absolute = folder.expanduser().absolute()
    return HookPlace(agent, absolute, absolute)


def is_used(agent: str, environment: Environment) -> bool:
    """Return whether this user has the agent's settings or its program."""
    program = shutil.which(agent, path=environment.get("PATH"))
    return bool(program) or of_user(agent, environment).folder.exists()
