"""Check the configuration and the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rookery.config import Settings, check_agents, load
from rookery.doctor.checks import Check
from rookery.home import Home
from rookery.model.errors import AgentUnknown, ConfigBroken
from rookery.permissions.rules_file import RulesFile, read

#: The commands after which a changed configuration is used.
RESTART = "rookery down; rookery up -d"

#: Changed settings that are named.
MAX_NAMED_KEYS = 5


def check_config(home: Home) -> Check:
    try:
        check_agents(load(home.settings))
    except (ConfigBroken, AgentUnknown) as error:
        return Check("config", ok=False, detail=str(error))
    is_there = home.settings.exists()
    detail = f"{home.settings} is valid" if is_there else "there is no file: defaults apply"
    return Check("config", ok=True, detail=detail)


def check_next_config(home: Home, used: Settings) -> Check:
    """Check the configuration file of a running daemon, which has read an earlier version."""
    if not (check := check_config(home)).ok:
        detail = f"{check.detail} The daemon uses what it read before; it cannot restart."
        return replace(check, detail=detail, advice="rookery config check")
    if keys := changed_keys(used, load(home.settings)):
        detail = f"{home.settings} has changed since the daemon started: {_listed(keys)}"
        return Check("config", ok=False, detail=detail, advice=RESTART)
    return check


def change_note(name: str, used: Settings, now: Settings) -> str:
    """Return which settings of a file have changed, and what to do; empty if none have."""
    keys = changed_keys(used, now)
    changed = f"{name} has changed since the daemon started: {_listed(keys)}."
    return f"{changed} To use it:  {RESTART}" if keys else ""


def changed_keys(before: Settings, after: Settings) -> list[str]:
    """Return the names of the settings that differ; their values may be secret.

    A new section also has settings with defaults, which are left out.
    """
    old, new = (dict(_flat(each.model_dump(mode="json"))) for each in (before, after))
    differing = {key for key in {*old, *new} if old.get(key) != new.get(key)}
    return sorted(differing & {*_given(before), *_given(after)} or differing)


def _given(settings: Settings) -> Iterator[str]:
    """Yield the names of the settings that a file sets, without those at their defaults."""
    for name, _ in _flat(settings.model_dump(mode="json", exclude_unset=True)):
        yield name


def _flat(settings: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _listed(keys: Sequence[str]) -> str:
    more = len(keys) - MAX_NAMED_KEYS
    rest = f" and {more} more" if more > 0 else ""
    return ", ".join(keys[:MAX_NAMED_KEYS]) + rest


def rules_in_force(book: RulesFile) -> Check:
    """Return the check of the rules that the daemon uses, which may differ from the file."""
    if book.problem:
        return Check("rules", ok=False, detail=book.problem)
    detail = f"{len(book.rules)} of {book.path} in force" if book.rules else "there are none"
    return Check("rules", ok=True, detail=detail)


def check_rules(home: Home) -> Check:
    """Check the rules file while no daemon can report which rules are in force."""
    try:
        version = read(home.rules)
    except ConfigBroken as error:
        return Check("rules", ok=False, detail=" ".join(map(str, error.args)))
    detail = f"{len(version.rules)} in {home.rules}" if version else "there are none"
    return Check("rules", ok=True, detail=detail)
