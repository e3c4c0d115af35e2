"""Requests screen reports for agents in the user's own panes while their turns run.

Hooks report a prompt. The hooks of some agents do not report an interruption, or a denial that
ends the turn: only the screen, once it is idle, shows that the turn is over.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection

from rookery.model.beliefs import may_end_unreported
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.ports.clock import Clock
from rookery.ports.runtime import Runtime
from rookery.store import evidence, observed_panes
from rookery.store.database import Database
from rookery.supervise import Reconciler


@dataclass(frozen=True, slots=True)
class ScreenRequests:
    """Enables the reports; ``ScreenWatch`` disables them once hooks report everything."""

    database: Database
    runtime: Runtime
    clock: Clock

    async def keep(self) -> None:
        """Watch every screen that may show the end of a turn. Runs for ever."""
        await Reconciler(
            name="Attending to screens",
            clock=self.clock,
            pending=partial(self.database.peek, _may_end_unreported),
            step=self._attend,
            changed=self.database.bells.of_work,
        ).run()

    async def _attend(self, session: SessionId) -> bool:
        with suppress(RuntimeFailed):  # the session is gone
            self.runtime.terminal(session).report_changes(wanted=True)
        return False


def _may_end_unreported(db: Connection) -> list[SessionId]:
    busy = observed_panes.busy_in_user_panes(db)
    return [each.id for each in busy if may_end_unreported(evidence.known(db, each))]
