"""Composition root: builds the daemon, recovers its sessions and runs it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import anyio
import uvloop
from anyio.abc import TaskGroup

from rookery import __version__, supervise
from rookery.agents.catalog import AGENTS
from rookery.api.hook_socket import HookSocket
from rookery.api.own_sockets import OwnSocket
from rookery.api.servers import opened
from rookery.clock import WallClock
from rookery.config import check_agents, load
from rookery.delivery.message_deadlines import MessageDeadlines
from rookery.environment import Login, ask_login_shell
from rookery.home import Home
from rookery.hook_setup.programs import HookPrograms
from rookery.logs import logged, warned
from rookery.operations.context import Context
from rookery.permissions.offline_answers import STEP
from rookery.private_files import make_room
from rookery.runtimes.driven.runtime import DrivenRuntime
from rookery.runtimes.tmux.server import version_of
from rookery.sessions.recovery import SessionRecovery
from rookery.sessions.supervisor import Supervisor
from rookery.sessions.unknown_driven_sessions import end_unknown_sessions
from rookery.startup import store_settings
from rookery.startup.components import USUAL_FACTORIES, Factories, Parts, Runtimes
from rookery.startup.fatal_errors import FATAL, user_error
from rookery.startup.loops import start_loops
from rookery.startup.owner_token import ensure_owner_token

_log = logging.getLogger(__name__)

#: Seconds at shutdown to remove the panes of ended sessions, and for tmux to end.
CLEANUP_TIMEOUT_S = 2.0

#: Seconds that a start waits for the spool to drain; then the API opens meanwhile.
SPOOL_GRACE_S = 1.0

#: Seconds that the API waits for the recovery of all sessions, which needs tmux.
BEGIN_GRACE_S = 15.0

#: Seconds before Python switches threads: the writer's work is many short steps.
THREAD_SWITCH_SECONDS = 0.0005


def run(
    home: Home,
    *,
    ready: Callable[[], None],
    login: Login | None = None,
    factories: Factories = USUAL_FACTORIES,
) -> None:
    """Run the daemon of this home until it is stopped; call ``ready`` once it is up.

    ``login`` is a login shell that was started earlier, while this module loads.
    """
    os.umask(0o077)
    home.prepare()
    for each in (home.door, home.hook_door):
        make_room(each)
    settings = load(home.settings)
    check_agents(settings)
    version_of("tmux")
    try:
        with home.locked(), logged(home.log), warned(sys.stderr) as is_started:
            sys.setswitchinterval(THREAD_SWITCH_SECONDS)
            _allow_many_files()

            def begin() -> None:
                is_started()
                ready()

            parts = Parts(home, settings, {}, factories)
            uvloop.run(_serve(parts, login or ask_login_shell(os.environ), ready=begin))
    except FATAL as error:
        raise user_error(error, home) from error


def _allow_many_files() -> None:
    """Raise the limit of open files to the maximum: each pane and each caller needs one."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))


async def _serve(parts: Parts, login: Login, *, ready: Callable[[], None]) -> None:
    """Run the daemon and its API until a signal or a command stops it."""
    stop, is_up, whole = asyncio.Event(), asyncio.Event(), anyio.CancelScope()

    def end() -> None:
        stop.set()
        if not is_up.is_set():  # it may wait for a tmux that does not answer
            whole.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    parts = replace(parts, login=await asyncio.to_thread(login))
    with whole:
        async with running(parts, stop=stop.set) as context, opened(context):
            _log.info("Rookery %s is up, pid %d.", __version__, os.getpid())
            is_up.set()
            ready()
            await stop.wait()
            _log.info("Rookery stops; agents keep running.")


