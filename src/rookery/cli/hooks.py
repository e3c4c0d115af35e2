"""The commands for hooks in agents' own settings: put in, taken out, and how they stand."""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from rookery.cli.exit_codes import FAILED
from rookery.cli.render import count, cut, plain, say, say_line, short, show_json, width_here
from rookery.cli.root import as_json, client, home, own_root, rookery
from rookery.cli.service import is_unit_of, unit_file
from rookery.home import Home
from rookery.model.errors import Answered, BadInput, NotRunning

AGENTS = ("claude", "codex", "gemini", "opencode")

#: Lines of a difference by which one sees what kind of change it is.
SHOWN = 12

_TRUST = 'Codex will ask at its next start: choose "Trust all and continue".'
_NEXT = {
    "claude": "Claude Code knows at once, also where it runs already.",
    "codex": "Codex knows at its next start.",
    "gemini": "Gemini knows at its next start.",
    "opencode": "OpenCode knows at its next start.",
}
_STANDINGS = {
    "installed": "installed",
    "absent": "not installed",
    "outdated": "outdated; renew it with:  rookery hooks install",
    "other": "not installed; another home of Rookery is",
}
_TRUSTED = {
    "trusted": "trusted",
    "untrusted": f"not trusted yet. {_TRUST}",
    "changed": f"not as it was trusted. {_TRUST}",
    "off": "switched off in Codex",
}


def _hook_setup(module: str) -> Any:  # noqa: ANN401 - a module
    # Only here: what reads settings would slow every other command down.
    return importlib.import_module(f"rookery.hook_setup.{module}")


@dataclass(frozen=True, slots=True)
class Where:
    """In whose settings, and in which of them."""

    agents: tuple[str, ...]
    user: bool
    project: str | None
    folders: tuple[str, ...]

    @property
    def is_one_place(self) -> bool:
        return bool(self.user or self.project or self.folders)


@dataclass(frozen=True, slots=True)
class Manner:
    """How it is agreed to, and shown."""

    yes: bool
    dry_run: bool
    diff: bool  #: all of what is changed is shown
    as_json: bool


