"""Operations on tokens: make, list and revoke them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from sqlite3 import Connection
from typing import Literal

from rookery.model.scopes import Scope
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import Nothing, Params
from rookery.store import tokens
from rookery.store.tokens import Token


class MintParams(Params):
    scope: Literal["owner", "reader"]


class RevokeParams(Params):
    token: str


@dataclass(frozen=True, slots=True)
class Minted:
    token: Token
    secret: str | None  #: shown once; a repeat under the same key has none


@dataclass(frozen=True, slots=True)
class TokenList:
    tokens: list[Token]


@dataclass(frozen=True, slots=True)
class Done:
    done: bool = True


async def mint(context: Context, caller: Caller, params: MintParams) -> Minted:
    """Make a token for a program; its secret is shown only once."""
    secret, at = tokens.new_secret(), context.journal.clock.now()

    def make(db: Connection) -> Minted:
        token = tokens.mint(db, secret, Scope(params.scope), by=caller.identity, at=at)
        return Minted(token, None)  # stored under the key, so without the secret

    minted = await once(context, caller, Minted, make)
    is_new = await context.database.read(
        partial(tokens.find, token_digest=tokens.digest(secret))
    )
    return replace(minted, secret=secret) if is_new else minted


async def list_tokens(context: Context, caller: Caller, params: Nothing) -> TokenList:
    """List the valid tokens; never their secrets."""
    return TokenList(await context.database.read(tokens.valid))


async def revoke(context: Context, caller: Caller, params: RevokeParams) -> Done:
    """Revoke a token; its event streams are closed."""
    at = context.journal.clock.now()

    def take_back(db: Connection) -> Done:
        tokens.revoke(db, params.token, at=at)
        return Done()

    done = await once(context, caller, Done, take_back)
    revoked = await context.database.read(partial(tokens.digest_of, word=params.token))
    context.streams.close(revoked)
    return done
