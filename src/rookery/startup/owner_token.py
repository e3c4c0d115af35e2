"""The file with the owner's token."""

from __future__ import annotations

import os
from functools import partial

from rookery.home import Home
from rookery.private_files import open_private, sync_folder
from rookery.store import tokens
from rookery.store.database import Database

#: Minimum characters of the owner's token; Rookery never writes a shorter one.
MIN_TOKEN_CHARACTERS = 32


async def ensure_owner_token(home: Home, database: Database) -> None:
    """Ensure that the owner's token exists: random, private, created at the first start."""
    with open_private(home.token) as file:
        secret = file.read().decode(errors="replace").strip()
        keep = partial(tokens.keep_owner, secret=secret, at=database.clock.now())
        if len(secret) < MIN_TOKEN_CHARACTERS or not await database.write(keep):
            secret = tokens.new_secret()
            os.ftruncate(file.fileno(), 0)
            os.pwrite(file.fileno(), secret.encode(), 0)
            os.fsync(file.fileno())
            sync_folder(home.token.parent)
            await database.write(
                partial(tokens.keep_owner, secret=secret, at=database.clock.now())
            )
