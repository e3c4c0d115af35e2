"""Report to the daemon which answers a person has seen in this terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress

from rookery.client import Client
from rookery.client.session_details import mark_answers_seen
from rookery.client.sessions import SessionInfo
from rookery.client.turns import TurnInfo
from rookery.model.errors import RookeryError


def note_seen(daemon: Client, session: str, moments: Iterable[str | None]) -> None:
    """Report that the answers given until the latest of ``moments`` were shown.

    Only output to a person's terminal counts: what a program or an agent reads stays unread.
    """
    latest = max(filter(None, moments), default="")
    if latest and sys.stdout.isatty() and not daemon.badge:
        with suppress(RookeryError):  # the answers were shown; only the mark is missing
            mark_answers_seen(daemon, session, until=latest)


def note_turns_seen(daemon: Client, session: SessionInfo, turns: Iterable[TurnInfo]) -> None:
    """Report that the turns of a session, and its end, were shown."""
    note_seen(daemon, session.id, (session.ended_at, *(each.ended_at for each in turns)))
