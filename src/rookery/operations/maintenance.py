"""Operations that maintain the daemon: check it, prune and back up its database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import anyio
from pydantic import Field

from rookery.doctor.checks import Check
from rookery.doctor.configuration import rules_in_force
from rookery.doctor.examination import examine
from rookery.doctor.hooks import hook_switches, missing_hooks
from rookery.doctor.store_trouble import HoldState, Trouble
from rookery.environment import session_environment
from rookery.model.errors import BadInput
from rookery.model.sessions import Session
from rookery.operations import lost_terminals
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.metrics import check_metrics
from rookery.operations.missing_hooks import sessions_without_hooks
from rookery.operations.operation import Params
from rookery.permissions.project_files import hooks_switched_off, in_thread
from rookery.store import flags, health_problems, message_limits, retention, sessions
from rookery.store.connections import open_file

#: Seconds for a small write of the doctor, after all writes that are queued.
PROBE_TIMEOUT_S = 4.0


class CheckUpParams(Params):
    path: str = Field("", max_length=100_000, description="the PATH of the caller's terminal")


class PruneParams(Params):
    days: float | None = Field(
        None, ge=0, le=36_500, description="older than this; else as configured"
    )


class BackupParams(Params):
    file: str = Field(description="an absolute path that does not exist yet")


@dataclass(frozen=True, slots=True)
class Checkup:
    ok: bool
    checks: list[Check]
    environment: dict[str, str]  #: the variables of agents; secrets by name only


@dataclass(frozen=True, slots=True)
class Pruned:
    rows: int


@dataclass(frozen=True, slots=True)
class BackedUp:
    file: str
    bytes: int


async def check_up(context: Context, caller: Caller, params: CheckUpParams) -> Checkup:
    """Check for problems and say how to fix them."""
    environment = session_environment(context.login, {}, context.settings.environment)
    trouble = await context.database.read(find_trouble)
    rules_file = context.permissions.rules_file
    await rules_file.refresh(context.database, context.journal.clock)
    looked_at = partial(
        examine,
        context.home,
        context.settings,
        [environment.get("PATH", os.defpath), params.path],
        agents=context.agents,
        trouble=trouble,
    )
    checks = await anyio.to_thread.run_sync(looked_at)
    checks.append(context.loopback.check)
    checks.append(check_metrics(context.settings, context.loopback))
    checks.append(rules_in_force(rules_file))
    live = await context.database.read(sessions.live)
    checks.append(hook_switches(await in_thread(partial(_switched_off, live), otherwise={})))
    checks.append(missing_hooks(await sessions_without_hooks(context, live)))
    checks.append(await lost_terminals.check(context))
    checks.append(_check_driver_host(context))
    if refused := await context.database.try_writing(within=PROBE_TIMEOUT_S):
        checks.append(Check("file", ok=False, detail=refused))
    is_well = all(each.ok is not False for each in checks)
    return Checkup(is_well, checks, _without_secrets(environment))


def _check_driver_host(context: Context) -> Check:
    trouble = context.driver_trouble()
    detail = trouble or "nothing hinders driven sessions"
    advice = f"see {context.home.driver_log}" if trouble else ""
    return Check("driver host", ok=not trouble, detail=detail, advice=advice)


def _switched_off(live: Iterable[Session]) -> dict[str, str]:
    """Return the files that disable hooks, by the name of the session."""
    disabled_by = {each.name: hooks_switched_off(each) for each in live}
    return {name: file for name, file in disabled_by.items() if file}


def find_trouble(db: Connection) -> Trouble:
    """Count entries and hooks that could not be processed; list messages that are unsure."""
    return Trouble(
        entries=health_problems.count_entries(db),
        parked=health_problems.count_parked_entries(db),
        hooks=health_problems.count_parked_hooks(db),
        doubts=tuple(health_problems.unsure_messages(db)),
        hold=HoldState(health_problems.held_since(db)) if flags.is_holding(db) else None,
        headless=message_limits.headless(db).problem,
    )


def _without_secrets(environment: dict[str, str]) -> dict[str, str]:
    secret = ("TOKEN", "KEY", "SECRET", "PASS", "AUTH", "CREDENTIAL", "PROXY")
    return {
        name: "(set)" if any(word in name.upper() for word in secret) else value
        for name, value in sorted(environment.items())
    }


async def prune(context: Context, caller: Caller, params: PruneParams) -> Pruned:
    """Delete old records now."""
    spans = context.settings.limits
    days = spans.retention_days if params.days is None else params.days
    before = context.journal.clock.now() - timedelta(days=days)
    rows = 0
    for forget in (
        partial(retention.forget_aged, before=before),
        partial(retention.forget_sessions, keep=spans.kept_sessions),
    ):
        while removed := await context.database.write(forget):
            rows += removed
    return await once(context, caller, Pruned, lambda _: Pruned(rows))


async def back_up(context: Context, caller: Caller, params: BackupParams) -> BackedUp:
    """Make a consistent copy of the database while the daemon runs."""
    file = Path(params.file)
    if not file.is_absolute() or "\0" in params.file:
        raise BadInput("give the absolute path of the copy.")
    try:
        if context.database.lost:  # the data is in the open file, no longer at its path
            await context.database.read(partial(_copy, file=file))
        else:
            await anyio.to_thread.run_sync(_copy_apart, context.database.path, file)
    except FileExistsError as error:
        raise BadInput(f"{file} already exists and is not overwritten.") from error
    except (OSError, sqlite3.Error) as error:
        raise BadInput(f"the copy cannot be written to {file}: {error}") from error
    backed_up = BackedUp(str(file), (await anyio.Path(file).stat()).st_size)
    return (
        await once(context, caller, BackedUp, lambda _: backed_up) if caller.key else backed_up
    )


def _copy_apart(source: Path, file: Path) -> None:
    """Copy on a separate connection, so that other readers need not wait."""
    with closing(open_file(source)) as db:
        _copy(db, file)


def _copy(db: Connection, file: Path) -> None:
    """Copy the whole database, or leave no file behind."""
    # Created first, exclusively and private to the user: the copy contains conversations.
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with ExitStack() as on_failure:
        on_failure.callback(file.unlink)
        with closing(sqlite3.connect(file)) as copy:
            db.backup(copy)
        on_failure.pop_all()
