"""Operations on the daemon: show its status and its statistics, and stop it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection

from rookery import __version__
from rookery.hook_setup.programs import find_problem
from rookery.model.lifecycle import ASKING
from rookery.model.scopes import Need
from rookery.operations.access import family_of, reach
from rookery.operations.context import Caller, Context
from rookery.operations.lost_sessions import count_lost
from rookery.operations.operation import Nothing
from rookery.store import flags, limits, sessions, statistics
from rookery.store.statistics import Statistics

#: Seconds to check whether the database accepts writes again after it did not.
TROUBLE_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    pid: int
    version: str
    home: str
    sessions: int
    in_tmux: int  #: the sessions in panes of any tmux server
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
    lost: int = 0  #: sessions that ended with daemon, tmux or computer, and can be resumed


async def status(context: Context, caller: Caller, params: Nothing) -> DaemonStatus:
    """Show the daemon's version, home and state."""

    def count(db: Connection) -> tuple[int, int, int, bool, str, int]:
        allowed = reach(context, db, caller, Need.READ)
        live = [each for each in sessions.live(db) if allowed is None or each.id in allowed]
        waiting = sum(each.activity in ASKING for each in live)
        in_tmux = sum(each.has_terminal for each in live)
        problem = limits.headless(db).problem
        lost = count_lost(context, db, context.journal.clock.now()) if allowed is None else 0
        return len(live), in_tmux, waiting, flags.is_holding(db), problem, lost

    live, in_tmux, waiting, holding, headless_problem, lost = await context.database.read(count)
    trouble = await context.database.look_for_trouble(within=TROUBLE_TIMEOUT_S)
    await context.permissions.rules_file.refresh(context.database, context.journal.clock)
    return DaemonStatus(
        pid=os.getpid(),
        version=__version__,
        home=str(context.home.state),
        sessions=live,
        in_tmux=in_tmux,
        waiting=waiting,
        started_at=context.started_at,
        computer=context.journal.computer,
        tmux_socket=str(context.home.tmux),
        log=str(context.home.log),
        url=context.loopback.url,
        trouble=trouble,
        holding=holding,
        http_note=context.loopback.note,
        rules_problem=context.permissions.rules_file.problem,
        headless_problem=headless_problem,
        hooks_problem=find_problem(context.home),
        lost=lost,
    )


async def stop(context: Context, caller: Caller, params: Nothing) -> DaemonStatus:
    """Stop the daemon; agents in tmux keep running."""
    answer = await status(context, caller, params)
    context.stop()
    return answer


async def count(context: Context, caller: Caller, params: Nothing) -> Statistics:
    """Count sessions, turns, tokens and cost."""

    def read(db: Connection) -> Statistics:
        return statistics.count(db, among=family_of(db, context, caller))

    return await context.database.read(read)
