"""The commands for hooks in the settings of agents: install, uninstall, show."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from rookery.agents.names import WITH_SETTINGS
from rookery.cli.hook_options import Consent, HookTarget, with_consent, with_places
from rookery.cli.options import as_json, examples, home, pass_client
from rookery.cli.render import say, say_line, show_json
from rookery.cli.service import find_unit, remove_unit
from rookery.client import Client
from rookery.client.daemon import show_status
from rookery.home import Home
from rookery.model.errors import Answered, NotRunning
from rookery.programs.demo.options import transcripts_folder


@click.group(epilog=examples("rookery hooks status", "rookery hooks install"))
def hooks() -> None:
    """Track the agents that you start yourself, by hooks in their settings."""


@hooks.command(epilog=examples("rookery hooks install", "rookery hooks install --yes"))
@with_places(WITH_SETTINGS)
@click.option(
    "--trust", is_flag=True, help="Mark them as trusted in Codex; otherwise Codex asks."
)
@with_consent
def install(*, trust: bool, where: HookTarget, consent: Consent) -> None:
    """Add Rookery's hooks to the settings of agents; nothing else is changed."""
    from rookery.cli import hook_changes  # noqa: PLC0415 - loads slowly

    here = home()
    plan = hook_changes.plan_install(here, where, trust=trust)
    if hook_changes.is_agreed(plan, consent):
        hook_changes.install(here, plan, consent, trusted=trust)


@hooks.command("uninstall", epilog=examples("rookery hooks uninstall"))
@with_places(WITH_SETTINGS)
@with_consent
def uninstall_hooks(*, where: HookTarget, consent: Consent) -> None:
    """Remove Rookery's hooks from the settings of agents."""
    from rookery.cli import hook_changes  # noqa: PLC0415 - loads slowly

    here = home()
    plan = hook_changes.plan_uninstall(here, where)
    if hook_changes.is_agreed(plan, consent):
        hook_changes.carry_out(here, plan, consent)


@hooks.command(epilog=examples("rookery hooks status"))
@with_places(WITH_SETTINGS)
@as_json
def status(*, where: HookTarget, as_json: bool) -> None:
    """Show for each agent whether Rookery's hooks are in its settings."""
    from rookery.cli import hook_changes  # noqa: PLC0415 - loads slowly

    states = hook_changes.find_states(home(), where)
    if as_json:
        show_json(
            {
                "hooks": [
                    {
                        "agent": state.place.agent,
                        "file": str(state.file),
                        "project": state.place.is_project,
                        "standing": state.standing or "unreadable",
                        "trust": state.trust,
                        "trouble": state.trouble,
                    }
                    for state in states
                ]
            }
        )
        return
    for state in states:
        text = hook_changes.state_text(state)
        say_line(f"{state.place.agent:8}  {state.file}  {text}")
        if state.trouble:
            say(f"          {state.trouble}")


@click.command(epilog=examples("rookery uninstall"))
@with_consent
@pass_client
def uninstall(daemon: Client, *, consent: Consent) -> None:
    """Remove everything that Rookery has put outside its home, and show what is left."""
    from rookery.cli import hook_changes  # noqa: PLC0415 - loads slowly

    here, unit = home(), find_unit()
    plan = hook_changes.plan_uninstall_everywhere(here, WITH_SETTINGS)
    also = [f"Will be removed: {unit}"] if unit else []
    if not hook_changes.is_agreed(plan, consent, also=also):
        return
    hook_changes.carry_out(here, plan, consent)
    removed = remove_unit(unit) if unit else ""
    if not consent.as_json:
        if removed:
            say(removed)
        _say_what_stays(daemon, here)


def _say_what_stays(daemon: Client, here: Home) -> None:
    runs = _is_running(daemon)
    if runs:
        say("The daemon still runs; stop it with:  rookery down")
    worktrees = _worktrees_in(here)
    if worktrees:
        _say_worktrees(worktrees, daemon_runs=runs)
    if (demo := transcripts_folder(os.environ)).is_dir():
        say(f"The conversations of the demo agent are left: {demo}")
    mine = [each for each in (here.config, here.state, here.run) if each.exists()]
    if folders := dict.fromkeys(each for each in mine if not set(each.parents) & set(mine)):
        also = " AND the worktrees above, with all that is not committed in them"
        say(f"Its home, with the database, is left. To remove it{also if worktrees else ''}:")
        say(f"  rm -r {shlex.join(map(str, folders))}")


def _is_running(daemon: Client) -> bool:
    try:
        show_status(daemon)
    except (NotRunning, Answered):
        return False
    return True


def _worktrees_in(here: Home) -> list[Path]:
    """Return the worktrees below the home: one folder for each repository holds its own."""
    return sorted(each for each in here.workspaces.glob("*/*") if each.is_dir())


def _say_worktrees(worktrees: Sequence[Path], *, daemon_runs: bool) -> None:
    say("Worktrees of sessions are left, perhaps with work in them:")
    for each in worktrees:
        say(f"  {each}")
    starts = "" if daemon_runs else "   (starts the daemon again)"
    say(f"Look at them first:  rookery workspace ls{starts}")
    say("Their branches stay in the repositories; those not merged:  git branch --no-merged")
    say("Git forgets worktrees whose folder is gone with:  git worktree prune")
