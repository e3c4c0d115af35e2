"""Find sessions whose agent needs hooks in its settings, where none are installed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from rookery.environment import session_environment
from rookery.hook_setup import plans, settings_folders
from rookery.hook_setup.settings_folders import HookPlace
from rookery.model.sessions import Session
from rookery.operations.context import Context
from rookery.permissions.project_files import in_thread
from rookery.store import evidence

#: The states of hooks in a place of the user in which the agent runs them.
_THERE = frozenset({"installed", "outdated"})


async def why_missing(context: Context, session: Session) -> str:
    """Return the warning that a session runs without hooks; empty if it has them."""
    return await in_thread(partial(_why_missing, context, session), otherwise="")


async def sessions_without_hooks(context: Context, live: Iterable[Session]) -> dict[str, str]:
    """Return the warning for each session without hooks, by its name."""
    silent = await context.database.read(partial(_without_hook_call, live=live))
    found = {each.name: await why_missing(context, each) for each in silent}
    return {name: warning for name, warning in found.items() if warning}


def _without_hook_call(db: Connection, live: Iterable[Session]) -> list[Session]:
    return [each for each in live if evidence.known(db, each).hook is None]


def _why_missing(context: Context, session: Session) -> str:
    agent = context.agents.get(session.agent)
    if agent is None or agent.settings is None or session.status.is_over:
        return ""
    if session.is_driven or not session.is_ours or not agent.abilities.needs_installed_hooks:
        return ""
    settings = context.settings
    own = {**settings.environment, **settings.agent(agent.name).environment}
    environment = session_environment(context.login, {}, own)
    user = settings_folders.of_user(agent.name, environment)
    if plans.look(context.home, user).standing in _THERE:
        return ""
    if settings_folders.has_project_settings(agent.name):
        folder = Path(session.project_path, session.subdir)
        project = settings_folders.of_project(agent.name, folder, environment)
        # The project's author writes this file: only all of our hooks count.
        if plans.look(context.home, project).standing == "installed":
            return ""
    return (
        f"The hooks of {agent.settings.title} are not installed: no rule applies to it, and"
        " its turns are read from its screen and its files. Install them, then start it again:"
        f"  {_install_command(context, user)}"
    )


def _install_command(context: Context, place: HookPlace) -> str:
    words = ["rookery", "hooks", "install", "--agent", place.agent]
    if place != settings_folders.of_user(place.agent, context.login):
        words += ["--config-dir", str(place.folder)]
    return shlex.join(words)
