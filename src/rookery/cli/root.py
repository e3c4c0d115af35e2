"""The program's root, and what every command begins with."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rookery import __version__
from rookery.client import Client
from rookery.home import Home, find_home
from rookery.importing import import_quickly


class _Seconds(click.FloatRange):
    """A number of seconds; not below zero, and not NaN, which is below nothing."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's own
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


SECONDS = _Seconds(min=0)


def not_empty(context: click.Context, option: click.Parameter, value: str) -> str:
    """Refuse an empty word that was given; without the option there is none."""
    source = context.get_parameter_source(option.name or "")
    if not value.strip() and source is ParameterSource.COMMANDLINE:
        raise click.BadParameter("it must not be empty.", context, option)
    return value


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")

#: The commands by purpose, then by the module that defines them. Help keeps this order.
SECTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "Sessions": {
        "sessions": (
            "start",
            "ls",
            "wait",
            "attach",
            "screen",
            "interrupt",
            "keys",
            "rename",
            "end",
        ),
        "discovery": ("panes", "discover"),
        "evidence": ("why",),
        "resume": ("resume", "fork"),
    },
    "Words": {"messages": ("send", "ask", "output")},
    "Agents together": {
        "listeners": ("listen", "inbox", "hold", "release"),
        "relays": ("relay",),
    },
    "What agents may do": {
        "permissions": ("permissions", "allow", "deny", "answer", "mode", "audit"),
    },
    "What happens": {"foreground": ("fg", "bg"), "events": ("events",)},
    "The daemon": {"daemon": ("up", "down", "status", "logs", "service")},
    "Keeping it well": {
        "maintenance": ("stats", "doctor", "prune", "config", "completion", "token"),
        "hooks": ("hooks", "uninstall"),
        "mcp": ("mcp",),
        "backup": ("backup", "restore"),
    },
}

_MODULES = {
    command: module
    for modules in SECTIONS.values()
    for module, commands in modules.items()
    for command in commands
}


def examples(*commands: str) -> str:
    """Write what stands below a command's options: how it is used."""
    return "\n".join(["\b", "Examples:", *(f"  {each}" for each in commands)])


class LazyGroup(click.Group):
    """Import a command's module when the command is run, so that every command starts fast."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in _MODULES and name not in self.commands:
            import_quickly(f"rookery.cli.{_MODULES[name]}")
        return super().get_command(context, name)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(context, args)
        except click.exceptions.NoSuchCommand as error:
            # click suggests from the commands that were imported, and none was.
            raise click.exceptions.NoSuchCommand(
                error.command_name, possibilities=_MODULES, ctx=context
            ) from None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under the titles of their sections."""
        for title, modules in SECTIONS.items():
            names = [name for commands in modules.values() for name in commands]
            with formatter.section(title):
                formatter.write_dl([(name, self._summary(context, name)) for name in names])

    def _summary(self, context: click.Context, name: str) -> str:
        command = self.get_command(context, name)
        return command.get_short_help_str(limit=200) if command else ""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="rookery %(version)s")
def rookery() -> None:
    """Run, track and connect AI coding-agent sessions. Begin with:  rookery up"""


def home() -> Home:
    return find_home(os.environ)


def own_root() -> Path | None:
    """Return the folder of an instance of its own; none for the usual places."""
    return home().state if os.environ.get("ROOKERY_HOME") else None


def client() -> Client:
    # Within a session, its badge says who asks: what it may do is less than the user may.
    return Client(home().door, os.environ.get("ROOKERY_BADGE", ""))
