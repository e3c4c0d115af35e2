"""The command that lands the commits of a session."""

from __future__ import annotations

import click

from rookery.cli.completion import session_names
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import count, reply, short
from rookery.client import Client
from rookery.client.workspaces import LandedInfo, land_session
from rookery.model.errors import BadInput
from rookery.model.workspaces import short_id


@click.command(
    epilog=examples(
        "rookery land api",
        'rookery land api --squash --commit "Add paging to the API"',
        "rookery land api --rebase --into develop",
    )
)
@click.option("--merge", "methods", flag_value="merge", multiple=True, help="A merge commit.")
@click.option("--squash", "methods", flag_value="squash", multiple=True, help="One commit.")
@click.option(
    "--rebase", "methods", flag_value="rebase", multiple=True, help="A copy of each commit."
)
@click.option("--commit", default="", metavar="MESSAGE", help="Commit everything first.")
@click.option("--into", default="", metavar="BRANCH", help="Default: where it began.")
@as_json
@click.argument("name", shell_complete=session_names)
@pass_client
def land(  # noqa: PLR0913 - its options
    daemon: Client,
    *,
    name: str,
    methods: tuple[str, ...],
    commit: str,
    into: str,
    as_json: bool,
) -> None:
    """Put the commits of an idle session into the branch from which it began.

    Without an option the branch is moved forward if that is possible, else merged. On a
    conflict nothing is changed.
    """
    if len(set(methods)) > 1:
        raise BadInput("--merge, --squash and --rebase exclude each other.")
    method = methods[0] if methods else "auto"
    landed = land_session(daemon, name, method=method, commit=commit, into=into)
    reply(landed, _summary(landed), as_json=as_json)


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