def _with_places(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command be told where."""

    @click.option(
        "--agent",
        "agents",
        multiple=True,
        type=click.Choice(AGENTS),
        help="Of this agent; may be said again. Else of all that you have.",
    )
    @click.option("--user", is_flag=True, help="In your own settings; this is the default.")
    @click.option("--project", metavar="DIR", help="In those for a project, not shared.")
    @click.option(
        "--config-dir",
        "folders",
        multiple=True,
        metavar="DIR",
        help="In those of another home of the agent; may be said again.",
    )
    @wraps(command)
    def told(
        agents: tuple[str, ...],
        folders: tuple[str, ...],
        *,
        user: bool,
        project: str | None,
        **rest: object,
    ) -> None:
        command(where=Where(agents, user, project, folders), **rest)

    return told


def _with_manner(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command be agreed to beforehand, or only shown."""

    @click.option("--yes", "-y", is_flag=True, help="Do not ask.")
    @click.option("--dry-run", is_flag=True, help="Only show what would be changed.")
    @click.option("--diff", is_flag=True, help="Show all of it, not only how it begins.")
    @as_json
    @wraps(command)
    def told(*, yes: bool, dry_run: bool, diff: bool, as_json: bool, **rest: object) -> None:
        command(manner=Manner(yes, dry_run, diff, as_json), **rest)

    return told


@rookery.group()
def hooks() -> None:
    """Know the agents that you start yourself: by hooks in their settings."""


@hooks.command()
@_with_places
@click.option("--trust", is_flag=True, help="Tell Codex that you trust them; else it asks.")
@_with_manner
def install(*, trust: bool, where: Where, manner: Manner) -> None:
    """Add our hooks to the settings of agents; nothing else there is touched."""
    here, plans = home(), _hook_setup("plans")
    known = _hook_setup("record").load(here)
    plan = plans.install(here, known, _places(where), trust=trust)
    if not _agreed(plan, manner):
        return
    here.prepare()
    importlib.import_module("rookery.daemon").lay_hooks(here)
    _carry_out(here, plan, manner)
    if not manner.as_json:
        _say_next({change.agent for change in plan.changes}, trusted=trust)


@hooks.command("uninstall")
@_with_places
@_with_manner
def uninstall_hooks(*, where: Where, manner: Manner) -> None:
    """Take our hooks out of the settings of agents again."""
    here, plans = home(), _hook_setup("plans")
    known = _hook_setup("record").load(here)
    plan = plans.uninstall(here, known, _known_places(where, known))
    if _agreed(plan, manner):
        _carry_out(here, plan, manner)


@hooks.command()
@_with_places
@as_json
def status(*, where: Where, as_json: bool) -> None:
    """Say for each agent whether our hooks are in its settings."""
    here, plans = home(), _hook_setup("plans")
    known = _hook_setup("record").load(here)
    found = [plans.look(here, place) for place in _known_places(where, known)]
    if as_json:
        show_json({"hooks": [_as_json(state) for state in found]})
        return
    for state in found:
        trust = f", {_TRUSTED[state.trust]}" if state.trust else ""
        stands = _STANDINGS.get(state.standing, "cannot be read")
        say_line(f"{state.place.agent:8}  {state.file}  {stands}{trust}")
        if state.trouble:
            say(f"          {state.trouble}")


def _as_json(state: Any) -> dict[str, object]:  # noqa: ANN401 - of a module loaded late
    return {
        "agent": state.place.agent,
        "file": str(state.file),
        "project": state.place.is_project,
        "standing": state.standing or "unreadable",
        "trust": state.trust,
        "trouble": state.trouble,
    }


@rookery.command()
@_with_manner
def uninstall(*, manner: Manner) -> None:
    """Take out all that Rookery put anywhere outside its home, and say what stays."""
    here, plans = home(), _hook_setup("plans")
    known = _hook_setup("record").load(here)
    plan = plans.uninstall(here, known, _all_places(known))
    unit = _our_unit()
    if not _agreed(plan, manner, also=[f"To be removed: {unit}"] if unit else []):
        return
    _carry_out(here, plan, manner)
    if unit:
        unit.unlink()
    if not manner.as_json:
        if unit:
            say(f"Removed: {unit}. Type:  systemctl --user daemon-reload")
        _say_what_stays(here)


def _our_unit() -> Path | None:
    """Return the file by which systemd starts the daemon of this home, if it does."""
    file = unit_file()
    try:
        unit = file.read_text()
    except OSError:
        return None
    return file if is_unit_of(unit, own_root()) else None


def _say_what_stays(here: Home) -> None:
    mine = [each for each in (here.config, here.state, here.run) if each.exists()]
    folders = dict.fromkeys(each for each in mine if not set(each.parents) & set(mine))
    try:
        client().get("status")
    except (NotRunning, Answered):
        pass
    else:
        say("The daemon still runs; stop it with:  rookery down")
    if folders:
        say("What stays is its home, with all that it knows. To remove that, too:")
        say(f"  rm -r {shlex.join(map(str, folders))}")


def _places(where: Where) -> list[Any]:
    places = _hook_setup("places")
    if sum([where.user, bool(where.project), bool(where.folders)]) > 1:
        raise BadInput("say only one of --user, --project and --config-dir.")
    agents = where.agents or [each for each in _possible() if places.is_used(each, os.environ)]
    if not agents:
        raise BadInput("no agent was found here; name one:  --agent claude")
    _check(agents)
    if where.folders:
        if len(agents) > 1 or not where.agents:
            raise BadInput("say whose --config-dir that is:  --agent claude")
        return [places.of_folder(agents[0], Path(each)) for each in where.folders]
    if where.project:
        folder = Path(where.project)
        if not folder.is_dir():
            raise BadInput(f"there is no folder {folder}")
        return [places.of_project(each, folder, os.environ) for each in agents]
    return [places.of_user(each, os.environ) for each in agents]


def _check(agents: Collection[str]) -> None:
    for each in set(agents) - set(_possible()):
        raise BadInput(f"there are no hooks for {each} yet.")


def _known_places(where: Where, known: Any) -> list[Any]:  # noqa: ANN401 - the same
    """Return the places that were said; or all in which the agents may have hooks of ours."""
    _check(where.agents)
    if where.is_one_place:
        return _places(where)
    agents = where.agents or AGENTS
    return [place for place in _all_places(known) if place.agent in agents]


def _all_places(known: Any) -> list[Any]:  # noqa: ANN401 - of a module loaded late
    """Return each agent's usual place, and wherever else we have been."""
    usual = [_hook_setup("places").of_user(each, os.environ) for each in _possible()]
    return list(dict.fromkeys([*usual, *known.places()]))


def _possible() -> list[str]:
    return [each for each in AGENTS if _hook_setup("plans").is_possible(each)]


def _agreed(plan: Any, manner: Manner, *, also: Sequence[str] = ()) -> bool:  # noqa: ANN401
    """Show what is to be changed, and have it agreed to. False if it is only shown."""
    remarks = [*plan.remarks, *also]
    if not manner.as_json:
        _show(plan.changes, remarks, whole=manner.diff)
    elif manner.dry_run:
        show_json(_changes([(change, None) for change in plan.changes], remarks))
    if manner.dry_run:
        return False
    if plan.changes or also:
        _ask(manner)
    return True


def _show(changes: Sequence[Any], remarks: Sequence[str], *, whole: bool) -> None:
    for change in changes:
        say(f"{short(str(change.file))}: {_hooks_of(change, 'to be ') or 'to be changed'}")
        if change.link:
            say_line(f"It is a link; what is changed is {change.link}")
        say(change.difference.rstrip("\n") if whole else _beginning(change))
    for remark in remarks:
        say(remark)
    if not changes and not remarks:
        say("Nothing is to be changed.")


def _hooks_of(change: Any, to_be: str = "") -> str:  # noqa: ANN401 - of a module loaded late
    """Say how many hooks come into a file, or go; nothing if that is not what changes."""
    done = "added" if change.hooks > 0 else "taken out"
    return f"{count(abs(change.hooks), 'hook')} {to_be}{done}" if change.hooks else ""


def _beginning(change: Any) -> str:  # noqa: ANN401 - the same
    """Show what changes first, in lines that fit; and say that there is more, if so."""
    lines = change.with_context(1).rstrip("\n").split("\n")
    names, first = lines[:2], lines[2:SHOWN]
    shown = [*names, *(cut(plain(line), width_here()) for line in first)]
    if left := len(lines) - len(shown):
        shown.append(f"… and {count(left, 'line')} more; all of it with:  --diff")
    elif shown != lines:
        shown.append("… where a line is cut, all of it with:  --diff")
    return "\n".join(shown)


def _ask(manner: Manner) -> None:
    """Go on only if the user wants it so."""
    if manner.yes:
        return
    if manner.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("nothing was changed; if it is all right, say:  --yes")
    if not click.confirm("Change it so?"):
        say("Nothing was changed.")
        sys.exit(FAILED)


def _carry_out(here: Home, plan: Any, manner: Manner) -> None:  # noqa: ANN401 - the same
    applied = _hook_setup("apply").apply_plan(here, plan) if plan.changes else []
    if manner.as_json:
        show_json(_changes([(each.change, each.backup) for each in applied], plan.remarks))
        return
    for each in applied:
        what = ", ".join(filter(None, [str(each.change.file), _hooks_of(each.change)]))
        if each.change.before is None:
            say(f"Made: {what}")
        else:
            done = "Removed" if each.change.after is None else "Changed"
            say(f"{done}: {what}; as it was, it is kept in {each.backup}")


def _changes(
    changes: Sequence[tuple[Any, Path | None]], remarks: Sequence[str]
) -> dict[str, object]:
    told = [
        {
            "agent": change.agent,
            "file": str(change.file),
            "difference": change.difference,
            "backup": str(backup) if backup else None,
        }
        for change, backup in changes
    ]
    return {"changes": told, "remarks": list(remarks)}


def _say_next(agents: Collection[str], *, trusted: bool) -> None:
    for agent in sorted(agents):
        say(_TRUST if agent == "codex" and not trusted else _NEXT[agent])
