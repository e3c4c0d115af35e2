"""The commands for hooks in the settings of agents: install, uninstall, show."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from typing import TYPE_CHECKING

import click

from rookery.agents.names import WITH_SETTINGS
from rookery.cli.hook_options import Consent, HookTarget, with_consent, with_places
from rookery.cli.options import as_json, home, pass_client
from rookery.cli.render import say, say_line, show_json
from rookery.cli.service import find_unit, remove_unit
from rookery.client import Client
from rookery.client.daemon import show_status
from rookery.home import Home
from rookery.model.errors import Answered, NotRunning

if TYPE_CHECKING:
    from rookery.hook_setup.places import HookPlace
    from rookery.ports.settings import TrustStanding

_STANDINGS = {
    "installed": "installed",
    "absent": "not installed",
    "outdated": "outdated; renew it with:  rookery hooks install",
    "other": "not installed; another home of Rookery is",
}
_TRUSTED = {
    "trusted": "trusted",
    "untrusted": "not trusted yet. {next_step}",
    "changed": "not as it was trusted. {next_step}",
    "off": "switched off in {title}",
}


@click.group()
def hooks() -> None:
    """Know the agents that you start yourself: by hooks in their settings."""


@hooks.command()
@with_places(WITH_SETTINGS)
@click.option("--trust", is_flag=True, help="Tell Codex that you trust them; else it asks.")
@with_consent
def install(*, trust: bool, where: HookTarget, consent: Consent) -> None:
    """Add our hooks to the settings of agents; nothing else there is touched."""
    from rookery.cli import hook_changes  # noqa: PLC0415 - loads slowly
    from rookery.startup.manual_hooks import (  # noqa: PLC0415 - loads slowly
        write_hook_programs,
    )

    here = home()
    plan = hook_changes.plan_install(here, where, trust=trust)
    if not hook_changes.is_agreed(plan, consent):
        return
    here.prepare()
    write_hook_programs(here)
    hook_changes.carry_out(here, plan, consent)
    if not consent.as_json:
        _say_next({change.agent for change in plan.changes}, trusted=trust)


@hooks.command("uninstall")
@with_places(WITH_SETTINGS)
@with_consent
def uninstall_hooks(*, where: HookTarget, consent: Consent) -> None:
    """Take our hooks out of the settings of agents again."""
    from rookery.cli import hook_changes  # noqa: PLC0415 - loads slowly

    here = home()
    plan = hook_changes.plan_uninstall(here, where)
    if hook_changes.is_agreed(plan, consent):
        hook_changes.carry_out(here, plan, consent)


@hooks.command()
@with_places(WITH_SETTINGS)
@as_json
def status(*, where: HookTarget, as_json: bool) -> None:
    """Say for each agent whether our hooks are in its settings."""
    from rookery.cli import hook_changes  # noqa: PLC0415 - loads slowly

    found = hook_changes.find_states(home(), where)
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
                    for state in found
                ]
            }
        )
        return
    for state in found:
        trust = f", {_trust_text(state.place, state.trust)}" if state.trust else ""
        stands = _STANDINGS.get(state.standing or "", "cannot be read")
        say_line(f"{state.place.agent:8}  {state.file}  {stands}{trust}")
        if state.trouble:
            say(f"          {state.trouble}")


def _trust_text(place: HookPlace, trust: TrustStanding) -> str:
    """Return whether the agent's user trusts our hooks and, if not, what to do."""
    dialect = place.dialect
    next_step = dialect.trust.next_step if dialect.trust else ""
    return _TRUSTED[trust].format(title=dialect.title, next_step=next_step)


@click.command()
@with_consent
@pass_client
def uninstall(daemon: Client, *, consent: Consent) -> None:
    """Take out all that Rookery put anywhere outside its home, and say what stays."""
    from rookery.cli import hook_changes  # noqa: PLC0415 - loads slowly

    here, unit = home(), find_unit()
    plan = hook_changes.plan_uninstall_everywhere(here, WITH_SETTINGS)
    also = [f"To be removed: {unit}"] if unit else []
    if not hook_changes.is_agreed(plan, consent, also=also):
        return
    hook_changes.carry_out(here, plan, consent)
    removed = remove_unit(unit) if unit else ""
    if not consent.as_json:
        if removed:
            say(removed)
        _say_what_stays(daemon, here)


def _say_what_stays(daemon: Client, here: Home) -> None:
    mine = [each for each in (here.config, here.state, here.run) if each.exists()]
    folders = dict.fromkeys(each for each in mine if not set(each.parents) & set(mine))
    try:
        show_status(daemon)
    except (NotRunning, Answered):
        pass
    else:
        say("The daemon still runs; stop it with:  rookery down")
    if folders:
        say("What stays is its home, with all that it knows. To remove that, too:")
        say(f"  rm -r {shlex.join(map(str, folders))}")


def _say_next(agents: Collection[str], *, trusted: bool) -> None:
    from rookery.hook_setup import places  # noqa: PLC0415 - loads slowly

    for agent in sorted(agents):
        dialect = places.dialect_of(agent)
        asks = None if trusted else dialect.trust
        say(asks.next_step if asks else dialect.next_step)
