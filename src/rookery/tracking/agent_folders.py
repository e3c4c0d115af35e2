"""Find the folders of the agents' own files, which agents may not report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from rookery.config import Settings
from rookery.ports.agent import Agent
from rookery.ports.transcript import FolderSources
from rookery.runtimes.tmux.user_servers import expanded
from rookery.sessions.profiles import profile_environment


def folders_of(agent: Agent, settings: Settings, login: Mapping[str, str]) -> set[Path]:
    """Return the folders of an agent's own files, whether Rookery or the user starts it."""
    if agent.transcript is None or agent.transcript.folders is None:
        return set()
    has_session_files = agent.transcript.session_files is not None
    own = settings.agent(agent.name).environment
    found: set[Path] = set()
    for variables in (own, *_of_profiles(agent, settings)):
        sources = FolderSources(
            login=login,
            shared=settings.environment,
            own={**own, **variables},
            listed=settings.discovery.session_file_folders if has_session_files else (),
        )
        found.update(expanded(agent.transcript.folders(sources)))
    return found


def _of_profiles(agent: Agent, settings: Settings) -> Iterator[Mapping[str, str]]:
    """Yield the variables of each profile of an agent."""
    for profile in settings.profiles.values():
        if profile.agent == agent.name:
            yield profile_environment(profile, agent)
