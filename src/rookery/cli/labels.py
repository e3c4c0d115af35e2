"""The commands that label sessions: tag, hide and unhide."""

from __future__ import annotations

from collections.abc import Callable

import click

from rookery.cli.completion import session_names
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import reply, say, show_json
from rookery.client import Client
from rookery.client.labels import hide_session, tag_session, unhide_session
from rookery.client.sessions import SessionInfo, show_session


@click.command(
    # A word such as -old removes a tag: it is no option, and -h is no request for help.
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
    epilog=examples(
        "rookery tag builder",
        "rookery tag builder urgent ui",
        "rookery tag builder +urgent -ui",
        "rookery ls --tag urgent",
    ),
)
@as_json
@click.argument("name", shell_complete=session_names)
@click.argument("tags", nargs=-1, metavar="[TAG | +TAG | -TAG]...", type=click.UNPROCESSED)
@pass_client
def tag(daemon: Client, *, name: str, tags: tuple[str, ...], as_json: bool) -> None:
    """Add tags to a session, or remove them with a minus; without tags, show them."""
    remove = [each.removeprefix("-") for each in tags if each.startswith("-")]
    add = [each.removeprefix("+") for each in tags if not each.startswith("-")]
    session = (
        tag_session(daemon, name, add=add, remove=remove)
        if tags
        else show_session(daemon, name)
    )
    text = ", ".join(session.tags) or "no tags"
    reply(session, f"{session.name}: {text}", as_json=as_json)


@click.command(epilog=examples("rookery hide builder tester", "rookery ls --all"))
@as_json
@click.argument("names", nargs=-1, required=True, shell_complete=session_names)
@pass_client
def hide(daemon: Client, *, names: tuple[str, ...], as_json: bool) -> None:
    """Leave sessions out of ls, except with --all or while they need you."""
    _change(daemon, names, hide_session, "is hidden", as_json=as_json)


@click.command(epilog=examples("rookery unhide builder"))
@as_json
@click.argument("names", nargs=-1, required=True, shell_complete=session_names)
@pass_client
def unhide(daemon: Client, *, names: tuple[str, ...], as_json: bool) -> None:
    """List hidden sessions again."""
    _change(daemon, names, unhide_session, "is listed again", as_json=as_json)


def _change(
    daemon: Client,
    names: tuple[str, ...],
    change: Callable[[Client, str], SessionInfo],
    text: str,
    *,
    as_json: bool,
) -> None:
    """Change each session, and print each."""
    changed = []
    for name in names:
        session = change(daemon, name)
        changed.append(session.json)
        if not as_json:
            say(f"{session.name} {text}.")
    if as_json:
        show_json({"sessions": changed})
