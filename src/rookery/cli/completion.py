"""What a shell completes: the names of sessions and of agents, and relays."""

from __future__ import annotations

import os

import click

from rookery.cli.root import home
from rookery.client import Client
from rookery.model.errors import RookeryError

AGENTS = ("claude", "codex", "demo", "gemini", "opencode", "shell")

#: Seconds after which a shell is told nothing: whoever pressed Tab waits.
PATIENCE = 0.5


def session_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Name the sessions that begin so; none, and silently, without a daemon."""
    return [name for name in _known("sessions", "name") if name.startswith(incomplete)]


def relay_ids(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [each for each in _known("relays", "id") if each.startswith(incomplete)]


def _known(kind: str, word: str) -> list[str]:
    daemon = Client(home().door, os.environ.get("ROOKERY_BADGE", ""), patience=PATIENCE)
    try:
        return [each[word] for each in daemon.get(kind)[kind]]
    except RookeryError:
        return []


def agent_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    return [name for name in AGENTS if name.startswith(incomplete)]


#: What most commands are about.
of_session = click.argument("name", shell_complete=session_names)