@asynccontextmanager
async def running(parts: Parts, *, stop: Callable[[], None]) -> AsyncIterator[Context]:
    """Run everything but the API while the block lasts."""
    clock, home = WallClock(), parts.home
    runtimes = parts.runtimes(clock)
    async with parts.database(clock) as database, anyio.create_task_group() as tasks:
        journal = await store_settings.prepare(parts.settings, database)
        await ensure_owner_token(home, database)
        for each in (runtimes.own, runtimes.observed, runtimes.driven, runtimes.router):
            tasks.start_soon(each.keep)
        context = parts.context(database, journal, runtimes, stop)
        segment = parts.status_segment(database, runtimes.own)
        bars = parts.session_bars(database, runtimes.own)
        tasks.start_soon(bars.run)
        if parts.settings.notifications.tmux:
            tasks.start_soon(segment.run)
        await _load_rules(context, parts)
        hook_programs = HookPrograms(home, AGENTS)
        supervisor = parts.supervisor(database, journal, context.runtime, hook_programs)
        hooks = parts.hook_socket(context)
        async with hooks.open():
            tasks.start_soon(OwnSocket(home, home.hook_door, hooks.listen).keep, clock)
            begin = partial(_begin, context, parts, supervisor, runtimes.driven, tasks)
            await _begin_after_spool(hooks, begin, tasks)
            tasks.start_soon(hook_programs.keep, clock)
            yield context
            with anyio.move_on_after(CLEANUP_TIMEOUT_S):
                await segment.clear()
                await bars.clear()
            await _end_empty_servers(supervisor, runtimes)
        tasks.cancel_scope.cancel()


async def _load_rules(context: Context, parts: Parts) -> None:
    """Load the rules, and write the answers that hooks give while no daemon runs."""
    database, clock = context.database, context.journal.clock
    rules_file = context.permissions.rules_file
    await rules_file.recall(database)
    await rules_file.refresh(database, clock)
    # Before the hook programs are written: without this file, they ask about every call.
    write = partial(parts.offline_answers(rules_file).write, database, clock)
    await supervise.contained(write, name=STEP)


async def _begin_after_spool(
    hooks: HookSocket, begin: Callable[[], Awaitable[None]], tasks: TaskGroup
) -> None:
    """Begin after the spooled hook calls: what agents reported precedes conclusions.

    A long spool, or a tmux that does not answer, delays it. The API opens meanwhile, and
    commands wait as rows.
    """
    drained, begun = anyio.Event(), anyio.Event()

    async def drain() -> None:
        await hooks.drain()
        drained.set()
        await hooks.keep_draining()

    async def begin_later() -> None:
        await drained.wait()
        await begin()
        begun.set()

    tasks.start_soon(drain)
    tasks.start_soon(begin_later)
    with anyio.move_on_after(SPOOL_GRACE_S):
        await drained.wait()
    if drained.is_set():
        with anyio.move_on_after(BEGIN_GRACE_S):
            await begun.wait()


async def _begin(
    context: Context,
    parts: Parts,
    supervisor: Supervisor,
    driven: DrivenRuntime,
    tasks: TaskGroup,
) -> None:
    """Recover the sessions that survived the last daemon, and start the loops."""
    held = (context.database, context.journal, context.runtime)
    await SessionRecovery(*held, context.agents).recover()
    await context.discovery.recover()
    strays = partial(end_unknown_sessions, context.database, driven.sessions)
    name = "Ending driven sessions without a record"
    clock = context.journal.clock
    tasks.start_soon(partial(supervise.until_done, strays, name=name, clock=clock))
    # Before messages are delivered: some have expired while no daemon ran.
    await MessageDeadlines(context.database, context.journal).expire()
    start_loops(context, parts, driven, tasks)
    tasks.start_soon(supervisor.run)


async def _end_empty_servers(supervisor: Supervisor, runtimes: Runtimes) -> None:
    """End Rookery's tmux server and driver host if they hold no agents, which keep running."""
    with contextlib.suppress(sqlite3.DatabaseError):  # on a damaged disk it stops nevertheless
        await supervisor.finish(within=CLEANUP_TIMEOUT_S)
    for runtime in (runtimes.own, runtimes.driven):
        with anyio.move_on_after(CLEANUP_TIMEOUT_S):
            await runtime.retire()
