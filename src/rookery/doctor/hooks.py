"""Check the hooks: without them no rule applies."""

from __future__ import annotations

from collections.abc import Mapping

from rookery.doctor.checks import Check
from rookery.home import Home
from rookery.hook_setup.problems import find_hooks_problem
from rookery.presentation.texts import count
from rookery.programs.hook import verified

#: The checks of what a daemon writes when it is started for the first time.
UNWRITTEN = tuple(
    Check(name, ok=None, detail="they are written at the first start")
    for name in ("hook programs", "offline answers")
)


def hook_switches(off: Mapping[str, str]) -> Check:
    """Return the check of sessions whose hooks are switched off, with the files that do it."""
    items = tuple(f"{name}: hooks are switched off by {file}" for name, file in off.items())
    sessions = count(len(items), "session")
    detail = f"{sessions} whose project switches hooks off: no rule applies to them"
    if not items:
        return Check("hook switches", ok=True, detail="no project switches hooks off")
    advice = "remove the setting, then start the agent again"
    return Check("hook switches", ok=False, detail=detail, advice=advice, items=items)


def missing_hooks(warnings: Mapping[str, str]) -> Check:
    """Return the check of sessions whose agent's hooks are not installed."""
    items = tuple(f"{name}: {warning}" for name, warning in warnings.items())
    detail = f"{count(len(items), 'session')} without installed hooks: no rule applies to them"
    if not items:
        return Check("missing hooks", ok=True, detail="no session lacks hooks")
    return Check("missing hooks", ok=False, detail=detail, items=items)


def check_hook_programs(home: Home) -> Check:
    """Check whether the programs that agents run as hooks are unchanged."""
    problem = find_hooks_problem(home)
    return Check("hook programs", ok=not problem, detail=problem or "they are unchanged")


def check_offline_answers(home: Home) -> Check:
    """Check whether hooks know what to answer while no daemon runs."""
    name = "offline answers"
    try:
        verified(home.offline_answers.read_bytes())
    except (OSError, ValueError):
        detail = f"{home.offline_answers} is missing or damaged: without a daemon, agents ask"
        return Check(
            name, ok=False, detail=f"{detail} about every call, or deny it", advice="rookery up"
        )
    return Check(name, ok=True, detail=f"{home.offline_answers} is complete")
