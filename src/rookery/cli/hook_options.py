"""The options of the commands that change agents' settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import TypeAlias

import click

from rookery.cli.options import as_json

Command: TypeAlias = Callable[..., None]


@dataclass(frozen=True, slots=True)
class HookTarget:
    """The agents and the settings that a command applies to."""

    agents: tuple[str, ...]
    user: bool
    project: str | None
    folders: tuple[str, ...]
    supported: tuple[str, ...]  #: all agents for which hooks exist

    @property
    def is_one_place(self) -> bool:
        return bool(self.user or self.project or self.folders)


@dataclass(frozen=True, slots=True)
class Consent:
    """Whether the user agrees to changes in advance, and how they are shown."""

    yes: bool
    dry_run: bool
    diff: bool  #: show changes in full
    as_json: bool


def with_places(agents: Sequence[str]) -> Callable[[Command], Command]:
    """Add the options that choose the agents and their settings."""
    return partial(_with_places, agents)


def _with_places(supported: Sequence[str], command: Command) -> Command:

    @click.option(
        "--agent",
        "agents",
        multiple=True,
        type=click.Choice(supported),
        help="Only this agent; can be repeated. Default: all agents found.",
    )
    @click.option("--user", is_flag=True, help="In your own settings (default).")
    @click.option("--project", metavar="DIR", help="In the local settings of a project.")
    @click.option(
        "--config-dir",
        "folders",
        multiple=True,
        metavar="DIR",
        help="In another configuration folder of the agent; can be repeated.",
    )
    @wraps(command)
    def wrapped(
        agents: tuple[str, ...],
        folders: tuple[str, ...],
        *,
        user: bool,
        project: str | None,
        **rest: object,
    ) -> None:
        command(where=HookTarget(agents, user, project, folders, tuple(supported)), **rest)

    return wrapped


def with_consent(command: Command) -> Command:
    """Add the options to agree to changes in advance or only to show them."""

    @click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
    @click.option("--dry-run", is_flag=True, help="Only show the changes.")
    @click.option(
        "--diff", is_flag=True, help="Show the whole changes, not only their beginnings."
    )
    @as_json
    @wraps(command)
    def wrapped(*, yes: bool, dry_run: bool, diff: bool, as_json: bool, **rest: object) -> None:
        command(consent=Consent(yes, dry_run, diff, as_json), **rest)

    return wrapped
