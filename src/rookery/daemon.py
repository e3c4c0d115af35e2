"""Composition root: builds and connects all parts of the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio
import uvloop
from anyio.abc import TaskGroup

from rookery import __version__, supervise
from rookery.agents.catalog import AGENTS
from rookery.api.hook_socket import HookSocket
from rookery.api.own_sockets import OwnSocket
from rookery.api.servers import opened
from rookery.clock import WallClock
from rookery.config import Settings, load
from rookery.coordination import listeners, relays
from rookery.coordination.listeners import Listeners
from rookery.delivery.dialog_answers import DialogAnswers
from rookery.delivery.dispatcher import Dispatcher
from rookery.environment import Login, ask_login_shell, session_environment
from rookery.home import Home, open_private, sync_folder
from rookery.hook_setup import programs
from rookery.hook_setup.programs import HookPrograms
from rookery.logs import logged, warned
from rookery.model.errors import (
    AgentUnknown,
    CommitFailed,
    DiskFull,
    HomeUnusable,
    StoreBroken,
)
from rookery.model.facts import (
    EndRequested,
    InputSettled,
    SessionEnded,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from rookery.operations.table import Context
from rookery.permissions import answered_in_terminal
from rookery.permissions.decisions import Permissions
from rookery.permissions.lost_hooks import LostHooks
from rookery.permissions.offline_answers import STEP, OfflineAnswers, OfflineConditions
from rookery.permissions.rules_file import RulesFile
from rookery.permissions.screen_dialogs import DialogWatch
from rookery.permissions.stop_policy import StopPolicy
from rookery.ports.agent import Agent
from rookery.ports.runtime import Runtime
from rookery.ports.transcript import FolderSources
from rookery.processes import Kernel
from rookery.runtimes.router import RuntimeRouter
from rookery.runtimes.tmux.observed import ObservedRuntime
from rookery.runtimes.tmux.runtime import TmuxRuntime
from rookery.runtimes.tmux.server import ServerSite, version_of
from rookery.runtimes.tmux.user_servers import expanded, find_sockets
from rookery.sessions.expiry import Expiry, ExpirySpans
from rookery.sessions.headless import HeadlessWatch
from rookery.sessions.supervisor import Deadlines, LaunchContext, Supervisor
from rookery.store import families, flags, limits, tokens
from rookery.store.database import Database
from rookery.store.journal import Journal, Reader
from rookery.store.listeners import forget_all
from rookery.tracking import usage
from rookery.tracking.attention import Attention
from rookery.tracking.corrections import Corrections
from rookery.tracking.discovery import Discovery
from rookery.tracking.intake import Intake
from rookery.tracking.screen_watch import ScreenWatch
from rookery.tracking.session_files import SessionFilesWatch
from rookery.tracking.transcript_reader import TranscriptReader
from rookery.tracking.usage import UsageReader

_log = logging.getLogger(__name__)

#: The readers of the journal. New behaviour is a new line here.
READERS: Mapping[str, Reader] = {
    "permissions": Reader(
        frozenset(
            {
                *(InputSettled, TurnStarted, TurnEnded),
                *(SessionStarted, EndRequested, SessionEnded),
            }
        ),
        answered_in_terminal.close,
    ),
    "transcripts": usage.READER,
    "listeners": listeners.READER,
    "relays": relays.READER,
}

#: Minimum characters of the owner's token; Rookery never writes a shorter one.
MIN_TOKEN_CHARACTERS = 32

#: SQLite errors of a file that neither waiting nor free disk space can repair.
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

#: Seconds at shutdown to remove the panes of ended sessions, and for tmux to end.
CLEANUP_TIMEOUT_S = 2.0

#: Seconds that a start waits for the spool to drain; then the gateway opens meanwhile.
SPOOL_GRACE_S = 1.0

#: Seconds before Python switches threads: the writer's work is many short steps.
THREAD_SWITCH_SECONDS = 0.0005


def run(home: Home, *, ready: Callable[[], None], login: Login | None = None) -> None:
    """Run the daemon of this home until it is stopped; call ``ready`` once it is up.

    ``login`` is a login shell that was started earlier, while this module loads.
    """
    os.umask(0o077)
    home.prepare()
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

            asked = login or ask_login_shell(os.environ)
            uvloop.run(serve(home, settings, ready=begin, login=asked))
    except (OSError, StoreBroken, CommitFailed, sqlite3.Error, ExceptionGroup) as error:
        raise _user_error(error, home) from error


def check_agents(settings: Settings) -> None:
    """Refuse settings of an unknown agent: they would never be used."""
    for name in settings.agents:
        if name not in AGENTS:
            known = ", ".join(sorted(AGENTS))
            raise AgentUnknown(f"[agents.{name}]. There are: {known}.")


def _user_error(error: Exception, home: Home) -> Exception:
    """Return an error that tells the user why the daemon ended."""
    while isinstance(error, ExceptionGroup):  # the other tasks ended because of the first error
        error = error.exceptions[0]
    if isinstance(error, OSError):
        return HomeUnusable(f"{error.filename or home.state}: {error.strerror}")
    cause = error if isinstance(error, sqlite3.Error) else error.__cause__
    if isinstance(cause, sqlite3.Error) and not isinstance(error, DiskFull):
        said = error.args[0] if isinstance(error, StoreBroken) else f"{home.database}: {cause}"
        if _is_damage(cause):
            advice = "Take a backup back:  rookery restore FILE"
            return StoreBroken(f"{said}. {advice}", remedy="restore")
        return StoreBroken(said)
    return error


def _is_damage(error: BaseException | None) -> bool:
    """Return whether an error means that the database file is damaged."""
    if isinstance(error, sqlite3.DatabaseError):
        # Some of Python's own errors have no code.
        return getattr(error, "sqlite_errorcode", None) in DAMAGED
    return isinstance(error, UnicodeDecodeError)


async def serve(
    home: Home, settings: Settings, *, ready: Callable[[], None], login: Login
) -> None:
    stop, is_up, whole = asyncio.Event(), asyncio.Event(), anyio.CancelScope()

    def end() -> None:
        stop.set()
        if not is_up.is_set():  # it may wait for a tmux that does not answer
            whole.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    surroundings = await asyncio.to_thread(login)
    with whole:
        async with (
            running(home, settings, surroundings, stop=stop.set) as context,
            opened(context),
        ):
            _log.info("Rookery %s is up, pid %d.", __version__, os.getpid())
            is_up.set()
            ready()
            await stop.wait()
            _log.info("Rookery stops; agents in tmux live on.")


@asynccontextmanager
async def running(
    home: Home, settings: Settings, login: Mapping[str, str], *, stop: Callable[[], None]
) -> AsyncIterator[Context]:
    """Run everything but the gateway while the block lasts."""
    clock = WallClock()
    ours, observed = _runtime(home, settings, clock), _observed(home, settings, clock)
    runtime = RuntimeRouter(observed, starting=ours)
    async with Database(home.database) as database, anyio.create_task_group() as tasks:
        journal = await _take_up(home, settings, clock, database)
        for each in (ours, observed, runtime):
            tasks.start_soon(each.keep)
        context = Context(
            database=database,
            journal=journal,
            runtime=runtime,
            holder_of=lambda lineage: ours.holder_of(lineage) or observed.holder_of(lineage),
            agents=AGENTS,
            discovery=_discovery(home, settings, login, (database, journal, observed)),
            conversations=_conversations(settings, login, clock),
            permissions=_permissions(home, settings, journal),
            commands=_commands(login),
            settings=settings,
            home=home,
            login=login,
            started_at=clock.now(),
            stop=stop,
        )
        await context.permissions.rules_file.recall(database)
        await context.permissions.rules_file.refresh(database, clock)
        # Before the hook programs are written: without this file, they ask about every call.
        offline_answers = _absence(home, settings, context.permissions.rules_file)
        await supervise.contained(partial(offline_answers.write, database, clock), name=STEP)
        hook_programs = HookPrograms(home, AGENTS)
        supervisor = _keeper(home, settings, login, (database, journal, runtime), hook_programs)
        hooks = _hooks(context)
        async with hooks.open():
            drained = anyio.Event()
            tasks.start_soon(_drain, hooks, drained)
            tasks.start_soon(OwnSocket(home, home.hook_door, hooks.listen).keep, clock)

            async def begin() -> None:
                # What agents reported comes before conclusions about them.
                await drained.wait()
                await supervisor.recover()
                await context.discovery.recover()
                _start_loops(context, tasks)
                tasks.start_soon(supervisor.run)

            with anyio.move_on_after(SPOOL_GRACE_S):
                await drained.wait()
            if drained.is_set():
                await begin()
            else:
                # A long spool: the gateway opens meanwhile, and commands wait as rows.
                tasks.start_soon(begin)
            tasks.start_soon(hook_programs.keep, clock)
            yield context
            await _end_empty_server(supervisor, ours)
        tasks.cancel_scope.cancel()


async def _end_empty_server(supervisor: Supervisor, runtime: TmuxRuntime) -> None:
    """End Rookery's tmux server if it holds no agent; otherwise the agents keep running."""
    with contextlib.suppress(sqlite3.DatabaseError):  # on a damaged disk it stops nevertheless
        await supervisor.finish(within=CLEANUP_TIMEOUT_S)
    with anyio.move_on_after(CLEANUP_TIMEOUT_S):
        await runtime.retire()


