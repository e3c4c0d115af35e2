"""A whole daemon with fakes at its ports, for tests of whole paths."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import anyio

from rookery.agents.catalog import AGENTS
from rookery.delivery.dispatcher import Dispatcher
from rookery.model.facts import SessionId
from rookery.model.messages import USUAL_HANDLING, Handling, MessageId, clean
from rookery.model.sessions import Session
from rookery.permissions.decisions import Permissions
from rookery.permissions.rules_file import RulesFile
from rookery.permissions.stop_policy import StopPolicy
from rookery.ports.agent import Agent
from rookery.ports.runtime import AnswersAgents, Runtime
from rookery.sessions import commands, start_plans, starts
from rookery.sessions.commands import MessageSender
from rookery.sessions.launching import LaunchContext, Launcher
from rookery.sessions.recovery import SessionRecovery
from rookery.sessions.start_plans import StartPlan, StartRequest
from rookery.sessions.supervisor import Deadlines, Supervisor
from rookery.startup.readers import READERS
from rookery.store import message_queue
from rookery.store import sessions as known
from rookery.store.journal import Journal
from rookery.tracking.hook_reader import HookReader
from rookery.tracking.intake import Intake
from rookery.tracking.protocol_requests import ProtocolRequests
from rookery.tracking.screen_reader import ScreenReader
from rookery.tracking.screen_watch import ScreenWatch
from rookery.tracking.stream_reports import StreamReports
from rookery.tracking.transcript_reader import TranscriptReader
from tests.support.fakes.agents import FakeAgents
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.folders import PromptFolders
from tests.support.fakes.runtime import FakeRuntime
from tests.support.fakes.stream_runtime import StreamRuntime

DEADLINES = Deadlines(start=60.0, quit=5.0, terminate=7.0)

PERMISSION_DEADLINE = timedelta(seconds=300)

#: What is run for every agent: some program that is certainly there.
PROGRAM = ("/bin/sh",)


def no_policy(journal: Journal) -> StopPolicy:
    return StopPolicy(journal, "off", 2, "error", PERMISSION_DEADLINE)


class World:
    """What is there whether the daemon runs or not."""

    def __init__(self, folder: Path, runtime: type[FakeRuntime] = FakeRuntime) -> None:
        self.clock = FakeClock()
        self.runtime = runtime()
        self.runtime.clock = self.clock
        self.agents = FakeAgents(self.runtime)
        self.project, self.sessions, self.artifacts = (
            folder / name for name in ("project", "sessions", "artifacts")
        )
        for each in (self.project, self.sessions, self.artifacts):
            each.mkdir(parents=True, exist_ok=True)
        self.rules = folder / "rules.toml"

    def permissions(self, journal: Journal) -> Permissions:
        return Permissions(journal, RulesFile(self.rules), PERMISSION_DEADLINE)

    def plan(
        self, prompt: str = "", *, name: str = "", agent: str = "demo", limit: int = 100
    ) -> StartPlan:
        """Check a start that asks for no more than what is said here."""
        wanted = StartRequest(agent=agent, project=str(self.project), name=name, prompt=prompt)
        return start_plans.plan(wanted, AGENTS, command=PROGRAM, path="", limit=limit)

    @property
    def launch_context(self) -> LaunchContext:
        return LaunchContext(
            environment=lambda agent, _profile, caller: {"AGENT": agent, **caller},
            hook=("python", "hook.py"),
            sessions=self.sessions,
            artifacts=self.artifacts,
        )


class House:
    """A running daemon, and short ways to ask it for things."""

    def __init__(
        self,
        database: ObservedDatabase,
        recovery: SessionRecovery,
        supervisor: Supervisor,
        world: World,
    ) -> None:
        self.database = database
        self.journal = recovery.journal
        self.recovery = recovery
        self.supervisor = supervisor
        self.world = world

    async def start(
        self, prompt: str = "", *, name: str = "", agent: str = "demo"
    ) -> SessionId:
        """Have a session started, and wait until nothing more happens by itself."""
        session = await self.accept(self.world.plan(prompt, name=name, agent=agent))
        await self.rest()
        return session

    async def accept(self, plan: StartPlan) -> SessionId:
        accept = partial(
            starts.accept, journal=self.journal, plan=plan, speaker=MessageSender("person")
        )
        return (await self.database.write(accept)).id

    async def send(
        self, recipient: SessionId, words: str, handling: Handling = USUAL_HANDLING
    ) -> MessageId:
        send = partial(
            commands.send,
            journal=self.journal,
            speaker=MessageSender("person"),
            recipient=recipient,
            words=clean(words),
            handling=handling,
        )
        return await self.database.write(send)

    async def withdraw(self, message: MessageId) -> bool:
        """Take a message back; return whether that was in time."""

        def write(db: Connection) -> bool:
            found = message_queue.find(db, message)
            assert found
            return commands.withdraw(db, self.journal, found, by="person")

        return await self.database.write(write)

    async def end(self, session: SessionId) -> None:
        end = partial(commands.end, journal=self.journal, session=session, by="person")
        await self.database.write(end)

    async def session(self, session: SessionId) -> Session:
        return await self.database.read(partial(known.get, session=session))

    async def rest(self) -> None:
        """Wait until nothing more happens unless time passes or somebody does something."""
        await self.database.rest()

    async def pass_time(self, seconds: float) -> None:
        self.world.clock.advance(seconds)
        await self.rest()

    @asynccontextmanager
    async def beside(
        self, work: Callable[[], Coroutine[None, None, None]]
    ) -> AsyncIterator[None]:
        """Have something more run while the block lasts."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            yield
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def running(
    database: ObservedDatabase,
    world: World,
    runtime: Runtime | None = None,
    agents: Mapping[str, Agent] = AGENTS,
    *,
    answering: AnswersAgents | None = None,
) -> AsyncIterator[House]:
    """Run what the daemon runs, in the order in which it does.

    ``answering`` is the runtime of driven sessions, if there are any.
    """
    world.runtime.begin_life()
    runtime = runtime or world.runtime
    database.keep_time_by(world.clock)
    journal = Journal("here", database.clock, READERS)
    permissions, folders = world.permissions(journal), PromptFolders()
    intake = Intake(database, journal, agents, permissions, no_policy(journal), folders=folders)
    launcher = Launcher(database, database.clock, runtime, agents, world.launch_context)
    supervisor = Supervisor(database, journal, runtime, launcher, DEADLINES)
    recovery = SessionRecovery(database, journal, runtime, agents)
    await journal.catch_up(database)
    await world.agents.drain(intake)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.agents.speak, intake)
        await recovery.recover()
        conversations = TranscriptReader({}, world.clock)
        held = (database, journal, runtime)
        screens = ScreenReader(*held, agents, conversations, intake.permissions)
        reader = HookReader(
            database, database.clock, agents, intake.permissions.rules_file, conversations
        )
        answers = answering or StreamRuntime()
        asked = ProtocolRequests(database, answers, agents, intake.permissions, reader)
        streams = StreamReports(database, journal, asked)
        tasks.start_soon(ScreenWatch(*held, screens, streams).watch)
        tasks.start_soon(supervisor.run)
        tasks.start_soon(Dispatcher(database, journal, runtime, agents).deliver)
        yield House(database, recovery, supervisor, world)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def passing_time(database: ObservedDatabase, clock: FakeClock) -> AsyncIterator[None]:
    """Let time pass whenever nothing else can happen."""

    async def pass_on() -> None:
        while True:
            await clock.someone_sleeps()
            await database.rest()
            clock.skip()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pass_on)
        yield
        tasks.cancel_scope.cancel()
