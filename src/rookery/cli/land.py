"""The command that lands the commits of a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict, TypeVar, Unpack

import click

from rookery.cli.completion import session_names
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import reply, short
from rookery.client import Client
from rookery.client.workspaces import LandedInfo, land_session
from rookery.model.errors import BadInput
from rookery.model.workspaces import short_id
from rookery.presentation.texts import count

C = TypeVar("C", bound=Callable[..., object])


class LandOptions(TypedDict):
    name: str
    methods: tuple[str, ...]
    commit: str
    into: str
    as_json: bool


def _method(name: str, text: str) -> Callable[[C], C]:
    """Return the option that chooses how commits get into the branch."""
    return click.option(f"--{name}", "methods", flag_value=name, multiple=True, help=text)


@click.command(
    epilog=examples(
        "rookery land api",
        'rookery land api --squash --commit "Add paging to the API"',
        "rookery land api --rebase --into develop",
    )
)
@_method("merge", "Always make a merge commit.")
@_method("squash", "Land as one commit.")
@_method("rebase", "Land a copy of each commit.")
@click.option(
    "--commit",
    default="",
    metavar="MESSAGE",
    help="Commit all changes with this message first.",
)
@click.option(
    "--into",
    default="",
    metavar="BRANCH",
    help="Branch to land in. Default: the one from which the worktree began.",
)
@as_json
@click.argument("name", shell_complete=session_names)
@pass_client
def land(daemon: Client, **given: Unpack[LandOptions]) -> None:
    """Put the commits of an idle session into the branch from which it began.

    Without an option the branch is moved forward if that is possible, else merged. On a
    conflict nothing is changed.
    """
    methods = given["methods"]
    if len(set(methods)) > 1:
        raise BadInput("--merge, --squash and --rebase exclude each other.")
    method = methods[0] if methods else "auto"
    landed = land_session(
        daemon, given["name"], method=method, commit=given["commit"], into=given["into"]
    )
    reply(landed, _summary(landed), as_json=given["as_json"])


def _summary(landed: LandedInfo) -> str:
    lines = []
    if landed.committed:
        lines.append(f"Committed {count(len(landed.committed), 'file')}:")
        lines += [f"  {each}" for each in landed.committed]
    if not landed.commits:
        lines.append(f"Everything of {landed.branch} is in {landed.into} already.")
        return "\n".join(lines)
    commits = count(landed.commits, "commit")
    lines.append(
        f"Landed {commits} of {landed.name} in {landed.into}, now at {short_id(landed.commit)}."
    )
    if landed.checkout:
        lines.append(f"{short(landed.checkout)} is up to date with it.")
    return "\n".join(lines)