async def _drain(hooks: HookSocket, drained: anyio.Event) -> None:
    """Process what was spooled while no daemon ran, then keep draining. Runs for ever."""
    await hooks.drain()
    drained.set()
    await hooks.keep_draining()


async def _take_up(
    home: Home, settings: Settings, clock: WallClock, database: Database
) -> Journal:
    """Write the settings to the store, and continue where the last daemon stopped."""
    journal = Journal(settings.computer, clock, READERS)
    kept = settings.limits
    queue = (kept.queued_messages, kept.queued_kb * 1_000)
    await database.write(
        partial(limits.put, limits=limits.StoredLimits(*queue, kept.headless_sessions))
    )
    trusts_all = settings.trust.sessions == "all"
    await database.write(partial(families.trust_all, on=trusts_all))
    await journal.catch_up(database)
    if not settings.listeners.survive_restart:
        await database.write(forget_all)
    may = settings.permissions.parents_may_answer
    await database.write(partial(flags.let_parents_answer, on=may))
    await _ensure_owner_token(home, database, clock)
    return journal


def _start_loops(context: Context, tasks: TaskGroup) -> None:
    """Start the loops that run as long as the daemon."""
    home, settings, decider = context.home, context.settings, context.permissions
    database, journal, clock = context.database, context.journal, context.journal.clock
    held = (database, journal, context.runtime)
    conversations = context.conversations
    tasks.start_soon(ScreenWatch(*held, AGENTS, conversations, decider).watch)
    tasks.start_soon(Attention(database, context.runtime, clock).keep)
    tasks.start_soon(DialogWatch(database, context.runtime, AGENTS, decider).watch)
    tasks.start_soon(context.discovery.run)
    corrections = Corrections(database, journal, conversations)
    for agent in AGENTS.values():
        if agent.transcript and (files := agent.transcript.session_files):
            registry = SessionFilesWatch(
                database, journal, conversations, corrections, agent.name, files
            )
            tasks.start_soon(registry.watch, conversations.folders[agent.name])
    tasks.start_soon(HeadlessWatch(database, journal).watch)
    tasks.start_soon(decider.keep_time, database)
    tasks.start_soon(LostHooks(database, decider).watch)
    tasks.start_soon(_listeners(settings, journal).keep_time, database)
    tasks.start_soon(DialogAnswers(*held, AGENTS, decider).press)
    tasks.start_soon(_absence(home, settings, decider.rules_file).keep, database, clock)
    tasks.start_soon(Dispatcher(*held, AGENTS).deliver)
    tasks.start_soon(UsageReader(database, journal, settings.prices).follow)
    tasks.start_soon(Expiry(*held, _spans(settings), home.artifacts).run)


