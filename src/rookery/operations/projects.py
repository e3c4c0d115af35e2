"""Operations that list where sessions can work: computers and projects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from sqlite3 import Connection

from rookery import __version__
from rookery.model.scopes import Need
from rookery.operations.access import reach
from rookery.operations.context import Caller, Context
from rookery.operations.operation import Nothing
from rookery.store import sessions as stored_sessions


@dataclass(frozen=True, slots=True)
class Computer:
    name: str
    is_local: bool
    version: str  #: of Rookery
    agents: list[str]  #: that can be started there


@dataclass(frozen=True, slots=True)
class Computers:
    computers: list[Computer]


@dataclass(frozen=True, slots=True)
class Project:
    path: str
    sessions: int  #: that worked in it
    live: int  #: that work in it now
    last_used: datetime


@dataclass(frozen=True, slots=True)
class Projects:
    projects: list[Project]


async def list_computers(context: Context, caller: Caller, params: Nothing) -> Computers:
    """List the computers that run sessions."""
    name, agents = context.journal.computer, sorted(context.agents)
    return Computers([Computer(name, is_local=True, version=__version__, agents=agents)])


async def list_projects(context: Context, caller: Caller, params: Nothing) -> Projects:
    """List the folders in which sessions work or worked, the most recent first."""

    def read(db: Connection) -> Projects:
        allowed = reach(context, db, caller, Need.READ)
        projects: dict[str, Project] = {}
        for row in stored_sessions.places(db):
            if allowed is None or row["id"] in allowed:
                at = datetime.fromisoformat(row["at"])
                before = projects.get(row["path"]) or Project(row["path"], 0, 0, at)
                number, live = before.sessions + 1, before.live + row["live"]
                projects[row["path"]] = replace(before, sessions=number, live=live)
        return Projects(list(projects.values()))

    return await context.database.read(read)
