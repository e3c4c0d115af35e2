"""Operations on the daemon: show its status, and stop it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from sqlite3 import Connection
from typing import Any

from rookery import __version__
from rookery.hook_setup.problems import find_hooks_problem
from rookery.model.lifecycle import ASKING
from rookery.model.scopes import Need
from rookery.operations.access import reach
from rookery.operations.config_changes import config_note
from rookery.operations.context import Caller, Context
from rookery.operations.lost_sessions import count_lost
from rookery.operations.metrics import find_metrics_problem
from rookery.operations.operation import Nothing
from rookery.store import flags, message_limits, sessions

#: Seconds to check whether the database accepts writes again after it did not.
TROUBLE_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    pid: int
    version: str
    home: str
    sessions: int
    in_tmux: int  #: the sessions in panes of any tmux server
    driven: int  #: the sessions in the driver host
    waiting: int  #: sessions that wait for a person
    started_at: datetime
    computer: str
    tmux_socket: str
    log: str
    url: str | None  #: on loopback, for clients that cannot use the socket
    trouble: str  #: why it accepts no writes; empty while it does
    holding: bool = False  #: no message leaves until the hold is released
    http_note: str = ""  #: why HTTP is not on its usual port, or is off
    rules_problem: str = ""  #: why the rules file, as it is now, is not in force
    headless_problem: str = ""  #: which agents are not tracked, because too many are
    hooks_problem: str = ""  #: which hook program is damaged, so that rules do not apply
    metrics_problem: str = ""  #: why metrics are enabled and not served
    lost: int = 0  #: sessions that ended with daemon, tmux or computer, and can be resumed
    config_note: str = ""  #: what to do about a configuration that the daemon does not use yet


async def status(context: Context, caller: Caller, params: Nothing) -> DaemonStatus:
    """Show the daemon's version, home and state."""
    counted = await context.database.read(partial(_count, context=context, caller=caller))
    trouble = await context.database.look_for_trouble(within=TROUBLE_TIMEOUT_S)
    await context.permissions.rules_file.refresh(context.database, context.journal.clock)
    return DaemonStatus(
        pid=os.getpid(),
        version=__version__,
        home=str(context.home.state),
        started_at=context.started_at,
        computer=context.journal.computer,
        tmux_socket=str(context.home.tmux),
        log=str(context.home.log),
        url=context.loopback.url,
        trouble=trouble,
        http_note=context.loopback.note,
        rules_problem=context.permissions.rules_file.problem,
        hooks_problem=find_hooks_problem(context.home),
        metrics_problem=find_metrics_problem(context.settings),
        config_note=config_note(context),
        **counted,
    )


def _count(db: Connection, context: Context, caller: Caller) -> dict[str, Any]:
    """Return the fields of the status that are in the store."""
    allowed = reach(context, db, caller, Need.READ)
    live = [each for each in sessions.live(db) if allowed is None or each.id in allowed]
    now = context.journal.clock.now()
    return {
        "sessions": len(live),
        "in_tmux": sum(each.has_terminal for each in live),
        "driven": sum(each.is_driven for each in live),
        "waiting": sum(each.activity in ASKING for each in live),
        "holding": flags.is_holding(db),
        "headless_problem": message_limits.headless(db).problem,
        "lost": count_lost(context, db, now) if allowed is None else 0,
    }


async def stop(context: Context, caller: Caller, params: Nothing) -> DaemonStatus:
    """Stop the daemon; agents keep running."""
    answer = await status(context, caller, params)
    context.stop()
    return answer
