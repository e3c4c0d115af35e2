"""Complete the names of sessions and agents, folders, keys, modes and the ids of requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from rookery.agents.names import NAMES, RUNTIMES
from rookery.cli.options import context_client
from rookery.client import Client
from rookery.client.permissions import list_requests
from rookery.client.sessions import list_sessions
from rookery.model.errors import RookeryError
from rookery.model.keys import KEY_NAMES
from rookery.quick_python_import import import_quickly

#: Seconds that a shell waits for the daemon; after that it completes nothing.
COMPLETION_TIMEOUT_S = 0.5


def session_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the names of live sessions that begin with ``incomplete``."""
    return completed(incomplete, context, _session_names)


def any_session_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the names of sessions that begin with ``incomplete``, also of ended ones."""
    return completed(incomplete, context, _any_session_names)


def asking_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the sessions that ask something, and the ids of their requests."""
    return completed(incomplete, context, _asking_names)


def _any_session_names(daemon: Client) -> Iterable[str]:
    return [each.name for each in list_sessions(daemon).sessions]


def _session_names(daemon: Client) -> Iterable[str]:
    return [each.name for each in list_sessions(daemon).sessions if not each.ended_at]


def _asking_names(daemon: Client) -> Iterable[str]:
    asking = [each.name for each in list_sessions(daemon).sessions if each.is_asking]
    return [*asking, *(each.id for each in list_requests(daemon).requests)]


def completed(
    incomplete: str, context: click.Context, ask: Callable[[Client], Iterable[str]]
) -> list[str]:
    """Return the distinct candidates that begin with ``incomplete``; none without a daemon."""
    daemon = context_client(context, timeout_s=COMPLETION_TIMEOUT_S)
    try:
        return [each for each in dict.fromkeys(ask(daemon)) if each.startswith(incomplete)]
    except RookeryError:
        return []


def agent_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return agent names; for an argument only as its first word, and without --agent."""
    if isinstance(parameter, click.Argument) and (
        context.params.get("agent") or context.params.get(parameter.name or "")
    ):
        return []
    return [name for name in NAMES if name.startswith(incomplete)]


def folders(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Let the shell complete a folder."""
    return [CompletionItem(incomplete, type="dir")]


def key_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in KEY_NAMES if name.startswith(incomplete)]


def permission_modes(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the modes of the agent that is named so far; else those of all agents."""
    agents = import_quickly("rookery.agents.catalog").AGENTS
    # An option without its value ends click's parsing: the words are still in ``args``.
    words = (*(context.params.get("prompt") or ()), *context.args)
    named = context.params.get("agent") or (words[0] if words else "")
    chosen = [agents[named]] if named in agents else [*agents.values()]
    modes = dict.fromkeys(mode for agent in chosen for mode in agent.modes)
    return [mode for mode in modes if mode.startswith(incomplete)]


def runtime_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the runtimes in which sessions can be started."""
    names = dict.fromkeys(name for offered in RUNTIMES.values() for name in offered)
    return [name for name in names if name.startswith(incomplete)]


#: The argument of most commands: a live session.
of_session = click.argument("name", shell_complete=session_names)

#: The argument of commands that also show sessions that have ended.
of_any_session = click.argument("name", shell_complete=any_session_names)
