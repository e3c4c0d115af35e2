"""Check the configuration and the rules."""

from __future__ import annotations

from dataclasses import replace

from rookery.config import Settings, check_agents, load
from rookery.doctor.checks import Check
from rookery.home import Home
from rookery.model.errors import AgentUnknown, ConfigBroken
from rookery.permissions.rules_file import RulesFile, read

#: The commands after which a changed configuration is used.
RESTART = "rookery down; rookery up -d"


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
    if load(home.settings) != used:
        detail = f"{home.settings} has changed since the daemon started"
        return Check("config", ok=False, detail=detail, advice=RESTART)
    return check


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
        return Check("rules", ok=False, detail=str(error))
    detail = f"{len(version.rules)} in {home.rules}" if version else "there are none"
    return Check("rules", ok=True, detail=detail)
