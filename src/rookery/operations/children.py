"""Limit what a session may start: how many, how deep, where, and in which mode."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from sqlite3 import Connection

from rookery.model.autonomy import HeldMode, mode_within
from rookery.model.confusables import looks_like
from rookery.model.errors import Forbidden, LimitReached, NameTaken, RateExceeded
from rookery.model.scopes import DEEPEST, MOST_CHILDREN
from rookery.model.sessions import ACP, Session
from rookery.operations.context import Caller, Context
from rookery.sessions.profiles import find_profile, is_plain
from rookery.sessions.start_plans import Driving, StartPlan
from rookery.store import senders, session_families, sessions

MINUTE = timedelta(minutes=1)

#: Parts of a dollar in which budgets are counted.
MICRO = 1_000_000


def as_child(db: Connection, context: Context, caller: Caller, plan: StartPlan) -> StartPlan:
    """Return a plan with the restrictions of the session that asks for it.

    A person's plan is returned unchanged. Raises ``LimitReached``, ``RateExceeded`` or
    ``Forbidden``.
    """
    if caller.identity.session is None:
        return plan
    parent = sessions.get(db, caller.identity.session)
    _check_numbers(db, context, parent)
    _check_folder(context, parent, plan.project)
    _check_name(db, plan.start.name)
    _check_profile(context, parent, plan.start.profile)
    _check_runtime(context, parent, plan)
    mode = mode_within(_mode_of(db, context, parent), _requested_mode(plan))
    driving = _driving_within(context, parent, plan.start.driving)
    return replace(plan, start=replace(plan.start, permission_mode=mode, driving=driving))


def configured_runtime(context: Context, agent: str) -> str:
    """Return the runtime of an agent's sessions if a start does not choose one."""
    known = context.agents.get(agent)
    if known and known.is_driven_only:
        return next(iter(known.driven))
    return context.settings.agent(agent).runtime


def _check_runtime(context: Context, parent: Session, plan: StartPlan) -> None:
    """Refuse ACP, unless the owner has configured it, or the parent itself is driven over it.

    In all other runtimes hooks report every call. Over ACP rules apply to what an agent asks
    about, so that a child could do unasked what a rule denies its parent.
    """
    name = plan.agent.name
    usual = configured_runtime(context, name)
    if plan.start.runtime != ACP or ACP in {usual, parent.runtime}:
        return
    raise Forbidden(
        f"a session may not start {name} over ACP, where rules apply only to what the agent"
        f" asks about. Use the runtime {usual}. The owner may allow it:  runtime = {ACP!r}  in"
        f" [agents.{name}] of the configuration."
    )


def _driving_within(context: Context, parent: Session, driving: Driving) -> Driving:
    """Limit a child's budget to its parent's; to the usual one if the parent has none."""
    if driving.budget is None:
        return driving
    usual = round(context.settings.limits.budget_usd * MICRO)
    most = usual if parent.budget is None else parent.budget
    return replace(driving, budget=min(driving.budget, most))


def _check_numbers(db: Connection, context: Context, parent: Session) -> None:
    if len(session_families.ancestors(db, parent.id)) + 1 > DEEPEST:
        raise LimitReached(f"{DEEPEST} generations.")
    children = session_families.descendants(db, parent.id)
    if sum(not sessions.get(db, each).status.is_over for each in children) >= MOST_CHILDREN:
        raise LimitReached(f"{MOST_CHILDREN} descendants of one session.")
    limit = context.settings.limits.starts_a_minute
    since = context.journal.clock.now() - MINUTE
    if session_families.count_started(db, parent.id, since=since) >= limit:
        raise RateExceeded(f"a session may start at most {limit} others a minute.")


def _check_folder(context: Context, parent: Session, folder: Path) -> None:
    """Keep a child in its parent's project: the parent is not trusted elsewhere."""
    if context.settings.trust.projects == "any":
        return
    parent_folder = Path(parent.project_path) if parent.project_path else None
    if parent_folder is None or not folder.is_relative_to(parent_folder):
        where = (
            f"{parent_folder} or below"
            if parent_folder
            else "a project, and this session has none"
        )
        raise Forbidden(f"a session may start others in its own project only: {where}.")


def _check_profile(context: Context, parent: Session, name: str) -> None:
    """Refuse a profile that may be freer than the parent, unless it is the parent's own."""
    if name in {"", parent.profile} or is_plain(find_profile(context.settings, name)):
        return
    profiles = context.settings.profiles
    allowed = sorted(each for each, profile in profiles.items() if is_plain(profile))
    raise Forbidden(
        f"a session may not start the profile {name!r}, which sets a command, arguments, an"
        f" environment or a configuration folder. It may start: {', '.join(allowed) or 'none'}."
    )


def _check_name(db: Connection, name: str) -> None:
    """Refuse a name that can be mistaken for a live session's. Raises ``NameTaken``."""
    if name and any(looks_like(name, each.name) for each in sessions.live(db)):
        raise NameTaken(f"{name!r}, or one that looks like it. Choose another.")


def _mode_of(db: Connection, context: Context, session: Session) -> HeldMode:
    agent = context.agents.get(session.agent)
    modes = agent.modes if agent else {}
    present = senders.get(db, session.id).present_mode
    return HeldMode(session.agent, session.permission_mode, modes, present)


def _requested_mode(plan: StartPlan) -> HeldMode:
    return HeldMode(plan.agent.name, plan.start.permission_mode, plan.agent.modes)
