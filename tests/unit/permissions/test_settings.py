"""Each setting reaches the part of the daemon that obeys it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from rookery import config
from rookery.agents.catalog import AGENTS
from rookery.clock import WallClock
from rookery.coordination.listener_deadlines import ListenerDeadlines
from rookery.home import find_home
from rookery.hook_setup.programs import HookPrograms
from rookery.model import relays
from rookery.operations.outcome_listeners import limits_of
from rookery.permissions.decisions import Permissions
from rookery.permissions.offline_answers import OfflineAnswers
from rookery.permissions.stop_policy import StopPolicy
from rookery.runtimes.tmux.observed import ObservedRuntime
from rookery.runtimes.tmux.runtime import TmuxRuntime
from rookery.sessions.expiry import ExpirySpans
from rookery.sessions.supervisor import Deadlines, Supervisor
from rookery.startup import store_settings
from rookery.startup.components import Parts
from rookery.store import message_limits
from rookery.store.journal import Journal
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import FakeRuntime
from tests.support.operations import Desk

# What some parts keep is private.
# ruff: noqa: SLF001

pytestmark = pytest.mark.anyio

#: Every number is another one, and none is a default.
CONFIGURATION = """
[limits]
driven_sessions = 28
driven_idle_minutes = 29
silence_seconds = 30
start_deadline = 11
queued_messages = 12
queued_kb = 13
headless_sessions = 14
inactive_hours = 15
kept_sessions = 16
retention_days = 17
scrollback_lines = 180
live_ring_kb = 19
quit_seconds = 20
terminate_seconds = 21
typing_seconds = 22

[permissions]
deadline_seconds = 23
on_timeout = "deny"
when_away = "pass"

[stops]
policy = "retry"
retries = 4
pattern = "oops"

[listeners]
check_seconds = 24
stale_minutes = 25

[relays]
max_hops = 26
max_a_minute = 27
max_characters = 280
"""

#: Settings that are read where they are obeyed, and proved in the tests of those parts.
READ_IN_PLACE = {
    *("limits.tmux_sessions", "limits.starts_a_minute", "limits.listed_hours"),
    "limits.output_blocks",
    "limits.budget_usd",
    *("permissions.parents_may_answer", "listeners.survive_restart"),
}

#: Settings of earlier versions, which are accepted and have no effect.
DEPRECATED = {"limits.live_ring_kb"}


@dataclass(frozen=True)
class Reached:
    """Where settings can arrive."""

    built: Parts
    journal: Journal
    kept: message_limits.StoredLimits  #: in the store
    talk: relays.RelayLimits
    database: ObservedDatabase


@pytest.fixture
async def parts(database: ObservedDatabase, journal: Journal, tmp_path: Path) -> Reached:
    home = find_home({"ROOKERY_HOME": str(tmp_path / "home")})
    home.prepare()
    home.settings.write_text(CONFIGURATION)
    settings = config.load(home.settings)
    await store_settings.prepare(settings, database)
    talk = limits_of(Desk(database, journal, settings).context)
    kept = await database.read(message_limits.get)
    return Reached(Parts(home, settings, {}), journal, kept, talk, database)


def tmux(parts: Reached) -> TmuxRuntime:
    return parts.built.runtimes(WallClock()).own


def observed(parts: Reached) -> ObservedRuntime:
    return parts.built.runtimes(WallClock()).observed


def supervisor(parts: Reached) -> Supervisor:
    programs = HookPrograms(parts.built.home, AGENTS)
    runtime = FakeRuntime()
    return parts.built.supervisor(parts.database, parts.journal, runtime, programs)


def deadlines(parts: Reached) -> Deadlines:
    return supervisor(parts).deadlines


def spans(parts: Reached) -> ExpirySpans:
    return parts.built.expiry_spans()


def listeners(parts: Reached) -> ListenerDeadlines:
    return parts.built.listeners(parts.journal)


def permissions(parts: Reached) -> Permissions:
    return parts.built.permissions(parts.journal)


def stops(parts: Reached) -> StopPolicy:
    return parts.built.stop_policy(parts.journal)


def offline_answers(parts: Reached) -> OfflineAnswers:
    return parts.built.offline_answers(permissions(parts).rules_file)


#: What a setting must lead to, and where.
REACHED: dict[str, tuple[Callable[[Reached], object], object]] = {
    "limits.start_deadline": (lambda parts: deadlines(parts).start, 11),
    "limits.driven_sessions": (lambda parts: supervisor(parts).driven_limit, 28),
    "limits.driven_idle_minutes": (
        lambda parts: spans(parts).driven_idle,
        timedelta(minutes=29),
    ),
    "limits.silence_seconds": (
        lambda parts: parts.built.runtimes(WallClock()).driven.silence_seconds,
        30,
    ),
    "limits.queued_messages": (lambda parts: parts.kept.queued_messages, 12),
    "limits.queued_kb": (lambda parts: parts.kept.queued_bytes, 13_000),
    "limits.headless_sessions": (lambda parts: parts.kept.headless_sessions, 14),
    "limits.inactive_hours": (lambda parts: spans(parts).inactive, timedelta(hours=15)),
    "limits.kept_sessions": (lambda parts: spans(parts).kept_sessions, 16),
    "limits.retention_days": (lambda parts: spans(parts).retention, timedelta(days=17)),
    "limits.scrollback_lines": (lambda parts: tmux(parts).server.site.lines, 180),
    "limits.quit_seconds": (lambda parts: deadlines(parts).quit, 20),
    "limits.terminate_seconds": (lambda parts: deadlines(parts).terminate, 21),
    "limits.typing_seconds": (
        lambda parts: (tmux(parts)._typing, observed(parts)._typing),
        (22, 22),
    ),
    "permissions.deadline_seconds": (
        lambda parts: {permissions(parts).deadline, stops(parts).deadline},
        {timedelta(seconds=23)},
    ),
    "permissions.on_timeout": (lambda parts: permissions(parts).on_timeout, "deny"),
    "permissions.when_away": (lambda parts: offline_answers(parts).when_away, "pass"),
    "stops.policy": (lambda parts: stops(parts).policy, "retry"),
    "stops.retries": (lambda parts: stops(parts).retries, 4),
    "stops.pattern": (lambda parts: stops(parts).pattern, "oops"),
    "listeners.check_seconds": (
        lambda parts: listeners(parts).check,
        timedelta(seconds=24),
    ),
    "listeners.stale_minutes": (lambda parts: listeners(parts).stale, timedelta(minutes=25)),
    "relays.max_hops": (lambda parts: parts.talk.hops, 26),
    "relays.max_a_minute": (lambda parts: parts.talk.a_minute, 27),
    "relays.max_characters": (lambda parts: parts.talk.length, 280),
}


@pytest.mark.parametrize("key", REACHED)
async def test_a_setting_reaches_the_part_that_obeys_it(parts: Reached, key: str) -> None:
    found, expected = REACHED[key]

    assert found(parts) == expected


def test_no_setting_of_these_sections_is_left_out() -> None:
    sections: dict[str, type[BaseModel]] = {
        "limits": config.LimitSettings,
        "permissions": config.PermissionSettings,
        "stops": config.StopSettings,
        "listeners": config.ListenerSettings,
        "relays": config.RelaySettings,
    }

    every = {f"{name}.{key}" for name, of in sections.items() for key in of.model_fields}

    assert every == {*REACHED, *READ_IN_PLACE, *DEPRECATED}
