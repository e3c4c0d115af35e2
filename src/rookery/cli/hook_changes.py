"""Plan, show and make changes to the settings of agents.

Commands import this module only when they run: it loads the modules that read and write
settings.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from rookery.cli.exit_codes import FAILED
from rookery.cli.hook_options import Consent, HookTarget
from rookery.cli.render import say, say_line, short, show_json
from rookery.cli.tables import width_here
from rookery.home import Home
from rookery.hook_setup import plans, record, settings_folders
from rookery.hook_setup.apply import apply_plan, write_programs
from rookery.hook_setup.files import Change
from rookery.hook_setup.plans import HookState, SetupPlan
from rookery.hook_setup.record import InstallRecord
from rookery.hook_setup.settings_folders import HookPlace
from rookery.model.errors import BadInput
from rookery.presentation.cells import cut
from rookery.presentation.texts import count, plain

#: Maximum lines of a diff that are shown without --diff.
SHOWN_DIFF_LINES = 12

_STANDINGS = {
    "installed": "installed",
    "absent": "not installed",
    "outdated": "outdated; update with:  rookery hooks install",
    "other": "not installed; hooks of another home of Rookery are",
}
_TRUSTED = {
    "trusted": "trusted",
    "untrusted": "not trusted yet. {next_step}",
    "changed": "changed since it was trusted. {next_step}",
    "off": "disabled in {title}",
}


def plan_install(here: Home, where: HookTarget, *, trust: bool) -> SetupPlan:
    return plans.install(here, record.load(here), chosen_places(where), trust=trust)


def plan_uninstall(here: Home, where: HookTarget) -> SetupPlan:
    installed = record.load(here)
    return plans.uninstall(here, installed, known_places(where, installed))


def plan_uninstall_everywhere(here: Home, supported: Sequence[str]) -> SetupPlan:
    installed = record.load(here)
    return plans.uninstall(here, installed, all_places(installed, supported))


def find_states(here: Home, where: HookTarget) -> list[HookState]:
    """Return the state of Rookery's hooks in each place."""
    return [plans.look(here, place) for place in known_places(where, record.load(here))]


def state_text(state: HookState) -> str:
    """Return the state of Rookery's hooks as text and, where one is needed, the next step."""
    stands = _STANDINGS.get(state.standing or "", "cannot be read")
    if not state.trust:
        return stands
    dialect = state.place.dialect
    next_step = dialect.trust.next_step if dialect.trust else ""
    trust = _TRUSTED[state.trust].format(title=dialect.title, next_step=next_step)
    return f"{stands}, {trust}"


def chosen_places(where: HookTarget) -> list[HookPlace]:
    if sum([where.user, bool(where.project), bool(where.folders)]) > 1:
        raise BadInput("use only one of --user, --project and --config-dir.")
    agents = where.agents or [
        each
        for each in where.supported
        if settings_folders.is_used(each, os.environ)
        and (not where.project or settings_folders.has_project_settings(each))
    ]
    if not agents:
        raise BadInput("no agent was found here; name one:  --agent claude")
    if where.folders:
        if len(agents) > 1 or not where.agents:
            raise BadInput("name the agent of the --config-dir:  --agent claude")
        return [settings_folders.of_folder(agents[0], Path(each)) for each in where.folders]
    if where.project:
        folder = Path(where.project)
        if not folder.is_dir():
            raise BadInput(f"there is no folder {folder}")
        return [settings_folders.of_project(each, folder, os.environ) for each in agents]
    return [settings_folders.of_user(each, os.environ) for each in agents]


def known_places(where: HookTarget, installed: InstallRecord) -> list[HookPlace]:
    """Return the places that the user named, or all that may contain Rookery's hooks."""
    if where.is_one_place:
        return chosen_places(where)
    agents = where.agents or where.supported
    return [place for place in all_places(installed, where.supported) if place.agent in agents]


