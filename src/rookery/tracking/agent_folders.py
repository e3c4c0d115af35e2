"""Find the folders of the agents' own files, which agents may not report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rookery.config import Settings
from rookery.ports.agent import Agent
from rookery.ports.transcript import FolderSources
from rookery.runtimes.tmux.user_servers import expanded


def folders_of(agent: Agent, settings: Settings, login: Mapping[str, str]) -> set[Path]:
    """Return the folders of an agent's own files, whether Rookery or the user starts it."""
    if agent.transcript is None or agent.transcript.folders is None:
        return set()
    has_session_files = agent.transcript.session_files is not None
    sources = FolderSources(
        login=login,
        shared=settings.environment,
        own=settings.agent(agent.name).environment,
        listed=settings.discovery.session_file_folders if has_session_files else (),
    )
    return set(expanded(agent.transcript.folders(sources)))
