"""What can be asked of the daemon itself: how it is, what it counted, to tidy up, to stop."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import anyio
from pydantic import Field

from rookery import __version__
from rookery.doctor import Check, examine
from rookery.environment import session_environment
from rookery.gateway.table import Asked, Caller, House, Nothing, Operation, reach
from rookery.model.errors import BadInput
from rookery.model.lifecycle import ASKING
from rookery.model.scopes import Need, Scope
from rookery.store import retention, sessions, statistics, tokens
from rookery.store.database import open_file
from rookery.store.statistics import Statistics
from rookery.store.tokens import Token


class PruneAsked(Asked):
    days: float | None = Field(
        None, ge=0, le=36_500, description="older than this; else as configured"
    )


class BackupAsked(Asked):
    file: str = Field(description="an absolute path that does not exist yet")


class MintAsked(Asked):
    scope: Scope


class RevokeAsked(Asked):
    token: str


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    pid: int
    version: str
    home: str
    sessions: int
    waiting: int  #: sessions that wait for a person
    started_at: datetime
    computer: str
    tmux_socket: str
    log: str
    url: str | None  #: on loopback, for what cannot use the socket


@dataclass(frozen=True, slots=True)
class Checkup:
    ok: bool
    checks: list[Check]
    environment: dict[str, str]  #: what agents run in; secrets by name only


@dataclass(frozen=True, slots=True)
class Pruned:
    rows: int


@dataclass(frozen=True, slots=True)
class BackedUp:
    file: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Minted:
    token: Token
    secret: str


@dataclass(frozen=True, slots=True)
class TokenList:
    tokens: list[Token]


@dataclass(frozen=True, slots=True)
class Done:
    done: bool = True


async def status(house: House, caller: Caller, asked: Nothing) -> DaemonStatus:
    """Say who answers here."""

    def count(db: Connection) -> tuple[int, int]:
        allowed = reach(house, db, caller, Need.READ)
        live = [each for each in sessions.live(db) if allowed is None or each.id in allowed]
        return len(live), sum(each.activity in ASKING for each in live)

    live, waiting = await house.database.read(count)
    return DaemonStatus(
        pid=os.getpid(),
        version=__version__,
        home=str(house.home.state),
        sessions=live,
        waiting=waiting,
        started_at=house.started_at,
        computer=house.journal.computer,
        tmux_socket=str(house.home.tmux),
        log=str(house.home.log),
        url=f"http://127.0.0.1:{house.ports[0]}" if house.ports else None,
    )


async def stop(house: House, caller: Caller, asked: Nothing) -> DaemonStatus:
    """Stop the daemon; agents in tmux live on."""
    answer = await status(house, caller, asked)
    house.stop()
    return answer


async def count(house: House, caller: Caller, asked: Nothing) -> Statistics:
    """Count sessions and turns."""
    return await house.database.read(statistics.count)


async def check_up(house: House, caller: Caller, asked: Nothing) -> Checkup:
    """Look for trouble, and say what to do about it."""
    environment = session_environment(house.login, {}, house.settings.environment)
    trouble = await house.database.read(_trouble)
    looked_at = partial(
        examine, house.home, house.settings, environment, agents=house.agents, trouble=trouble
    )
    checks = await anyio.to_thread.run_sync(looked_at)
    return Checkup(all(each.ok for each in checks), checks, _without_secrets(environment))


def _trouble(db: Connection) -> dict[str, int]:
    """Count what could not be taken in, or is not known to have arrived."""
    questions = {
        "parked": "select count(*) from parked",
        "hooks": "select count(*) from hooks where error is not null",
        "unsure": "select count(*) from messages where step = 'unsure'",
        "entries": "select coalesce(max(seq), 0) - coalesce(min(seq), 0) from entries",
    }
    return {name: int(db.execute(each).fetchone()[0]) for name, each in questions.items()}


def _without_secrets(environment: dict[str, str]) -> dict[str, str]:
    secret = ("TOKEN", "KEY", "SECRET", "PASS", "AUTH", "CREDENTIAL", "PROXY")
    return {
        name: "(set)" if any(word in name.upper() for word in secret) else value
        for name, value in sorted(environment.items())
    }


async def prune(house: House, caller: Caller, asked: PruneAsked) -> Pruned:
    """Forget what is old, now."""
    limits = house.settings.limits
    days = limits.retention_days if asked.days is None else asked.days
    before = house.journal.clock.now() - timedelta(days=days)
    rows = 0
    for forget in (
        partial(retention.forget_aged, before=before),
        partial(retention.forget_sessions, keep=limits.kept_sessions),
    ):
        while gone := await house.database.write(forget):
            rows += gone
    return Pruned(rows)


async def back_up(house: House, caller: Caller, asked: BackupAsked) -> BackedUp:
    """Copy the database, whole and consistent, while everything goes on."""
    file = Path(asked.file)
    if not file.is_absolute() or "\0" in asked.file:
        raise BadInput("give the whole path of the copy.")
    try:
        await anyio.to_thread.run_sync(_copy, house.database.path, file)
    except (OSError, sqlite3.Error) as error:
        raise BadInput(f"the copy cannot be written to {file}: {error}") from error
    return BackedUp(str(file), (await anyio.Path(file).stat()).st_size)


def _copy(source: Path, file: Path) -> None:
    # Made by us first, and by nobody else: the copy holds what agents said.
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    db = open_file(source)
    copy = sqlite3.connect(file)
    try:
        db.backup(copy)
    finally:
        copy.close()
        db.close()


async def mint(house: House, caller: Caller, asked: MintAsked) -> Minted:
    """Make a token for a program; its secret is shown this once."""
    at = house.journal.clock.now()
    make = partial(tokens.mint, scope=asked.scope, by=caller.identity, at=at)
    return Minted(*await house.database.write(make))


async def list_tokens(house: House, caller: Caller, asked: Nothing) -> TokenList:
    """List the valid tokens; never their secrets."""
    return TokenList(await house.database.read(tokens.valid))


async def revoke(house: House, caller: Caller, asked: RevokeAsked) -> Done:
    """Take a token back; whoever follows events with it is cut off."""
    at = house.journal.clock.now()
    digest = await house.database.write(partial(tokens.revoke, word=asked.token, at=at))
    house.streams.close(digest)
    return Done()


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation("status", Need.READ, "GET", "/v1/status", Nothing, DaemonStatus, status),
    Operation("stats", Need.READ, "GET", "/v1/stats", Nothing, Statistics, count),
    Operation("stop", Need.OWN, "POST", "/v1/stop", Nothing, DaemonStatus, stop),
    Operation("doctor", Need.OWN, "GET", "/v1/doctor", Nothing, Checkup, check_up),
    Operation("prune", Need.OWN, "POST", "/v1/prune", PruneAsked, Pruned, prune),
    Operation("backup", Need.OWN, "POST", "/v1/backup", BackupAsked, BackedUp, back_up),
    Operation("mint", Need.OWN, "POST", "/v1/tokens", MintAsked, Minted, mint),
    Operation("tokens", Need.OWN, "GET", "/v1/tokens", Nothing, TokenList, list_tokens),
    Operation(
        "revoke", Need.OWN, "POST", "/v1/tokens/{token}/revoke", RevokeAsked, Done, revoke
    ),
)
