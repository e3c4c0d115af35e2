"""The program's root, and what every command begins with."""

from __future__ import annotations

import os

import click

from rookery import __version__
from rookery.client import Client
from rookery.home import Home, find_home

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")

#: What the commands of each module are for, in the order in which they are listed.
SECTIONS = {
    "sessions": "Sessions",
    "panes": "Sessions",
    "why": "Sessions",
    "resuming": "Sessions",
    "words": "Words",
    "together": "Agents together",
    "relays": "Agents together",
    "permissions": "What agents may do",
    "foreground": "What happens",
    "events": "What happens",
    "running": "The daemon",
    "upkeep": "Keeping it well",
    "hooks": "Keeping it well",
    "mcp": "Keeping it well",
    "backups": "Keeping it well",
}


def examples(*commands: str) -> str:
    """Write what stands below a command's options: how it is used."""
    return "\n".join(["\b", "Examples:", *(f"  {each}" for each in commands)])


class Sections(click.Group):
    """Lists its commands by what they are for, each with its whole first sentence."""

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in sorted(self.commands.items(), key=lambda each: _rank(each[1])):
            title = SECTIONS.get(_module(command), "More")
            summary = command.get_short_help_str(limit=200)
            sections.setdefault(title, []).append((name, summary))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def _rank(command: click.Command) -> int:
    modules = [*SECTIONS]
    module = _module(command)
    return modules.index(module) if module in SECTIONS else len(modules)


def _module(command: click.Command) -> str:
    return command.callback.__module__.rpartition(".")[2] if command.callback else ""


@click.group(cls=Sections, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="rookery %(version)s")
def rookery() -> None:
    """Run, track and connect AI coding-agent sessions. Begin with:  rookery up"""


def home() -> Home:
    return find_home(os.environ)


def client() -> Client:
    # Within a session, its badge says who asks: what it may do is less than the user may.
    return Client(home().door, os.environ.get("ROOKERY_BADGE", ""))
