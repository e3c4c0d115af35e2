"""The commands that explain the program."""

from __future__ import annotations

import click

from rookery import __version__
from rookery.cli.options import as_json, examples
from rookery.cli.program_name import with_program_name_in_prose
from rookery.cli.render import reply
from rookery.cli.root import ALIASES, LazyGroup, no_such_command
from rookery.model.errors import BadInput


@click.command(epilog=examples("rookery help", "rookery help start", "rookery help --all"))
@click.option("--all", "everything", is_flag=True, help="List all commands.")
@click.argument("command", nargs=-1)
@click.pass_context
def help(context: click.Context, *, everything: bool, command: tuple[str, ...]) -> None:  # noqa: A001 - the command's name
    """Show the common commands, all commands, or what one command does."""
    if everything and command:
        raise BadInput("name a command, or use --all.")
    root = context.find_root()
    text = _all_commands(root) if everything else _found(root, command).get_help()
    click.echo(with_program_name_in_prose(text))


def _found(root: click.Context, words: tuple[str, ...]) -> click.Context:
    """Return the context of the command that these words name. Raises ``UsageError``."""
    context = root
    for word in words:
        group = context.command
        found = group.get_command(context, word) if isinstance(group, click.Group) else None
        if found is None:
            raise no_such_command(" ".join(words), root)
        context = click.Context(found, info_name=found.name, parent=context)
    return context


def _all_commands(root: click.Context) -> str:
    formatter = root.make_formatter()
    formatter.write_usage(root.command_path, "[OPTIONS] COMMAND [ARGS]...")
    assert isinstance(root.command, LazyGroup)  # noqa: S101 - the root of the program
    root.command.format_options(root, formatter)
    aliases = ", ".join(f"{alias} = {name}" for alias, name in ALIASES.items())
    formatter.write_paragraph()
    formatter.write_text(f"Other names: {aliases}.")
    return formatter.getvalue().rstrip()


@click.command(epilog=examples("rookery version", "rookery version --json"))
@as_json
def version(*, as_json: bool) -> None:
    """Print the version of this program; `rookery status` shows the daemon's."""
    reply({"version": __version__}, f"rookery {__version__}", as_json=as_json)
