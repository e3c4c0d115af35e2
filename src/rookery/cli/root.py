"""The root of the program: its commands and the modules that define them."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import click

from rookery import __version__
from rookery.cli.options import NO_AUTOSTART
from rookery.cli.program_name import with_program_name_in_prose
from rookery.cli.tables import width_here
from rookery.quick_python_import import import_quickly

#: The commands by purpose, each with its module. The help keeps this order.
SECTIONS: dict[str, dict[str, str]] = {
    "Sessions": {
        "tui": "terminal_interface",
        "start": "start",
        "run": "run",
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
        "ask": "ask",
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
    "Following": {"follow": "foreground", "bg": "foreground", "events": "events"},
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
        "stats": "stats",
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
    "Help": {"help": "help", "version": "help"},
}

#: The common commands and what each is for; the short help (`rookery --help`) shows them.
COMMON = {
    "start": "start an agent in this folder, with a prompt or without",
    "run": "start an agent, print its answer, end it",
    "ls": "list sessions; those that wait for you come first",
    "attach": "watch a session in this terminal and type into it",
    "output": "print the prompts and answers of a session",
    "send": "send a message to a session",
    "ask": "send a message, wait, and print the answer",
    "allow": "let a session make the call that it asks about; see also deny",
    "answer": "answer a session's question",
    "end": "end a session",
    "resume": "continue the conversation of a session that has ended",
    "doctor": "check the installation",
}

#: Other names of commands: those of similar programs, and former ones.
ALIASES = {
    "ps": "ls",
    "list": "ls",
    "new": "start",
    "stop": "end",
    "kill": "end",
    "rm": "end",
    "fg": "follow",
    "inspect": "show",
}

#: The library of the terminal interface, which `rookery` alone opens in a terminal. Where the
#: library is missing, the short help is printed.
TUI_LIBRARY = "textual"

#: Terminals with fewer columns are too narrow for the width that click gives help texts.
MAX_NARROW_COLUMNS = 52

_MODULES = {name: module for commands in SECTIONS.values() for name, module in commands.items()}


class LazyGroup(click.Group):
    """Imports a command's module when the command runs, so that every command starts fast."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - as in click
    ) -> click.Context:
        # By itself, click writes help of at least 50 columns, which narrow terminals break.
        if (columns := width_here()) < MAX_NARROW_COLUMNS:
            extra.setdefault("terminal_width", columns)
        return super().make_context(info_name, args, parent, **extra)

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
            raise no_such_command(error.command_name, context) from None

    def get_help(self, context: click.Context) -> str:
        return with_program_name_in_prose(super().get_help(context))

    def format_help(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the short help: what the program is, and its common commands."""
        formatter.write_text(_WHAT_IT_IS)
        with formatter.section("Common commands"):
            formatter.write_dl([*COMMON.items()])
        formatter.write_paragraph()
        formatter.write_dl(
            [
                ("rookery help --all", "all commands"),
                ("rookery help COMMAND", "what a command does, with examples"),
            ]
        )

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all commands under the titles of their sections."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self._summary(context, name)) for name in commands])

    def _summary(self, context: click.Context, name: str) -> str:
        command = self.get_command(context, name)
        return command.get_short_help_str(limit=200) if command else ""


def no_such_command(name: str, context: click.Context) -> click.UsageError:
    """Return an error that names the commands which ``name`` resembles."""
    # Imported only for an unknown command: loading this would slow down every other command.
    suggestions = import_quickly("rookery.model.spelling_suggestions")
    near = suggestions.did_you_mean(name, [*_MODULES, *ALIASES])
    return click.UsageError(f"There is no command {name!r}. {near}".rstrip(), context)


_WHAT_IT_IS = (
    "Rookery runs your coding agents in tmux and tells you which one needs you, and why."
)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--no-autostart", is_flag=True, help="Start no daemon if none runs.")
@click.version_option(__version__, message="rookery %(version)s")
@click.pass_context
def rookery(context: click.Context, *, no_autostart: bool) -> None:
    """Run, track and connect AI coding-agent sessions."""
    context.meta[NO_AUTOSTART] = no_autostart
    if context.invoked_subcommand is not None:
        return
    if sys.stdin.isatty() and sys.stdout.isatty() and find_spec(TUI_LIBRARY):
        context.invoke(import_quickly("rookery.cli.terminal_interface").tui)
    else:
        click.echo(context.get_help())
