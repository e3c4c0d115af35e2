"""Create, look up and revoke tokens."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from sqlite3 import Connection, Row

from rookery.model.errors import BadInput, Forbidden, TokenUnknown
from rookery.model.facts import SessionId
from rookery.model.scopes import Identity, Scope
from rookery.model.sessions import Badge

#: Replaces the time of revocation of a badge that was restored from a backup.
RESTORED = "restored"

IS_BADGE = f"(revoked_at is null or revoked_at = '{RESTORED}')"


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; never itself."""

    id: str
    scope: Scope
    session: SessionId | None
    minted_by: str
    created_at: datetime


def digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def mint(db: Connection, secret: str, scope: Scope, *, by: Identity, at: datetime) -> Token:
    """Create a token with no more rights than its creator. The secret is not stored."""
    if scope is Scope.SESSION:
        raise BadInput("a session gets its token, the badge, when it is started.")
    if scope is not by.scope and by.scope is not Scope.OWNER:
        raise Forbidden("a token cannot make a token with more rights than its own.")
    _add(db, secret, _Grant(scope, by.name), at=at)
    row = db.execute("select * from tokens where digest = ?", (digest(secret),)).fetchone()
    return _token(row)


def keep_owner(db: Connection, secret: str, *, at: datetime) -> bool:
    """Register the owner's own token. False if it was revoked, which is permanent."""
    row = db.execute(
        "select revoked_at from tokens where digest = ?", (digest(secret),)
    ).fetchone()
    if row is None:
        _add(db, secret, _Grant(Scope.OWNER, "first start"), at=at)
    return row is None or row["revoked_at"] is None


def give_badge(db: Connection, session: SessionId, *, at: datetime) -> Badge:
    """Create the badge of a session that is about to be launched; revoke an earlier one."""
    take_badge(db, session, at=at)
    secret = new_secret()
    _add(db, secret, _Grant(Scope.SESSION, "launch", session), at=at)
    return Badge(secret)


def take_badge(db: Connection, session: SessionId, *, at: datetime) -> None:
    db.execute(
        f"update tokens set revoked_at = ? where session = ? and {IS_BADGE}",
        (at.isoformat(), session),
    )


def void_all(db: Connection, *, at: datetime) -> None:
    """Revoke every token from a backup: the author of the file may know its secret.

    A badge no longer authorizes requests, but the hooks of a running session must present it.
    """
    db.execute(
        "update tokens set revoked_at = iif(session is null, ?, ?) where revoked_at is null",
        (at.isoformat(), RESTORED),
    )


def find(db: Connection, token_digest: str) -> Token | None:
    """Return the valid token with that digest."""
    row = db.execute(
        "select * from tokens where digest = ? and revoked_at is null", (token_digest,)
    ).fetchone()
    return _token(row) if row else None


def valid(db: Connection) -> list[Token]:
    rows = db.execute("select * from tokens where revoked_at is null order by created_at")
    return [_token(row) for row in rows]


def revoke(db: Connection, word: str, *, at: datetime) -> None:
    """Revoke a token. Raises ``TokenUnknown``."""
    revoked = db.execute(
        "update tokens set revoked_at = ? where id = ? and revoked_at is null",
        (at.isoformat(), word),
    )
    if not revoked.rowcount:
        raise TokenUnknown(f"{word!r}. See them with:  rookery token ls")


def digest_of(db: Connection, word: str) -> str:
    """Return the digest of a token, valid or not; it identifies the token's streams."""
    row = db.execute("select digest from tokens where id = ?", (word,)).fetchone()
    return str(row["digest"])


@dataclass(frozen=True, slots=True)
class _Grant:
    scope: Scope
    by: str
    session: SessionId | None = None


def _add(db: Connection, secret: str, grant: _Grant, *, at: datetime) -> None:
    db.execute(
        "insert into tokens (digest, id, scope, session, minted_by, created_at)"
        " values (?, ?, ?, ?, ?, ?)",
        (
            *(digest(secret), secrets.token_hex(4)),
            *(grant.scope, grant.session, grant.by, at.isoformat()),
        ),
    )


def _token(row: Row) -> Token:
    return Token(
        id=row["id"],
        scope=Scope(row["scope"]),
        session=SessionId(row["session"]) if row["session"] else None,
        minted_by=row["minted_by"],
        created_at=datetime.fromisoformat(row["created_at"]),
    )
