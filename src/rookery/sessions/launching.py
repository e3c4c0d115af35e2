"""Runs the program of a session, or adopts it if it runs already."""

from __future__ import annotations

import os
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from rookery.model.errors import ProjectUnknown
from rookery.model.sessions import Badge, NativeId, Session, program_name
from rookery.model.variables import SESSION_VARIABLE
from rookery.ports.agent import Agent, LaunchSpec
from rookery.ports.clock import Clock
from rookery.ports.runtime import DriverOptions, HeldProgram, Launch, Runtime
from rookery.store import driven_streams, sessions, tokens
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


def _check_folder(session: Session) -> None:
    """Raise ``ProjectUnknown`` if a child's folder is not the one that was accepted.

    A start may wait for long, and a link would lead it out of its parent's project.
    """
    accepted = session.project_path
    if session.parent is None or session.workspace or not accepted:
        return
    if (now := os.path.realpath(accepted)) != accepted:
        raise ProjectUnknown(f"{accepted} has become a link to {now}.")


@dataclass(frozen=True, slots=True)
class Launcher:
    database: Database
    clock: Clock
    runtime: Runtime
    agents: Mapping[str, Agent]
    context: LaunchContext

    async def launch(self, session: Session) -> HeldProgram:
        """Run the program, or adopt it if an earlier attempt, or daemon, has started it."""
        agent = self.agents[session.agent]
        if existing := await self._find(session):
            await self.runtime.adopt(session.id, agent, existing.handle)
            return existing

        _check_folder(session)

        def prepare(db: Connection) -> tuple[Badge, dict[str, Any]]:
            badge = tokens.give_badge(db, session.id, at=self.clock.now())
            sessions.hold(db, session.id)
            options = sessions.launch_of(db, session.id)
            if session.is_driven:
                options = {**options, "earlier_cost": driven_streams.earlier_cost(db, session)}
            elif agent.abilities.lists_tools and self._tools(options):
                sessions.await_tools(db, session.id)
            return badge, options

        if self.context.restore_hooks:
            await self.context.restore_hooks()
        badge, options = await self.database.write(prepare)
        return await self.runtime.start(self._make_launch(session, agent, options, badge))

    async def _find(self, session: Session) -> HeldProgram | None:
        """Return the program if an earlier attempt may have started it, so that it may run."""
        if not await self.database.read(lambda db: sessions.has_runtime(db, session.id)):
            return None
        return (await self.runtime.find()).get(program_name(session.id))

    def _make_launch(
        self, session: Session, agent: Agent, options: Mapping[str, Any], badge: Badge
    ) -> Launch:
        caller = options["environment"]
        environment = self.context.environment(agent.name, session.profile, caller)
        spec = self._make_spec(session, options, badge, environment)
        driven = agent.driven[session.runtime](spec) if session.is_driven else None
        line = driven.line if driven else agent.command_line(spec)
        for path, text in line.files.items():
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
        ours = {SESSION_VARIABLE: session.id, "ROOKERY_BADGE": badge}
        where = Path(session.project_path, session.subdir)
        added = {**environment, **line.environment, **ours}
        launch = Launch(session.id, agent, line.argv, added, where)
        if driven is None:
            return launch
        is_single_turn = bool(options["driving"]["single_turn"])
        driver = DriverOptions(driven.driver, driven.options, is_single_turn, session.budget)
        return replace(launch, driver=driver)

    def _make_spec(
        self,
        session: Session,
        options: Mapping[str, Any],
        badge: Badge,
        environment: Mapping[str, str],
    ) -> LaunchSpec:
        folder = self.context.sessions / session.id
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        driving = options.get("driving", {})
        return LaunchSpec(
            command=tuple(options["command"]),
            native_id=session.native_id or NativeId(""),
            model=session.model,
            permission_mode=session.permission_mode,
            hook=shlex.join([*self.context.hook, session.agent]),
            folder=folder,
            door=self.context.door,
            spool=self.context.spool,
            tools=self._tools(options),
            badge=badge,
            environment=environment,
            resumes=bool(options.get("resumes")),
            forks=NativeId(options.get("forks", "")),
            system_prompt=driving.get("system_prompt", ""),
            allowed_tools=tuple(driving.get("allowed_tools", ())),
            budget=session.budget,
            earlier_cost=options.get("earlier_cost", 0),
        )

    def _tools(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the command of the MCP server for a session; empty if it gets none."""
        return self.context.tools if options.get("tools", True) else ()
