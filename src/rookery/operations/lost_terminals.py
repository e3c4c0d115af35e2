"""Find the sessions whose program still runs although its terminal is gone."""

from __future__ import annotations

from rookery.doctor.checks import Check
from rookery.model.errors import RuntimeFailed
from rookery.model.lifecycle import Status
from rookery.model.sessions import Session
from rookery.operations.context import Context
from rookery.store import sessions


async def without_terminal(context: Context) -> list[Session]:
    """Return the running sessions that were started in a pane that no longer exists."""
    try:
        panes = await context.runtime.find()
    except RuntimeFailed:
        return []  # tmux cannot be reached, which proves nothing about its panes
    live = await context.database.read(sessions.live)
    return [
        each
        for each in live
        if each.is_ours
        and each.has_terminal
        and each.status is Status.RUNNING
        and each.held_as not in panes
    ]


async def check(context: Context) -> Check:
    """Return the doctor's check: which agents have no terminal, and how to end them."""
    names = tuple(each.name for each in await without_terminal(context))
    if not names:
        return Check("terminals", ok=True, detail="each running agent has its pane")
    detail = "these run on, but their panes are gone: no key reaches them"
    return Check("terminals", ok=False, detail=detail, advice="rookery end NAME", items=names)
