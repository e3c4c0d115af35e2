"""Wait for a condition on the store for as long as the caller may know it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from sqlite3 import Connection

from rookery.model.errors import Forbidden, NotRunning
from rookery.model.facts import SessionId
from rookery.operations.access import has_access, require_valid
from rookery.operations.context import Caller, Context
from rookery.store import wait_for_change
from rookery.supervise import first_of


async def until(
    context: Context,
    caller: Caller,
    question: Callable[[Connection], bool],
    seconds: float,
    *,
    sessions: Collection[SessionId] = (),
) -> bool:
    """Wait until ``question`` is true of the store. Return false on timeout.

    With ``sessions``, ``question`` is evaluated again only at entries about them. Raises
    ``TokenRevoked`` as soon as the caller's token is revoked, ``Forbidden`` once it may no
    longer read ``sessions``, and ``NotRunning`` if the daemon stops first.
    """

    def may_read(db: Connection) -> bool:
        return has_access(context, db, caller, sessions)

    def is_over(db: Connection) -> bool:
        return not may_read(db) or question(db)

    calling_session = caller.identity.session  # its end revokes its badge
    watched = {*sessions, calling_session} if sessions and calling_session else sessions
    clock = context.journal.clock
    asking = wait_for_change.until(
        context.database, is_over, seconds=seconds, clock=clock, sessions=watched
    )
    with context.streams.opened(caller.identity.token) as over:

        async def stopped() -> None:
            await over.wait()

        answer = await first_of(asking, stopped())
        await require_valid(context, caller)
        if calling_session and not await context.database.read(may_read):
            raise Forbidden("the session is no longer in the caller's family.")
        if answer is None:
            raise NotRunning
        return answer
