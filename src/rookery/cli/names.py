"""Show sessions by name instead of by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from rookery.client import Client
from rookery.client.sessions import SessionInfo, find_sessions, show_session
from rookery.model.actors import SESSION_IN_TEXT
from rookery.model.errors import Answered

#: Sessions per request: their ids must fit into the request line.
PAGE_SIZE = 500


def is_session(actor: str) -> bool:
    """Return whether an actor is a session."""
    return SESSION_IN_TEXT.fullmatch(actor) is not None


def known_sessions(
    daemon: Client, ids: Iterable[str], texts: Iterable[str] = ()
) -> dict[str, SessionInfo]:
    """Return, by id, the sessions with these ids and those that ``texts`` name as actors."""
    named_ids = (found for text in texts for found in SESSION_IN_TEXT.findall(text))
    ids_to_find = sorted({*filter(None, ids), *named_ids})
    pages = (ids_to_find[at : at + PAGE_SIZE] for at in range(0, len(ids_to_find), PAGE_SIZE))
    return {each.id: each for page in pages for each in find_sessions(daemon, page)}


def name_of(session: str, sessions: Mapping[str, SessionInfo]) -> str:
    """Return a session's name, or the start of its id if the session is unknown."""
    return sessions[session].name if session in sessions else session[:8]


def with_names(text: str, sessions: Mapping[str, SessionInfo]) -> str:
    """Replace session ids with names where a text names sessions as actors."""
    return with_names_by(text, partial(name_of, sessions=sessions))


def with_names_by(text: str, name: Callable[[str], str]) -> str:
    """Replace session ids with what ``name`` returns where a text names them as actors."""
    return SESSION_IN_TEXT.sub(lambda found: name(found[1]), text)


def with_names_from(text: str, daemon: Client) -> str:
    """Do the same as ``with_names``; the daemon is asked for each name."""

    def name(session: str) -> str:
        try:
            return show_session(daemon, session).name
        except Answered:  # the session was pruned, or this caller may not see it
            return session[:8]

    return with_names_by(text, name)
