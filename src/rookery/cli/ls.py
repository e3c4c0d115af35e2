"""The command that lists sessions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypedDict, TypeVar, Unpack

import click
from msgspec import structs

from rookery.cli.colour import colour_option
from rookery.cli.completion import agent_names
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import (
    at_deadline,
    remark,
    say,
    say_line,
    show_json,
    until,
)
from rookery.cli.session_table import SessionTable
from rookery.cli.tables import width_here
from rookery.client import Client
from rookery.client.sessions import ListedSession, PendingInfo, SessionList, list_sessions
from rookery.model.errors import AgentUnknown, BadInput
from rookery.model.folders import is_within
from rookery.presentation.deliveries import HELD
from rookery.presentation.evidence import out_of_date, rules_warning
from rookery.presentation.next_steps import lost_hint
from rookery.presentation.order import ranked
from rookery.presentation.projects import project_folders
from rookery.presentation.states import Standing, is_left_out, standing
from rookery.presentation.texts import count
from rookery.quick_python_import import import_quickly

C = TypeVar("C", bound=Callable[..., object])

#: Printed if there is no session to list, neither a live one nor one that ended recently.
INVITATION = 'No sessions. Start one:  rookery start demo "say: Hello"'


class ListOptions(TypedDict):
    everything: bool
    is_tree: bool
    is_long: bool
    is_quiet: bool
    is_watching: bool
    is_waiting: bool
    agent: str
    project: str
    tags: tuple[str, ...]
    as_json: bool


def _selecting(command: C) -> C:
    """Add the options that select sessions."""
    options = (
        click.option(
            "--all", "-a", "everything", is_flag=True, help="Also ended and hidden ones."
        ),
        click.option("--waiting", "is_waiting", is_flag=True, help="Only those that need you."),
        click.option(
            "--agent", default="", shell_complete=agent_names, help="Only of this agent."
        ),
        click.option(
            "--project",
            default="",
            type=click.Path(file_okay=False),
            help="Only in this folder or below, or in worktrees of it.",
        ),
        click.option(
            "--tag", "-t", "tags", multiple=True, help="Only with this tag. Can be repeated."
        ),
    )
    for each in reversed(options):
        command = each(command)
    return command


def _showing(command: C) -> C:
    """Add the options that say how sessions are shown."""
    options = (
        click.option(
            "--long",
            "-l",
            "is_long",
            is_flag=True,
            help="Also ids, runtimes, models, modes and costs.",
        ),
        click.option("--quiet", "-q", "is_quiet", is_flag=True, help="Only names."),
        click.option(
            "--tree", "is_tree", is_flag=True, help="Show each below the one that started it."
        ),
        click.option(
            "--watch",
            "-w",
            "is_watching",
            is_flag=True,
            help="Show the list again after each event, until Ctrl-C.",
        ),
    )
    for each in reversed(options):
        command = each(command)
    return command


@click.command(
    epilog=examples(
        "rookery ls -l --agent demo",
        "rookery ls --waiting --watch",
        "rookery ls -q --agent demo",
    )
)
@_selecting
@_showing
@colour_option
@as_json
@pass_client
def ls(daemon: Client, **options: Unpack[ListOptions]) -> None:
    """List sessions and what each does now; those that need you come first.

    Ended sessions are left out, except those that failed and that you have not seen yet. With
    --json, sessions that ended in the last hour are included.
    """
    if options["agent"]:
        _require_known_agent(daemon, options["agent"])
    if options["is_watching"]:
        _watch(daemon, options)
        return
    listed = _fetch(daemon, options)
    if options["as_json"]:
        selected = _selected(listed.sessions, options, hides=False)
        show_json({**listed.json, "sessions": [each.json for each in selected]})
        return
    shown = _selected(listed.sessions, options)
    if options["is_quiet"]:
        for each in ranked(shown):
            say_line(each.name)
        return
    for warning in _warnings(listed):
        remark(warning)
    if shown:
        table = _with_changes(_table(listed, shown, options), daemon)
        click.echo("\n".join(table.lines(width_here())))
    else:
        say(_nothing(listed, options))


def _watch(daemon: Client, options: ListOptions) -> None:
    if options["as_json"]:
        raise BadInput("use --watch or --json; for programs there is `rookery events`.")
    # Imported only when it is needed: threads and queues would slow down every list.
    watch = import_quickly("rookery.cli.watch").watch
    watch(daemon, partial(_screen, options=options), partial(_fetch, daemon, options))


def _fetch(daemon: Client, options: ListOptions) -> SessionList:
    return list_sessions(daemon, all=options["everything"], tags=options["tags"])


def _screen(listed: SessionList, width: int, *, options: ListOptions) -> list[str]:
    """Return the lines that ``--watch`` shows."""
    shown = _selected(listed.sessions, options)
    table = _table(listed, shown, options).lines(width) if shown else []
    return [*_warnings(listed), *(table or [_nothing(listed, options)])]


def _selected(
    sessions: Sequence[ListedSession], options: ListOptions, *, hides: bool = True
) -> list[ListedSession]:
    """Return the sessions that the options ask for."""
    folder = os.path.realpath(options["project"]) if options["project"] else ""
    projects = project_folders(sessions) if folder else {}
    return [
        each
        for each in sessions
        if (options["everything"] or not hides or not is_left_out(each))
        and (not options["is_waiting"] or standing(each) is Standing.NEEDS_YOU)
        and (not options["agent"] or each.agent == options["agent"])
        and (
            not folder
            or is_within(each.project_path, folder)
            or is_within(projects[each.id], folder)
        )
    ]


def _table(
    listed: SessionList, shown: Sequence[ListedSession], options: ListOptions
) -> SessionTable:
    return SessionTable(
        shown,
        kept=listed.kept,
        failures=listed.failures,
        notes=_notes(listed),
        projects=project_folders(listed.sessions),
        is_tree=options["is_tree"],
        is_long=options["is_long"],
    )


def _with_changes(table: SessionTable, daemon: Client) -> SessionTable:
    """Add the changes in the worktrees of sessions to a long table."""
    if not (table.is_long and any(each.workspace for each in table.sessions)):
        return table
    # Imported only when it is needed: it would slow down every list.
    changes = import_quickly("rookery.cli.worktree_changes").changes_in_use
    return structs.replace(table, changes=changes(daemon))


def _warnings(listed: SessionList) -> Iterator[str]:
    if listed.holding:
        yield HELD
    if listed.trouble:
        yield out_of_date(listed.trouble)
    if listed.hooks_problem:
        yield f"{listed.hooks_problem}."
    if listed.rules_problem:
        yield rules_warning(listed.rules_problem)
    if listed.config_note:
        yield listed.config_note
    if listed.lost:
        yield lost_hint(listed.lost)


def _nothing(listed: SessionList, options: ListOptions) -> str:
    """Return why the list is empty, and what to do."""
    if options["is_waiting"]:
        return "No session needs you."
    if options["agent"] or options["project"] or options["tags"]:
        return "No session matches. See all:  rookery ls -a"
    if not listed.sessions:
        return INVITATION
    ended = count(len(listed.sessions), "session")
    return f"No session is live; {ended} ended recently. Show them:  rookery ls -a"


def _require_known_agent(daemon: Client, agent: str) -> None:
    """Raise ``AgentUnknown`` for an agent that is not known and has no sessions."""
    from rookery.agents.names import NAMES  # noqa: PLC0415 - loads slowly
    from rookery.cli.agent_words import configured_agents  # noqa: PLC0415 - loads slowly
    from rookery.model.spelling_suggestions import did_you_mean  # noqa: PLC0415 - loads slowly

    if agent in NAMES:
        return
    listed = list_sessions(daemon, all=True)
    known = sorted({*NAMES, *configured_agents(), *(each.agent for each in listed.sessions)})
    if agent not in known:
        near = did_you_mean(agent, known) or f"There are: {', '.join(known)}."
        raise AgentUnknown(f"{agent[:80]!r}. {near}")


def _notes(listed: SessionList) -> dict[str, tuple[str, str]]:
    """Return a long and a short note by session; a deadline has priority over an overlap."""
    overlaps = {session: (text, "overlap") for session, text in listed.overlaps.items()}
    return {**overlaps, **_deadlines(listed.pending, listed.on_timeout)}


def _deadlines(
    pending: Mapping[str, PendingInfo], on_timeout: str
) -> dict[str, tuple[str, str]]:
    """Return notes by session about the deadline of its request, or that it was missed."""
    notes = {}
    for session, each in pending.items():
        if each.missed:
            notes[session] = ("missed", "missed")
        elif each.deadline:
            whole = at_deadline(each.deadline, on_timeout, each.fallback)
            notes[session] = (whole, until(each.deadline))
    return notes