async def _ensure_owner_token(home: Home, database: Database, clock: WallClock) -> None:
    """Ensure that the owner's token exists: random, private, created at the first start."""
    with open_private(home.token) as file:
        secret = file.read().decode(errors="replace").strip()
        keep = partial(tokens.keep_owner, secret=secret, at=clock.now())
        if len(secret) < MIN_TOKEN_CHARACTERS or not await database.write(keep):
            secret = tokens.new_secret()
            os.ftruncate(file.fileno(), 0)
            os.pwrite(file.fileno(), secret.encode(), 0)
            os.fsync(file.fileno())
            sync_folder(home.token.parent)
            await database.write(partial(tokens.keep_owner, secret=secret, at=clock.now()))


def _allow_many_files() -> None:
    """Raise the limit of open files to the maximum: each pane and each caller needs one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _runtime(home: Home, settings: Settings, clock: WallClock) -> TmuxRuntime:
    limits = settings.limits
    return TmuxRuntime(
        ServerSite("tmux", home.tmux, home.run, limits.scrollback_lines),
        clock,
        ring_size=limits.live_ring_kb * 1024,
        typing=limits.typing_seconds,
    )


def _observed(home: Home, settings: Settings, clock: WallClock) -> ObservedRuntime:
    typing = settings.limits.typing_seconds
    return ObservedRuntime("tmux", home.run, clock, Kernel(), typing=typing)


def _discovery(
    home: Home,
    settings: Settings,
    login: Mapping[str, str],
    held: tuple[Database, Journal, ObservedRuntime],
) -> Discovery:
    database, journal, observed = held
    set_here = settings.discovery
    # As tmux itself does it.
    root = os.environ.get("TMUX_TMPDIR") or login.get("TMUX_TMPDIR") or "/tmp"  # noqa: S108
    folder = Path(os.path.realpath(root), f"tmux-{os.getuid()}")

    def sockets() -> list[Path]:
        if not set_here.enabled:
            return []
        return find_sockets(folder, listed=set_here.tmux_sockets, own=home.tmux)

    return Discovery(database, journal, AGENTS, observed, Kernel(), sockets, home.tmux)


def _keeper(
    home: Home,
    settings: Settings,
    login: Mapping[str, str],
    held: tuple[Database, Journal, Runtime],
    hook_programs: HookPrograms,
) -> Supervisor:
    limits = settings.limits

    def environment(agent: str, caller: Mapping[str, str]) -> Mapping[str, str]:
        own = {**settings.environment, **settings.agent(agent).environment}
        return {**session_environment(login, caller, own), **home.environment}

    return Supervisor(
        *held,
        agents=AGENTS,
        deadlines=Deadlines(
            limits.start_deadline, limits.quit_seconds, limits.terminate_seconds
        ),
        surroundings=LaunchContext(
            *(environment, programs.write(home, AGENTS), home.sessions, home.artifacts),
            door=home.hook_door,
            spool=home.spool,
            tools=programs.mcp_argv(home) if settings.tools.enabled else (),
            restore_hooks=hook_programs.restore,
        ),
    )


def _commands(login: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    """Return the commands of the agents that come with Rookery."""
    # Isolated: files in the working directory must not be imported as modules.
    demo = (sys.executable, "-I", "-m", "rookery.programs.demo")
    return {"demo": demo, "shell": (login.get("SHELL", "/bin/sh"),)}


def _conversations(
    settings: Settings, login: Mapping[str, str], clock: WallClock
) -> TranscriptReader:
    """Build ``TranscriptReader`` with the agents' own folders, which agents may not report."""
    found = {name: [*folders_of(agent, settings, login)] for name, agent in AGENTS.items()}
    return TranscriptReader(found, clock)


