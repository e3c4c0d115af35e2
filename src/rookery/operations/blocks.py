"""Operations on the output of a session, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection
from typing import Annotated

from pydantic import Field

from rookery.model.blocks import BlockKind, StoredBlock
from rookery.model.facts import SessionId
from rookery.model.scopes import Need
from rookery.model.sessions import Session
from rookery.operations.access import target
from rookery.operations.context import Caller, Context
from rookery.operations.foreground import Number, OnChannel, require_a_channel
from rookery.operations.idempotency import once
from rookery.operations.long_poll import until
from rookery.operations.operation import OfSession
from rookery.store import blocks, foregrounds
from rookery.store import sessions as stored_sessions

#: The most blocks that are returned at once.
MAX_BLOCKS = 10_000


class BlocksParams(OfSession):
    after: Number | None = Field(
        None, description="only blocks after this number, and the first of them"
    )
    channel: str = Field(
        "", description="instead of `after`: only blocks that were not shown in this channel"
    )
    last: Annotated[int, Field(ge=1, le=MAX_BLOCKS)] | None = Field(
        None, description="only the last ones; default: `limits.output_blocks`"
    )
    kinds: tuple[BlockKind, ...] = Field((), description="only blocks of these kinds")
    timeout: Annotated[float, Field(ge=0, le=600)] = Field(
        0.0, description="seconds to wait for a block, unless the session is over"
    )


class ShownBlocksParams(OnChannel):
    seen: Number = Field(description="blocks up to this number were shown")


@dataclass(frozen=True, slots=True)
class Blocks:
    session: Session
    blocks: list[StoredBlock]  #: oldest first
    up_to: int  #: the number after which to go on
    count: int  #: of all blocks of the session, which is the number of the last one


@dataclass(frozen=True, slots=True)
class ShownBlocks:
    session: SessionId
    channel: str
    seen: int  #: the last block that was shown there


async def show_blocks(context: Context, caller: Caller, params: BlocksParams) -> Blocks:
    """Show what a session has said and done, block by block; or wait for more.

    Without `after` and `channel` these are its last blocks. An answer has at most 2 million
    characters; go on after `up_to` until it is `count`.
    """
    session = await target(context, caller, params.session, Need.READ)
    if params.channel:
        require_a_channel(params.channel)
    if params.timeout:
        await _await_blocks(context, caller, session.id, params)

    def read(db: Connection) -> Blocks:
        found = _find(db, session.id, params, limit=context.settings.limits.output_blocks)
        return Blocks(stored_sessions.get(db, session.id), *found)

    return await context.database.read(read)


def _find(
    db: Connection, session: SessionId, params: BlocksParams, *, limit: int
) -> tuple[list[StoredBlock], int, int]:
    """Return the requested blocks, how far they reach, and the number of all."""
    after, count = _start(db, session, params), blocks.count(db, session)
    if params.last or after is None:
        last = params.last or limit
        found = blocks.last(db, session, last, after=after or 0, kinds=params.kinds)
        return found, count, count
    found = blocks.after(db, session, after, limit, kinds=params.kinds)
    is_all = not found or not blocks.after(db, session, found[-1].number, 1, kinds=params.kinds)
    return found, count if is_all else found[-1].number, count


def _start(db: Connection, session: SessionId, params: BlocksParams) -> int | None:
    """Return the number after which the caller wants blocks; none for the last ones."""
    if params.channel and params.after is None:
        return foregrounds.seen_block(db, session, params.channel)
    return params.after


async def _await_blocks(
    context: Context, caller: Caller, session: SessionId, params: BlocksParams
) -> None:
    """Wait until there is a block that the caller does not know, or the session is over."""

    def has_more(db: Connection) -> bool:
        after = _start(db, session, params) or 0
        more = blocks.after(db, session, after, 1, kinds=params.kinds)
        return bool(more) or not stored_sessions.is_live(db, session)

    await until(context, caller, has_more, params.timeout, sessions=[session])


async def mark_shown(
    context: Context, caller: Caller, params: ShownBlocksParams
) -> ShownBlocks:
    """Record how far the blocks of a session were shown in a channel; never backwards."""
    require_a_channel(params.channel)
    session = await target(context, caller, params.session, Need.READ)

    def write(db: Connection) -> ShownBlocks:
        foregrounds.mark_blocks(db, session.id, params.channel, seen=params.seen)
        seen = foregrounds.seen_block(db, session.id, params.channel)
        return ShownBlocks(session.id, params.channel, seen)

    return await once(context, caller, ShownBlocks, write)
