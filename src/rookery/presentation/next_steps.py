"""Name the commands with which a person goes on with a session."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rookery.client.permissions import RequestInfo
from rookery.client.sessions import ListedSession, SessionInfo
from rookery.presentation.texts import count

#: Commands that are named for one session.
MAX_STEPS = 4


def next_commands(session: ListedSession, requests: Sequence[RequestInfo]) -> list[str]:
    """Return the commands that fit a session now, each with what it does.

    ``requests`` are its open requests.
    """
    name, steps = shlex.quote(session.name), list[tuple[str, str]]()
    if session.ended_at:
        steps = [*_continuing(session, name), *_reading(name), (f"why {name}", "see its end")]
    elif requests:
        steps = [*_answering(requests[0]), *_watching(session, name)]
    elif session.is_asking:
        steps = [("permissions", "see what it asks"), *_watching(session, name)]
    elif session.state == "working":
        follow = (f"logs {name} -f", "follow what it does")
        steps = [follow, (f"interrupt {name}", "stop its turn"), *_watching(session, name)]
    else:
        send = (f"send {name} WORDS", "give it a task")
        steps = [send, *_reading(name), *_watching(session, name)]
    steps = steps[:MAX_STEPS]
    longest = max(len(command) for command, _ in steps)
    return [f"rookery {command:<{longest}}  {purpose}" for command, purpose in steps]


def _answering(request: RequestInfo) -> list[tuple[str, str]]:
    show = (f"permissions show {request.id}", "see all of it")
    if request.kind == "question":
        return [(f"answer {request.id} NUMBER", "answer its question"), show]
    return [(f"allow {request.id}", "allow it"), (f"deny {request.id}", "deny it"), show]


def _continuing(session: ListedSession, name: str) -> list[tuple[str, str]]:
    """Return how to continue a conversation; nothing if the session had none."""
    return [(f"resume {name}", "continue its conversation")] if session.native_id else []


def _reading(name: str) -> list[tuple[str, str]]:
    return [(f"logs {name}", "read what it did")]


def _watching(session: ListedSession, name: str) -> list[tuple[str, str]]:
    if session.is_headless:
        return [(f"why {name}", "see how its state is known")]
    end = (f"end {name}", "end it")
    if session.is_driven:
        return [(f"follow {name}", "watch what it does"), end]
    return [(f"attach {name}", "watch it and type"), end]


def watch_command(session: SessionInfo, name: str) -> str:
    """Return the command that shows what a session does, or all about one that has ended."""
    if session.ended_at:
        return f"rookery show {name}"
    return f"rookery {'follow' if session.is_driven else 'attach'} {name}"


def lost_hint(lost: int) -> str:
    """Return how many lost sessions can be resumed, and the command that does it."""
    return f"{count(lost, 'lost session')} can be resumed:  rookery resume --lost"
