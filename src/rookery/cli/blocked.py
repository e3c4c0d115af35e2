"""Report what sessions ask and how to answer, and what blocks messages to them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from rookery.cli.render import remark
from rookery.client import Client
from rookery.client.permissions import RequestInfo, open_requests_of
from rookery.client.sessions import SessionInfo, SessionList, list_sessions
from rookery.model.errors import Answered, NotRunning
from rookery.model.reason_texts import first_line
from rookery.presentation.answers import answer_words, numbered_options
from rookery.presentation.deliveries import HELD
from rookery.presentation.next_steps import watch_command


def open_requests(daemon: Client, session: str) -> Sequence[RequestInfo]:
    """Return the open requests of a session, given by its id; empty without a daemon."""
    with suppress(NotRunning, Answered):
        return open_requests_of(daemon, session)
    return ()


def how_to_answer(session: SessionInfo, requests: Sequence[RequestInfo] = ()) -> str:
    """Return the commands that answer what a session waits for.

    ``requests`` are its open requests. The commands name the id of the request that is shown
    as the session's reason: with the session's name, they could answer a later request.
    """
    watch = watch_command(session, session.name)
    shown = _shown(session, requests)
    word = shown[-1].id if shown else "ID"
    is_only = bool(shown) and len(requests) == 1
    listed = "rookery permissions  |  "
    if session.activity == "permission":
        others = "" if is_only else listed
        return f"{others}rookery allow {word}  |  rookery deny {word}  |  {watch}"
    words = answer_words(shown[-1]) if shown else "WORDS"
    return f"{listed}rookery answer {word} {words}  |  {watch}"


def what_it_asks(session: SessionInfo, requests: Sequence[RequestInfo] = ()) -> str:
    """Return what a session waits for, with the options of its question."""
    shown = _shown(session, requests) if session.activity == "question" else []
    options = numbered_options(shown[-1]) if shown else ""
    asked = first_line(session.reason)
    return f"{asked} ({options})" if options else asked


def _shown(session: SessionInfo, requests: Sequence[RequestInfo]) -> list[RequestInfo]:
    """Return the requests that are shown as the reason of a session."""
    return [each for each in requests if each.message == session.reason]


@dataclass(frozen=True, slots=True)
class BlockedNotices:
    """Shows what blocks messages to the sessions that the user waits for, each reason once."""

    daemon: Client
    _shown: set[str] = field(default_factory=set)

    def tell(self, awaited: Collection[str]) -> None:
        """Print new reasons for these sessions (ids or names); nothing without a daemon."""
        with suppress(NotRunning, Answered):
            for line in _blocked(list_sessions(self.daemon), awaited):
                if line not in self._shown:
                    self._shown.add(line)
                    remark(line)


def _blocked(listed: SessionList, awaited: Collection[str]) -> Iterator[str]:
    """Yield the obstacles that last until a person acts; a running turn ends by itself."""
    for session in listed.sessions:
        queued = listed.kept.get(session.id)
        if queued is None or not {session.id, session.name} & {*awaited}:
            continue
        if listed.holding:
            yield HELD
        elif session.activity == "idle" and queued.why:
            yield f"Messages for {session.name} wait: {queued.blocked_by}"
