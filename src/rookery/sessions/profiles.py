"""Named ways to start an agent, as configured under ``[profiles.NAME]``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rookery.agent_settings import ProfileSettings
from rookery.config import Settings
from rookery.model.errors import BadInput, ProfileUnknown
from rookery.model.names import SHOWN_NAME_CHARACTERS
from rookery.ports.agent import Agent


def find_profile(settings: Settings, name: str) -> ProfileSettings:
    """Return a profile. Raises ``ProfileUnknown``, with the names that there are."""
    if profile := settings.profiles.get(name):
        return profile
    names = ", ".join(sorted(settings.profiles))
    there_are = f"There are: {names}." if names else "The configuration has no [profiles.NAME]."
    raise ProfileUnknown(f"{name[:SHOWN_NAME_CHARACTERS]!r}. {there_are}")


def profile_environment(profile: ProfileSettings, agent: Agent) -> dict[str, str]:
    """Return the variables of a profile, with the one for its configuration folder.

    Raises ``BadInput`` if the agent has no variable for that.
    """
    return {**_folder_variable(profile.config_dir, agent), **profile.environment}


def _folder_variable(folder: str, agent: Agent) -> Mapping[str, str]:
    if not folder:
        return {}
    if not (variable := agent.settings.folder_variable if agent.settings else ""):
        raise BadInput(f"{agent.name} has no configuration folder that config_dir could set.")
    return {variable: str(Path(folder).expanduser())}


def is_plain(profile: ProfileSettings) -> bool:
    """Return whether a profile only chooses the agent, its model and its permission mode.

    What its other keys permit cannot be compared with the rights of a session.
    """
    return not (
        profile.command or profile.arguments or profile.environment or profile.config_dir
    )
