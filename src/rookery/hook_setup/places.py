"""Finds the settings files of each agent, for the user and for a project."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rookery.agents.installations import Json, Language, Toml

Environment = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HookPlace:
    """A settings folder in which an agent looks for hooks: the user's or a project's."""

    agent: str
    folder: Path
    user_folder: Path  #: equal to ``folder`` unless that is a project's

    @property
    def is_project(self) -> bool:
        return self.folder != self.user_folder

    @property
    def trust(self) -> Path | None:
        """The file that lists the hooks that the user trusts; None if the agent has none."""
        return self.user_folder / "config.toml" if self.agent == "codex" else None

    @property
    def files(self) -> tuple[tuple[Path, Language], ...]:
        """The files that may have hooks; new hooks go into the first if none has any."""
        match self.agent:
            case "claude":
                # Our command works on this computer only, so it must not go into a shared file.
                name = "settings.local.json" if self.is_project else "settings.json"
                return ((self.folder / name, Json()),)
            case "codex":
                of_all = (self.folder / "config.toml", Toml())
                return ((self.folder / "hooks.json", Json()), of_all)
            case "gemini":
                return ((self.folder / "settings.json", Json(comments=True)),)
            case _:
                return ()

    @property
    def plugin(self) -> Path | None:
        """The plugin file, all of it ours; None if the agent takes no plugins."""
        return self.folder / "plugin" / "rookery.js" if self.agent == "opencode" else None


def _claude(environment: Environment, user: Path) -> Path:
    return Path(environment.get("CLAUDE_CONFIG_DIR") or user / ".claude")


def _codex(environment: Environment, user: Path) -> Path:
    return Path(environment.get("CODEX_HOME") or user / ".codex")


def _gemini(environment: Environment, user: Path) -> Path:
    return Path(environment.get("GEMINI_CLI_HOME") or user) / ".gemini"


def _opencode(environment: Environment, user: Path) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or user / ".config") / "opencode"


_FOLDERS: Mapping[str, Callable[[Environment, Path], Path]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
}

#: The agents that hooks can be installed for.
AGENTS = tuple(_FOLDERS)


def of_user(agent: str, environment: Environment) -> HookPlace:
    user = Path(environment.get("HOME") or Path.home())
    return of_folder(agent, _FOLDERS[agent](environment, user))


def of_project(agent: str, project: Path, environment: Environment) -> HookPlace:
    folder = project.expanduser().absolute() / f".{agent}"
    return HookPlace(agent, folder, of_user(agent, environment).folder)


def of_folder(agent: str, folder: Path) -> HookPlace:
    there = folder.expanduser().absolute()
    return HookPlace(agent, there, there)


def is_used(agent: str, environment: Environment) -> bool:
    """Return whether this user has the agent's settings or its program."""
    found = shutil.which(agent, path=environment.get("PATH"))
    return bool(found) or of_user(agent, environment).folder.exists()
