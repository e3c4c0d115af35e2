"""The command that shows what a session has changed."""

from __future__ import annotations

from functools import partial

import click

from rookery.cli.colour import is_colourful
from rookery.cli.completion import session_names
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import remark, reply, say
from rookery.cli.tables import width_here
from rookery.client import Client
from rookery.client.workspaces import ChangedFileInfo, DiffInfo, show_diff
from rookery.model.workspaces import short_id
from rookery.presentation.cells import cut_left
from rookery.presentation.diffs import DiffLineKind, kind_of_line
from rookery.presentation.texts import count, one_line, plain

_COLOURS = {
    DiffLineKind.ADDED: "green",
    DiffLineKind.REMOVED: "red",
    DiffLineKind.HUNK: "cyan",
}

#: Cells of the column with the numbers of lines, with the gap after it.
_COUNT_CELLS = 14


@click.command(
    epilog=examples("rookery diff api", "rookery diff api --stat", "rookery diff api | less")
)
@click.option("--stat", is_flag=True, help="Only the files and the numbers of lines.")
@as_json
@click.argument("name", shell_complete=session_names)
@pass_client
def diff(daemon: Client, *, name: str, stat: bool, as_json: bool) -> None:
    """Show what a session has changed, untracked files included.

    A worktree of its own is compared with the commit where it left its base. Of any other
    session all uncommitted changes of its folder are shown, also those of others.
    """
    found = show_diff(daemon, name, stat=stat)
    reply(found, partial(_show, found, stat=stat), as_json=as_json)


def _show(found: DiffInfo, *, stat: bool) -> None:
    remark(_summary(found))
    if stat:
        for each in found.files:
            say(_stat_line(each))
        return
    lines = plain(found.text).splitlines()
    if lines:
        click.echo("\n".join(map(_coloured, lines) if is_colourful() else lines))
    if found.is_cut:
        remark(f"It is longer than this. All files:  rookery diff {found.name} --stat")


def _summary(found: DiffInfo) -> str:
    if not found.is_worktree:
        return _folder_summary(found)
    if not found.files:
        return f"{found.name} has changed nothing since {_base(found)}."
    files = count(len(found.files), "file")
    commits = f", {count(found.commits, 'commit')}" if found.commits else ""
    return f"{files} on {found.branch or 'a detached HEAD'}{commits}, since {_base(found)}."


def _folder_summary(found: DiffInfo) -> str:
    if not found.files:
        return f"Nothing in the folder of {found.name} differs from {_base(found)}."
    files = count(len(found.files), "file")
    return (
        f"{files} not committed in the folder of {found.name}, also by others, compared"
        f" with {_base(found)}."
    )


def _base(found: DiffInfo) -> str:
    return f"{found.against} ({short_id(found.commit)})"


def _stat_line(file: ChangedFileInfo) -> str:
    if file.added is None or file.removed is None:
        numbers = "binary"
    else:
        numbers = f"+{file.added} -{file.removed}"
    new = "  (untracked)" if file.is_untracked else ""
    room = max(width_here() - _COUNT_CELLS - len(new), 10)
    return f"{numbers:>{_COUNT_CELLS - 2}}  {cut_left(one_line(file.path), room)}{new}"


def _coloured(line: str) -> str:
    colour = _COLOURS.get(kind_of_line(line))
    return click.style(line, fg=colour) if colour else line
