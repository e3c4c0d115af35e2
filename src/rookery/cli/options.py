"""Code that commands share: options, Rookery's folders and the client of the daemon."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import click
from click.core import ParameterSource

from rookery.agents.names import OWN_VARIABLES
from rookery.client import Client
from rookery.home import Home, find_home
from rookery.quick_python_import import import_quickly

#: Commands that work without a daemon, and so never start one.
_WITHOUT_DAEMON = frozenset({"status", "doctor", "uninstall"})

#: Environment variables that show that a command runs inside an agent.
_AGENTS_VARIABLES = ("ROOKERY_BADGE", "ROOKERY_SESSION", *OWN_VARIABLES)

#: The key in ``click.Context.meta`` under which the value of --no-autostart is kept.
NO_AUTOSTART = "rookery.no_autostart"

P = ParamSpec("P")
R = TypeVar("R")


class _Seconds(click.FloatRange):
    """A number of seconds, at least 0. Rejects NaN, which passes every range check."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - as in click
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


SECONDS = _Seconds(min=0)


_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def read_span(
    context: click.Context, option: click.Parameter, value: str | None
) -> float | None:
    """Convert a duration such as 90s, 30m, 2h or 1d to seconds."""
    if value is None:
        return None
    found = _SPAN.fullmatch(value.strip().lower())
    if not found or not float(found[1]):
        raise click.BadParameter("write it like 90s, 30m, 2h or 1d.", context, option)
    return float(found[1]) * _SECONDS_PER_UNIT[found[2]]


def not_empty(context: click.Context, option: click.Parameter, value: str) -> str:
    """Refuse an option that was given with an empty value."""
    source = context.get_parameter_source(option.name or "")
    if not value.strip() and source is ParameterSource.COMMANDLINE:
        raise click.BadParameter("it must not be empty.", context, option)
    return value


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


#: For commands that take a text; "-" is standard input.
from_file = click.option(
    "--file", "-f", type=click.File("rb"), help='Read the text from a file; "-" reads stdin.'
)


def examples(*commands: str) -> str:
    """Return the examples that the help shows below a command's options."""
    return "\n".join(["\b", "Examples:", *(f"  {each}" for each in commands)])


def home() -> Home:
    return find_home(os.environ)


def own_root() -> Path | None:
    """Return the folder that ROOKERY_HOME names; ``None`` if the default folders are used."""
    return home().state if os.environ.get("ROOKERY_HOME") else None


def pass_client(command: Callable[Concatenate[Client, P], R]) -> Callable[P, R]:
    """Decorate a command to receive a client. Starts the daemon first if needed and allowed."""

    @wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> R:
        return command(_with_daemon(click.get_current_context()), *args, **options)

    return run


def context_client(context: click.Context, **settings: float) -> Client:
    """Return the client in the click context, or a new one for this process's home."""
    if client := context.find_object(Client):
        return client
    # Within a session, its badge limits the command to what the session may do.
    return Client(home().door, os.environ.get("ROOKERY_BADGE", ""), **settings)


def _with_daemon(context: click.Context) -> Client:
    """Return the client; start the daemon first if none runs and the command may start one."""
    client = context_client(context)
    is_own = context.find_object(Client) is None
    if is_own and may_start_daemon(context, os.environ) and not client.can_connect():
        # Imported here: a command that finds a daemon must not wait for this import.
        import_quickly("rookery.cli.autostart").start_daemon(home())
    return client


def may_start_daemon(context: click.Context, environment: Mapping[str, str]) -> bool:
    """Return whether the command, its options and its environment allow a start of the daemon.

    ``start_daemon`` reads the configuration. A command of an agent may not start the daemon,
    which would run in the agent's session with the agent's environment.
    """
    command = context.command_path.split()[1:2]
    is_agent = any(name in environment for name in _AGENTS_VARIABLES)
    return not (
        is_agent
        or _WITHOUT_DAEMON.issuperset(command)
        or context.meta.get(NO_AUTOSTART)
        or environment.get("ROOKERY_AUTOSTART") == "0"
    )
