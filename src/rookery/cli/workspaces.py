"""The commands for worktrees: list them, and remove those that are done."""

from __future__ import annotations

from functools import partial

import click

from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import ago, remark, reply, say, short
from rookery.cli.tables import Layout, line_of, width_here
from rookery.client import Client
from rookery.client.workspaces import (
    PrunedWorkspacesInfo,
    WorkspaceInfo,
    WorkspaceListInfo,
    list_workspaces,
    prune_workspaces,
)
from rookery.presentation.texts import count, one_line
from rookery.presentation.worktrees import changes_text

_TABLE = Layout(
    titles=("SESSION", "BRANCH", "BASE", "CHANGES", "AGE", "STATE"),
    spared=("AGE", "BASE", "BRANCH"),
    shrinking=("BRANCH", "STATE"),
    last_resort="STATE",
)


@click.group(epilog=examples("rookery workspace ls", "rookery workspace prune"))
def workspace() -> None:
    """List and remove the git worktrees that Rookery made for sessions."""


@workspace.command(epilog=examples("rookery workspace ls", "rookery workspace ls --json"))
@as_json
@pass_client
def ls(daemon: Client, *, as_json: bool) -> None:
    """List the worktrees, with what is in them and why they are kept.

    CHANGES are the commits that a worktree is ahead (+) and behind (-) of its base, and the
    number of files that are not committed (dirty).
    """
    found = list_workspaces(daemon)
    reply(found, partial(_show_list, found), as_json=as_json)


def _show_list(found: WorkspaceListInfo) -> None:
    if not found.workspaces:
        say("No worktrees. Start a session in one:  rookery start claude --worktree")
        return
    rows = [_row(each) for each in found.workspaces]
    widths = _TABLE.fit(rows, width_here())
    for row in (_TABLE.head, *rows):
        say(line_of(row, widths))
    remark(f"They are in {short(found.root)}")


def _row(each: WorkspaceInfo) -> dict[str, str]:
    row = {
        "SESSION": each.name,
        "BRANCH": each.branch,
        "BASE": each.base or "-",
        "CHANGES": changes_text(each),
        "AGE": ago(each.created_at),
        "STATE": _state(each),
    }
    return {title: one_line(cell) for title, cell in row.items()}


def _state(each: WorkspaceInfo) -> str:
    if each.problem and each.state != "kept":
        return each.problem
    if each.state == "kept":
        return f"kept: {each.reason}"
    return "in use" if each.in_use else each.state


@workspace.command(
    epilog=examples("rookery workspace prune", "rookery workspace prune --force api")
)
@click.option(
    "--force", is_flag=True, help="Remove the named worktrees with everything in them."
)
@as_json
@click.argument("names", nargs=-1)
@pass_client
def prune(daemon: Client, *, names: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Remove kept worktrees in which nothing would be lost.

    Those of the sessions NAMES; without names, all.
    """
    pruned = prune_workspaces(daemon, names, force=force)
    reply(pruned, partial(_show_pruned, pruned), as_json=as_json)


def _show_pruned(pruned: PrunedWorkspacesInfo) -> None:
    removed = [each for each in pruned.workspaces if each.state == "removed"]
    for each in pruned.workspaces:
        if each.state == "removed":
            more = f"; {each.reason}" if each.reason else ""
            say(f"Removed {short(each.path)}{more}.")
        else:
            say(f"Kept {short(each.path)}: {each.reason or each.state}.")
    if not pruned.workspaces:
        say("No worktree is kept.")
    elif not removed:
        say(f"{count(len(pruned.workspaces), 'worktree')} kept, none removed.")
