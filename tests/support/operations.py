"""All operations on a store of a test, without doors and without a real runtime."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from rookery.agents.catalog import AGENTS
from rookery.config import Settings
from rookery.home import find_home
from rookery.model.facts import SessionFound, SessionId
from rookery.model.scopes import Identity, Scope
from rookery.model.sessions import Session
from rookery.operations.catalog import OPERATIONS
from rookery.operations.context import Context
from rookery.operations.idempotency import ask
from rookery.permissions.decisions import Permissions
from rookery.permissions.rules_file import RulesFile
from rookery.store import sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.support.fakes.runtime import FakeRuntime

PERSON = Identity(Scope.OWNER, "unix")

#: No file: there are no rules.
NO_RULES = Path("/nonexistent/rules.toml")

#: Stands for the program of every agent: starting is checked, and nothing is run.
PROGRAM = "/bin/true"


def session_caller(session: SessionId) -> Identity:
    return Identity(Scope.SESSION, "unix", session)


def with_programs(settings: Settings) -> Settings:
    """Return settings in which every agent's program is found."""
    programs = {"command": (PROGRAM,), "acp": (PROGRAM,)}
    found = {name: settings.agent(name).model_copy(update=programs) for name in AGENTS}
    return settings.model_copy(update={"agents": found})


@dataclass
class Desk:
    database: Database
    journal: Journal
    settings: Settings = field(default_factory=Settings)
    runtime: FakeRuntime = field(default_factory=FakeRuntime)

    def __post_init__(self) -> None:
        needed = {
            "database": self.database,
            "journal": self.journal,
            "runtime": self.runtime,
            "holder_of": self.runtime.holder_of,
            "agents": AGENTS,
            "commands": {},
            "home": find_home({"ROOKERY_HOME": "/nowhere"}),
            "login": {"PATH": "/usr/bin:/bin"},
            "settings": with_programs(self.settings),
            "permissions": Permissions(self.journal, RulesFile(NO_RULES), timedelta(minutes=5)),
        }
        every: dict[str, Any] = {
            each.name: None for each in fields(Context) if each.default_factory is MISSING
        }
        self.context = Context(**{**every, **needed})

    async def ask(
        self, name: str, /, *, by: Identity = PERSON, idempotency_key: str = "", **words: object
    ) -> Any:  # noqa: ANN401 - what it answers
        (operation,) = (each for each in OPERATIONS if each.name == name)
        asked, key = operation.asks(**words), idempotency_key
        return await ask(self.context, operation, asked, identity=by, key=key)

    async def settle(
        self, session_id: str, folder: Path | str = "/code", **more: object
    ) -> SessionId:
        """Add a session that is up and idle; its name is its id if nothing else is said."""
        launch: Any = more.pop("launch", None)
        now = self.journal.clock.now()
        given: dict[str, Any] = {
            "id": SessionId(session_id),
            "name": session_id,
            "agent": "demo",
            "runtime": "tmux",
            "computer": "here",
            "project_path": str(folder),
            "tmux_session": f"rk_{session_id}",
            "since": now,
            "created_at": now,
            "last_activity_at": now,
            **more,
        }
        session = Session(**given)
        await self.database.write(partial(sessions.add, session=session, launch=launch))
        found = SessionFound(session.id)
        await self.database.write(lambda db: self.journal.append(db, found))
        return session.id

    async def session(self, session: SessionId) -> Session:
        return await self.database.read(partial(sessions.get, session=session))