def all_places(installed: InstallRecord, supported: Sequence[str]) -> list[HookPlace]:
    """Return each agent's default place and all other places with installed hooks."""
    usual = [settings_folders.of_user(each, os.environ) for each in supported]
    return list(dict.fromkeys([*usual, *installed.places()]))


def is_agreed(plan: SetupPlan, consent: Consent, *, also: Sequence[str] = ()) -> bool:
    """Show the planned changes; exit unless the user agrees. Returns False for a dry run."""
    remarks = [*plan.remarks, *also]
    if not consent.as_json:
        _show(plan.changes, remarks, whole=consent.diff)
    elif consent.dry_run:
        show_json(_changes([(change, None) for change in plan.changes], remarks))
    if consent.dry_run:
        return False
    if plan.changes or also:
        _ask(consent)
    return True


def _show(changes: Sequence[Change], remarks: Sequence[str], *, whole: bool) -> None:
    for change in changes:
        say(f"{short(str(change.file))}: {_hooks_of(change, 'to be ') or 'to be changed'}")
        if change.link:
            say_line(f"It is a link; the changed file is {change.link}")
        say(change.difference.rstrip("\n") if whole else _beginning(change))
    for remark in remarks:
        say(remark)
    if not changes and not remarks:
        say("Nothing needs to be changed.")


def _hooks_of(change: Change, to_be: str = "") -> str:
    """Return how many hooks a change adds or removes, as text; empty if none."""
    done = "added" if change.hooks > 0 else "taken out"
    return f"{count(abs(change.hooks), 'hook')} {to_be}{done}" if change.hooks else ""


def _beginning(change: Change) -> str:
    """Return the first changed lines, cut to the terminal, and whether there are more."""
    lines = change.with_context(1).rstrip("\n").split("\n")
    names, first = lines[:2], lines[2:SHOWN_DIFF_LINES]
    shown = [*names, *(cut(plain(line), width_here()) for line in first)]
    if hidden := len(lines) - len(shown):
        shown.append(f"… and {count(hidden, 'line')} more; show all with:  --diff")
    elif shown != lines:
        shown.append("… show whole lines with:  --diff")
    return "\n".join(shown)


def _ask(consent: Consent) -> None:
    """Exit unless the user agrees."""
    if consent.yes:
        return
    if consent.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("nothing was changed. To confirm, use:  --yes")
    if not click.confirm("Apply these changes?"):
        say("Nothing was changed.")
        sys.exit(FAILED)


def install(here: Home, plan: SetupPlan, consent: Consent, *, trusted: bool) -> None:
    """Write the hook programs, change the files as planned, and print what comes next."""
    here.prepare()
    write_programs(here)
    carry_out(here, plan, consent)
    if not consent.as_json:
        for agent in sorted({change.agent for change in plan.changes}):
            dialect = settings_folders.dialect_of(agent)
            asks = None if trusted else dialect.trust
            say(asks.next_step if asks else dialect.takes_effect)


def carry_out(here: Home, plan: SetupPlan, consent: Consent) -> None:
    """Change the files as planned and print what was done."""
    done = apply_plan(here, plan) if plan.changes else []
    if consent.as_json:
        show_json(_changes([(each.change, each.backup) for each in done], plan.remarks))
        return
    for each in done:
        description = ", ".join(filter(None, [str(each.change.file), _hooks_of(each.change)]))
        if each.change.before is None:
            say(f"Made: {description}")
        else:
            verb = "Removed" if each.change.after is None else "Changed"
            say(f"{verb}: {description}; the previous version is kept in {each.backup}")


def _changes(
    changes: Sequence[tuple[Change, Path | None]], remarks: Sequence[str]
) -> dict[str, object]:
    described = [
        {
            "agent": change.agent,
            "file": str(change.file),
            "difference": change.difference,
            "backup": str(backup) if backup else None,
        }
        for change, backup in changes
    ]
    return {"changes": described, "remarks": list(remarks)}