def folders_of(agent: Agent, settings: Settings, login: Mapping[str, str]) -> set[Path]:
    """Return the folders of an agent's own files, whether Rookery or the user starts it."""
    if agent.transcript is None or agent.transcript.folders is None:
        return set()
    has_session_files = agent.transcript.session_files is not None
    sources = FolderSources(
        login=login,
        shared=settings.environment,
        own=settings.agent(agent.name).environment,
        listed=settings.discovery.session_file_folders if has_session_files else (),
    )
    return set(expanded(agent.transcript.folders(sources)))


def _permissions(home: Home, settings: Settings, journal: Journal) -> Permissions:
    deadline = timedelta(seconds=settings.permissions.deadline_seconds)
    on_timeout = settings.permissions.on_timeout
    return Permissions(journal, RulesFile(home.rules), deadline, on_timeout)


def _hooks(context: Context) -> HookSocket:
    home, stops = context.home, _stops(context.settings, context.journal)
    intake = Intake(
        *(context.database, context.journal, AGENTS, context.permissions, stops),
        conversations=context.conversations,
    )
    offline_answers = _absence(home, context.settings, context.permissions.rules_file)
    return HookSocket(
        intake, home.hook_door, home.spool, context.journal.clock, offline_answers
    )


def _stops(settings: Settings, journal: Journal) -> StopPolicy:
    stops, deadline = settings.stops, settings.permissions.deadline_seconds
    return StopPolicy(
        journal, stops.policy, stops.retries, stops.pattern, timedelta(seconds=deadline)
    )


def _listeners(settings: Settings, journal: Journal) -> Listeners:
    check, stale = settings.listeners.check_seconds, settings.listeners.stale_minutes
    return Listeners(journal, timedelta(seconds=check), timedelta(minutes=stale))


def _absence(home: Home, settings: Settings, rules_file: RulesFile) -> OfflineAnswers:
    return OfflineAnswers(
        home.offline_answers, AGENTS, rules_file, settings.permissions.when_away
    )


def lay_hooks(home: Home) -> None:
    """Write the hook programs for agents that are started by hand; no daemon need have run."""
    if not home.offline_answers.exists():
        rules_file = RulesFile(home.rules)
        if reading := rules_file.look():
            rules_file.adopt(reading)
        first = OfflineConditions(mode="local", agents_above={})
        OfflineAnswers(home.offline_answers, AGENTS, rules_file, "ask").store(first)
    programs.write(home, AGENTS)


def _spans(settings: Settings) -> ExpirySpans:
    limits = settings.limits
    return ExpirySpans(
        inactive=timedelta(hours=limits.inactive_hours),
        retention=timedelta(days=limits.retention_days),
        kept_sessions=limits.kept_sessions,
    )
