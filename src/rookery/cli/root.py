"""The root of the program: its commands and the modules that define them."""

from __future__ import annotations

import click

from rookery import __version__
from rookery.quick_python_import import import_quickly

#: The commands by purpose, each with its module. The help keeps this order.
SECTIONS: dict[str, dict[str, str]] = {
    "Sessions": {
        "start": "start",
        "ls": "ls",
        "show": "show",
        "wait": "sessions",
        "attach": "attach",
        "screen": "terminal",
        "interrupt": "terminal",
        "keys": "terminal",
        "rename": "sessions",
        "tag": "labels",
        "hide": "labels",
        "unhide": "labels",
        "end": "end",
        "panes": "discovery",
        "discover": "discovery",
        "why": "evidence",
        "resume": "resume",
        "fork": "resume",
    },
    "Messages": {
        "send": "send",
        "ask": "messages",
        "output": "output",
        "logs": "output",
        "copy": "copy",
        "inbox": "inbox",
        "hold": "inbox",
        "release": "inbox",
    },
    "Worktrees": {"diff": "diff", "land": "land", "workspace": "workspaces"},
    "Agents together": {
        "listen": "listeners",
        "relay": "relays",
    },
    "Permissions": {
        "permissions": "permissions",
        "allow": "answers",
        "deny": "answers",
        "answer": "answers",
        "mode": "permissions",
        "audit": "permissions",
    },
    "Following": {"fg": "foreground", "bg": "foreground", "events": "events"},
    "Notifications": {
        "notify": "notifications",
        "mute": "notifications",
        "unmute": "notifications",
    },
    "The daemon": {
        "up": "daemon",
        "down": "daemon",
        "status": "daemon_status",
        "daemon": "daemon_group",
        "service": "service",
    },
    "Maintenance": {
        "stats": "maintenance",
        "doctor": "maintenance",
        "prune": "maintenance",
        "config": "configuration",
        "completion": "configuration",
        "token": "tokens",
        "hooks": "hooks",
        "uninstall": "hooks",
        "mcp": "mcp",
        "backup": "maintenance",
        "restore": "maintenance",
    },
}

#: Other names of commands, which the help does not list.
ALIASES = {"inspect": "show"}

_MODULES = {name: module for commands in SECTIONS.values() for name, module in commands.items()}


class LazyGroup(click.Group):
    """Imports a command's module when the command runs, so that every command starts fast."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        name = ALIASES.get(name, name)
        if name not in _MODULES:
            return None
        # Imported by name: importing all modules at the top would slow down every command.
        command = getattr(import_quickly(f"rookery.cli.{_MODULES[name]}"), name)
        assert isinstance(command, click.Command)  # noqa: S101 - a test checks the table
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(context, args)
        except click.exceptions.NoSuchCommand as error:
            # click suggests only imported commands, and none is imported yet.
            raise click.exceptions.NoSuchCommand(
                error.command_name, possibilities=_MODULES, ctx=context
            ) from None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under the titles of their sections."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self._summary(context, name)) for name in commands])

    def _summary(self, context: click.Context, name: str) -> str:
        command = self.get_command(context, name)
        return command.get_short_help_str(limit=200) if command else ""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="rookery %(version)s")
def rookery() -> None:
    """Run, track and connect AI coding-agent sessions. Start with:  rookery up"""
