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
    """Return, by id, the sessions with these ids and those named as actors in ``texts``."""
    named = (found for text in texts for found in SESSION_IN_TEXT.findall(text))
    wanted = sorted({*filter(None, ids), *named})
    pages = (wanted[at : at + PAGE_SIZE] for at in range(0, len(wanted), PAGE_SIZE))
    return {each.id: each for page in pages for each in find_sessions(daemon, page)}


def name_of(session: str, known: Mapping[str, SessionInfo]) -> str:
    """Return a session's name, or the start of its id if the session is unknown."""
    return known[session].name if session in known else session[:8]


def with_names(text: str, known: Mapping[str, SessionInfo]) -> str:
    """Replace the ids of sessions that are named as actors by their names."""
    return with_names_by(text, partial(name_of, known=known))


def with_names_by(text: str, name: Callable[[str], str]) -> str:
    """Replace the ids of sessions that are named as actors by what ``name`` returns."""
    return SESSION_IN_TEXT.sub(lambda found: name(found[1]), text)


def with_names_from(text: str, daemon: Client) -> str:
    """Replace the ids of sessions that are named as actors; asks the daemon for each."""

    def name(session: str) -> str:
        try:
            return show_session(daemon, session).name
        except Answered:  # the session was pruned, or this caller may not see it
            return session[:8]

    return with_names_by(text, name)
