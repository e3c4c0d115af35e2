"""Build the parts of the daemon from its home, its settings and the login environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from rookery.agents.acp_only import with_configured
from rookery.agents.catalog import AGENTS
from rookery.agents.names import SHELL
from rookery.api.hook_socket import HookSocket
from rookery.config import Settings
from rookery.coordination.listener_deadlines import ListenerDeadlines
from rookery.delivery.queued_delivery import QueuedDelivery
from rookery.environment import session_environment
from rookery.home import Home
from rookery.hook_setup import programs
from rookery.hook_setup.programs import HookPrograms
from rookery.model.facts import SessionId
from rookery.model.sessions import OBSERVED, TMUX
from rookery.notifications.session_bars import SessionBars
from rookery.notifications.status_segment import StatusSegment
from rookery.operations.context import Context
from rookery.permissions.decisions import Permissions
from rookery.permissions.offline_answers import OfflineAnswers
from rookery.permissions.rules_file import RulesFile
from rookery.permissions.stop_policy import StopPolicy
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.deliveries import Carrier
from rookery.ports.runtime import Runtime
from rookery.processes import Kernel
from rookery.runtimes.driven.host_process import HostSite
from rookery.runtimes.driven.runtime import NAME as DRIVEN_RUNTIME
from rookery.runtimes.driven.runtime import DrivenRuntime
from rookery.runtimes.router import HoldingRuntime, RuntimeRouter
from rookery.runtimes.tmux.attach_bar import AttachBar, AttachKeys
from rookery.runtimes.tmux.client_terminals import attached_terminals, show_in_status
from rookery.runtimes.tmux.observed import ObservedRuntime
from rookery.runtimes.tmux.runtime import TmuxRuntime
from rookery.runtimes.tmux.server import Server, ServerSite
from rookery.runtimes.tmux.user_servers import ForeignServer, find_sockets
from rookery.sessions.expiry import ExpirySpans
from rookery.sessions.launching import LaunchContext, Launcher
from rookery.sessions.profiles import find_profile, profile_environment
from rookery.sessions.supervisor import Deadlines, Supervisor
from rookery.startup.notifiers import make_notifiers
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.agent_folders import folders_of
from rookery.tracking.discovery import Discovery
from rookery.tracking.intake import Intake
from rookery.tracking.transcript_reader import TranscriptReader
from rookery.workspaces.git import Git
from rookery.workspaces.worktrees import Worktrees


@dataclass(frozen=True, slots=True)
class Factories:
    """Factories for the parts that tests replace."""

    database: Callable[[Path, Clock], Database] = Database
    tmux_server: type[Server] = Server


USUAL_FACTORIES = Factories()


@dataclass(frozen=True, slots=True)
class Runtimes:
    own: TmuxRuntime  #: Rookery's own tmux server
    observed: ObservedRuntime  #: the user's panes
    driven: DrivenRuntime  #: sessions without a terminal
    router: RuntimeRouter  #: one runtime in front of the three

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        in_tmux = self.own.holder_of(lineage) or self.observed.holder_of(lineage)
        return in_tmux or self.driven.holder_of(lineage)


@dataclass(frozen=True, slots=True)
class Parts:
    home: Home
    settings: Settings
    login: Mapping[str, str]  #: the environment of the user's login shell
    factories: Factories = USUAL_FACTORIES

    @property
    def agents(self) -> Mapping[str, Agent]:
        """Return the agents that sessions can be started with."""
        return with_configured(self.settings.acp_agents)

    def database(self, clock: Clock) -> Database:
        return self.factories.database(self.home.database, clock)

    def runtimes(self, clock: Clock) -> Runtimes:
        home, limits = self.home, self.settings.limits
        own = TmuxRuntime(
            ServerSite("tmux", home.tmux, home.run, limits.scrollback_lines),
            clock,
            typing=limits.typing_seconds,
            server=self.factories.tmux_server,
        )
        observed = ObservedRuntime(
            "tmux", home.run, clock, Kernel(), typing=limits.typing_seconds
        )
        driven = DrivenRuntime(
            HostSite(
                home.driver_socket,
                home.driver_key,
                home.driven_events,
                home.driver_log,
                home.driver_record,
            ),
            clock,
            silence_seconds=limits.silence_seconds,
        )
        held: dict[str, HoldingRuntime] = {
            OBSERVED: observed,
            TMUX: own,
            DRIVEN_RUNTIME: driven,
        }
        return Runtimes(own, observed, driven, RuntimeRouter(held, starting=TMUX))

    def context(
        self, database: Database, journal: Journal, runtimes: Runtimes, stop: Callable[[], None]
    ) -> Context:
        # Isolated: files in the working directory must not be imported as modules.
        demo = (sys.executable, "-I", "-m", "rookery.programs.demo")
        folders = {
            name: [*folders_of(agent, self.settings, self.login)]
            for name, agent in AGENTS.items()
        }
        return Context(
            database=database,
            journal=journal,
            runtime=runtimes.router,
            holder_of=runtimes.holder_of,
            agents=self.agents,
            discovery=self._discovery(database, journal, runtimes.observed),
            conversations=TranscriptReader(folders, journal.clock),
            permissions=self.permissions(journal),
            worktrees=self.worktrees(),
            commands={"demo": demo, SHELL: (self.login.get("SHELL", "/bin/sh"),)},
            settings=self.settings,
            home=self.home,
            login=self.login,
            started_at=journal.clock.now(),
            stop=stop,
            notifiers=make_notifiers(
                self.settings,
                {**self.login, **self.home.environment},
                terminals=partial(self._attached_terminals, runtimes.own.server),
            ),
            driver_trouble=lambda: runtimes.driven.trouble,
        )

    def supervisor(
        self, database: Database, journal: Journal, runtime: Runtime, hooks: HookPrograms
    ) -> Supervisor:
        home, settings, limits = self.home, self.settings, self.settings.limits
        context = LaunchContext(
            environment=self.agent_environment,
            hook=programs.write(home, AGENTS),
            sessions=home.sessions,
            artifacts=home.artifacts,
            door=home.hook_door,
            spool=home.spool,
            tools=programs.mcp_argv(home) if settings.tools.enabled else (),
            restore_hooks=hooks.restore,
        )
        deadlines = Deadlines(
            start=limits.start_deadline,
            quit=limits.quit_seconds,
            terminate=limits.terminate_seconds,
        )
        launcher = Launcher(database, journal.clock, runtime, self.agents, context)
        return Supervisor(
            database,
            journal,
            runtime,
            launcher,
            deadlines,
            driven_limit=limits.driven_sessions,
        )

    def agent_environment(
        self, agent: str, profile: str, caller: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return the environment of an agent's program, built from the caller's."""
        settings = self.settings
        configured = {**settings.environment, **settings.agent(agent).environment}
        if profile:
            found = find_profile(settings, profile)
            configured |= profile_environment(found, self.agents[agent])
        return {**session_environment(self.login, caller, configured), **self.home.environment}

    def carrier(self, database: Database, clock: Clock, runtime: Runtime) -> Carrier:
        """Return the carrier that delivers messages to agents by keys, queues or protocols."""

        def uses_queue(agent: str) -> bool:
            return self.settings.agent(agent).messages == "queue"

        environment = self.agent_environment
        return QueuedDelivery(database, clock, runtime, AGENTS, uses_queue, environment)

    def worktrees(self) -> Worktrees:
        settings = self.settings.workspaces
        root = Path(settings.root).expanduser() if settings.root else self.home.workspaces
        environment = session_environment(self.login, {}, self.settings.environment)
        return Worktrees(Git(environment), settings, root, environment)

    def hook_socket(self, context: Context) -> HookSocket:
        intake = Intake(
            context.database,
            context.journal,
            AGENTS,
            context.permissions,
            self.stop_policy(context.journal),
            conversations=context.conversations,
            prices=self.settings.prices,
        )
        offline_answers = self.offline_answers(context.permissions.rules_file)
        home, clock = self.home, context.journal.clock
        return HookSocket(intake, home.hook_door, home.spool, clock, offline_answers)

    def permissions(self, journal: Journal) -> Permissions:
        limits = self.settings.permissions
        deadline = timedelta(seconds=limits.deadline_seconds)
        return Permissions(journal, RulesFile(self.home.rules), deadline, limits.on_timeout)

    def stop_policy(self, journal: Journal) -> StopPolicy:
        stops = self.settings.stops
        deadline = timedelta(seconds=self.settings.permissions.deadline_seconds)
        return StopPolicy(journal, stops.policy, stops.retries, stops.pattern, deadline)

    def listeners(self, journal: Journal) -> ListenerDeadlines:
        spans = self.settings.listeners
        check, stale = spans.check_seconds, spans.stale_minutes
        return ListenerDeadlines(journal, timedelta(seconds=check), timedelta(minutes=stale))

    def offline_answers(self, rules_file: RulesFile) -> OfflineAnswers:
        when_away = self.settings.permissions.when_away
        return OfflineAnswers(self.home.offline_answers, AGENTS, rules_file, when_away)

    def expiry_spans(self) -> ExpirySpans:
        limits = self.settings.limits
        return ExpirySpans(
            inactive=timedelta(hours=limits.inactive_hours),
            retention=timedelta(days=limits.retention_days),
            kept_sessions=limits.kept_sessions,
            driven_idle=timedelta(minutes=limits.driven_idle_minutes),
        )

    def status_segment(self, database: Database, own: TmuxRuntime) -> StatusSegment:
        listed = timedelta(hours=self.settings.limits.listed_hours)
        return StatusSegment(database, listed, partial(show_in_status, own.server))

    def session_bars(self, database: Database, own: TmuxRuntime) -> SessionBars:
        listed = timedelta(hours=self.settings.limits.listed_hours)
        keys = self.settings.attach
        bar = AttachBar(own.server, AttachKeys(keys.leave_key, keys.next_key))
        return SessionBars(database, listed, self.settings.notifications.tmux, bar.show)

    def _discovery(
        self, database: Database, journal: Journal, observed: ObservedRuntime
    ) -> Discovery:
        own, sockets = self.home.tmux, self._user_sockets
        return Discovery(database, journal, AGENTS, observed, Kernel(), sockets, own)

    def _user_sockets(self) -> list[Path]:
        """Return the sockets of the user's own tmux servers; none if discovery is disabled."""
        discovery = self.settings.discovery
        if not discovery.enabled:
            return []
        # tmux finds its socket folder in the same way.
        configured_folder = os.environ.get("TMUX_TMPDIR") or self.login.get("TMUX_TMPDIR")
        root = os.path.realpath(configured_folder or "/tmp")  # noqa: S108
        folder = Path(root, f"tmux-{os.getuid()}")
        return find_sockets(folder, listed=discovery.tmux_sockets, own=self.home.tmux)

    async def _attached_terminals(self, own: Server) -> list[Path]:
        """Return the terminals that are attached to Rookery's tmux or to the user's own."""
        run = self.home.run
        sites = [ServerSite("tmux", each, run, 0) for each in self._user_sockets()]
        return await attached_terminals([own, *map(ForeignServer, sites)])
