"""Runs the program of a session, or adopts it if it runs already."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection

from rookery.model.sessions import Badge, NativeId, Session, program_name
from rookery.ports.agent import Agent, LaunchSpec
from rookery.ports.clock import Clock
from rookery.ports.runtime import HeldProgram, Launch, Runtime
from rookery.store import sessions, tokens
from rookery.store.database import Database


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """What Rookery passes to every program that it starts."""

    #: Builds an agent's environment from the caller's, given the agent and the profile.
    environment: Callable[[str, str, Mapping[str, str]], Mapping[str, str]]
    hook: tuple[str, ...]  #: the hook program and its arguments, without the agent's name
    sessions: Path  #: holds a folder for each session's files
    artifacts: Path  #: holds the last screens of ended sessions
    door: Path = Path()  #: the socket to which the hook program reports
    spool: Path = Path()  #: where the hook program stores calls while no daemon runs
    tools: tuple[str, ...] = ()  #: the command of Rookery's MCP server for agents
    #: Repairs the hook program if it was damaged; run before each start.
    restore_hooks: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Launcher:
    database: Database
    clock: Clock
    runtime: Runtime
    agents: Mapping[str, Agent]
    context: LaunchContext

    async def launch(self, session: Session) -> HeldProgram:
        """Run the program, or adopt it if an earlier daemon started it and then crashed."""
        agent = self.agents[session.agent]
        existing = (await self.runtime.find()).get(program_name(session.id))
        if existing:
            await self.runtime.adopt(session.id, agent, existing.handle)
            return existing

        def hold(db: Connection) -> tuple[Badge, dict[str, object]]:
            badge = tokens.give_badge(db, session.id, at=self.clock.now())
            sessions.hold(db, session.id)
            options = sessions.launch_of(db, session.id)
            if agent.abilities.lists_tools and self._tools(options):
                sessions.await_tools(db, session.id)
            return badge, options

        if self.context.restore_hooks:
            await self.context.restore_hooks()
        badge, asked = await self.database.write(hold)
        return await self.runtime.start(self._make_launch(session, agent, asked, badge))

    def _make_launch(
        self, session: Session, agent: Agent, options: Mapping[str, object], badge: Badge
    ) -> Launch:
        folder = self.context.sessions / session.id
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        command, caller = options["command"], options["environment"]
        assert isinstance(command, list)  # noqa: S101 - Rookery wrote it
        assert isinstance(caller, dict)  # noqa: S101
        environment = self.context.environment(agent.name, session.profile, caller)
        line = agent.command_line(
            LaunchSpec(
                command=tuple(command),
                native_id=session.native_id or NativeId(""),
                model=session.model,
                permission_mode=session.permission_mode,
                hook=shlex.join([*self.context.hook, agent.name]),
                folder=folder,
                door=self.context.door,
                spool=self.context.spool,
                tools=self._tools(options),
                badge=badge,
                environment=environment,
                resumes=bool(options.get("resumes")),
                forks=NativeId(str(options.get("forks", ""))),
            )
        )
        for path, text in line.files.items():
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
        ours = {"ROOKERY_SESSION": session.id, "ROOKERY_BADGE": badge}
        where = Path(session.project_path, session.subdir)
        added = {**environment, **line.environment, **ours}
        return Launch(session.id, agent, line.argv, added, where)

    def _tools(self, options: Mapping[str, object]) -> tuple[str, ...]:
        """Return the command of the MCP server for a session; empty if it gets none."""
        return self.context.tools if options.get("tools", True) else ()
