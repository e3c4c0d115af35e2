"""What a shell completes: the names of sessions and of agents."""

from __future__ import annotations

import os

import click

from rookery.cli.group import home
from rookery.client import Client
from rookery.model.errors import RookeryError

AGENTS = ("claude", "codex", "demo", "gemini", "opencode", "shell")

#: Seconds after which a shell is told nothing: whoever pressed Tab waits.
PATIENCE = 0.5


def session_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Name the sessions that begin so; none, and silently, without a daemon."""
    daemon = Client(home().door, os.environ.get("ROOKERY_BADGE", ""), patience=PATIENCE)
    try:
        found = daemon.get("sessions")["sessions"]
    except RookeryError:
        return []
    return [each["name"] for each in found if each["name"].startswith(incomplete)]


def agent_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    return [name for name in AGENTS if name.startswith(incomplete)]


#: What most commands are about.
of_session = click.argument("name", shell_complete=session_names)
