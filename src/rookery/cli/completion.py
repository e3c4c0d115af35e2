"""Complete the names of sessions and agents, and the ids of relays."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from rookery.agents.names import NAMES
from rookery.cli.options import context_client
from rookery.client import Client
from rookery.client.sessions import list_sessions
from rookery.model.errors import RookeryError

#: Seconds that a shell waits for the daemon; after that it completes nothing.
COMPLETION_TIMEOUT_S = 0.5


def session_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the names of sessions that begin with ``incomplete``."""
    return completed(incomplete, context, _session_names)


def _session_names(daemon: Client) -> Iterable[str]:
    return [each.name for each in list_sessions(daemon).sessions]


def completed(
    incomplete: str, context: click.Context, ask: Callable[[Client], Iterable[str]]
) -> list[str]:
    """Return the candidates that begin with ``incomplete``; without a daemon none."""
    daemon = context_client(context, timeout_s=COMPLETION_TIMEOUT_S)
    try:
        return [each for each in ask(daemon) if each.startswith(incomplete)]
    except RookeryError:
        return []


def agent_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    return [name for name in NAMES if name.startswith(incomplete)]


#: The argument of most commands.
of_session = click.argument("name", shell_complete=session_names)
