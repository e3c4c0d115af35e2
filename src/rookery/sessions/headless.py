"""End the sessions of headless agents whose processes are gone.

An agent that is known only by its hooks may be killed, or end without a hook. Claude Code
leaves a file that shows this; for all others, only the process table does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from sqlite3 import Connection

import anyio

from rookery import supervise
from rookery.model.facts import Outcome, SessionId
from rookery.model.lifecycle import Activity
from rookery.model.sessions import Session
from rookery.processes import Process, is_running
from rookery.sessions import record_end
from rookery.store import sessions
from rookery.store.database import Database
from rookery.store.journal import Journal

#: Seconds between two checks. A process must be missing twice: by then the agent's own last
#: report, which knows more about how it ended, has come in.
LOOK_INTERVAL_S = 1.5


@dataclass(frozen=True, slots=True)
class HeadlessWatch:
    database: Database
    journal: Journal
    is_running: Callable[[Process], bool] = is_running
    #: Sessions whose processes were missing at the last check.
    _missed: set[SessionId] = field(default_factory=set)

    async def watch(self) -> None:
        """Check the processes of headless sessions periodically, until cancelled."""
        name, clock = "Looking at headless agents", self.journal.clock
        await supervise.every(LOOK_INTERVAL_S, self.look, name=name, clock=clock)

    async def look(self) -> None:
        """End the sessions whose processes are missing for the second time."""
        live = await self.database.read(sessions.with_processes)
        headless = {each.id: each for each in live if each.is_headless}
        ended = await anyio.to_thread.run_sync(self._ended, list(headless.values()))
        for session in ended & self._missed:
            await self.database.write(partial(self._end, checked=headless[session]))
        self._missed.clear()
        self._missed.update(ended)

    def _ended(self, live: list[Session]) -> set[SessionId]:
        return {
            each.id
            for each in live
            if each.process and not self.is_running(Process.read(each.process))
        }

    def _end(self, db: Connection, checked: Session) -> None:
        now = sessions.get(db, checked.id)
        if now.process != checked.process or not now.is_headless:
            return  # it continues in another process, or in a pane
        outcome, reason = _how_it_ended(now)
        record_end.end(db, self.journal, now.id, outcome=outcome, reason=reason)


def _how_it_ended(session: Session) -> tuple[Outcome, str]:
    """Return the outcome of an agent whose process is gone: completed if it was idle."""
    if session.activity in {None, Activity.IDLE}:
        return "completed", "its program ended"
    return "failed", "its program ended in the middle of a turn"
