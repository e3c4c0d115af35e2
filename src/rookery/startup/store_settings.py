"""Prepare the store for a new daemon: its settings, and what the last one left."""

from __future__ import annotations

from functools import partial

from rookery.config import Settings
from rookery.startup.readers import READERS
from rookery.store import flags, message_limits, notifications, session_families
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.listeners import forget_all


async def prepare(settings: Settings, database: Database) -> Journal:
    """Write the settings to the store, and wait until the journal's readers have caught up."""
    journal = Journal(settings.computer, database.clock, READERS)
    stored = message_limits.StoredLimits(
        queued_messages=settings.limits.queued_messages,
        queued_bytes=settings.limits.queued_kb * 1_000,
        headless_sessions=settings.limits.headless_sessions,
    )
    await database.write(partial(message_limits.put, limits=stored))
    trusts_all = settings.trust.sessions == "all"
    await database.write(partial(session_families.trust_all, on=trusts_all))
    channels = partial(
        notifications.put_channels, kinds=settings.notifications.kinds, at=database.clock.now()
    )
    await database.write(channels)
    tell = settings.workspaces.tell_agents
    await database.write(partial(flags.tell_agents_of_overlaps, on=tell))
    await journal.catch_up(database)
    if not settings.listeners.survive_restart:
        await database.write(forget_all)
    may = settings.permissions.parents_may_answer
    await database.write(partial(flags.let_parents_answer, on=may))
    return journal
