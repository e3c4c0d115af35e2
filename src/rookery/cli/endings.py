"""How a session ended, as people say it: *killed* is the record's word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.cli.names import with_names_by
from rookery.client import Client
from rookery.model.errors import Answered

#: Who asks for an end, besides sessions; as people read it.
_BY = {"person": "by you", "idle": "after a long time without activity"}


def ended_by(session: Mapping[str, Any]) -> str:
    """Say by whom a session was ended; empty if it ended by itself, or lives.

    A session that asked for it stands there with its id.
    """
    if session["status"] != "killed":
        return ""
    by = str(session.get("ended_by") or "")
    return f"ended {_BY.get(by, f'by {by}')}" if by else "ended"


def with_names_of(text: str, daemon: Client) -> str:
    """Name the sessions in a text of ours, each looked up by itself."""

    def name(session: str) -> str:
        try:
            return str(daemon.get("sessions", session)["name"])
        except Answered:  # it was forgotten, or is not ours to see
            return session[:8]

    return with_names_by(text, name)
