"""Has the screens of agents in the user's own panes looked at while their turns run.

Hooks tell of a prompt; of an interruption, or a refusal that ends the turn, those of some
agents tell nothing. Only the screen, once it rests, shows that the turn is over.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.ports.clock import Clock
from rookery.ports.runtime import Runtime
from rookery.store import observed
from rookery.store.database import Database
from rookery.supervise import Reconciler


@dataclass(frozen=True, slots=True)
class Attention:
    """Begins to look; ``Watch`` ends it once hooks tell everything again."""

    database: Database
    runtime: Runtime
    clock: Clock

    async def keep(self) -> None:
        """Attend to every screen that may show the end of a turn; for ever."""
        await Reconciler(
            name="Attending to screens",
            clock=self.clock,
            pending=partial(self.database.read, observed.stopping_untold),
            step=self._attend,
            changed=self.database.bells.of_work,
        ).run()

    async def _attend(self, session: SessionId) -> bool:
        with suppress(RuntimeFailed):  # it has gone meanwhile
            self.runtime.terminal(session).report_changes(wanted=True)
        return False
