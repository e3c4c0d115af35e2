"""Find the request that a command answers if its user names none."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Literal

from rookery.cli.names import known_sessions, name_of
from rookery.cli.request_text import in_one_line
from rookery.client import Client
from rookery.client.permissions import RequestInfo, list_requests
from rookery.client.sessions import SessionInfo
from rookery.model.errors import Answered
from rookery.presentation.answers import answer_words, numbered_options

NONE_PENDING = "No pending requests."

#: Characters of each request in the list that an ambiguous command prints.
MAX_LISTED_CHARACTERS = 100

AnswerCommand = Literal["allow", "deny", "answer"]


def open_requests_for(daemon: Client, command: AnswerCommand) -> list[RequestInfo]:
    """Return the open requests that a command can answer, oldest first."""
    requests = [each for each in list_requests(daemon).requests if each.is_open]
    return [each for each in requests if _fits(each, command)]


def _fits(request: RequestInfo, command: AnswerCommand) -> bool:
    return bool(request.questions) if command == "answer" else request.kind == "permission"


def only_request(daemon: Client, command: AnswerCommand, *, more: str = "") -> RequestInfo:
    """Return the only request that a command can answer.

    ``more`` are the words that follow a request's id in the commands of the error.

    Raises ``Answered`` if there is none or several, with the commands that name each.
    """
    requests = [each for each in list_requests(daemon).requests if each.is_open]
    fitting = [each for each in requests if _fits(each, command)]
    if len(fitting) == 1:
        return fitting[0]
    if not requests:
        raise Answered("request-unknown", NONE_PENDING)
    sessions = known_sessions(daemon, (each.session for each in requests))
    if not fitting:
        other: AnswerCommand = "allow" if command == "answer" else "answer"
        listed = _listed(requests, sessions, other)
        raise Answered("request-unknown", f"No request that {command} can answer. Use:{listed}")
    listed = _listed(fitting, sessions, command, more=more)
    every = "" if command == "answer" or more else f"\n  rookery {command} --all"
    raise Answered(
        "request-ambiguous", f"{len(fitting)} requests wait; name one:{listed}{every}"
    )


def _listed(
    requests: Sequence[RequestInfo],
    sessions: Mapping[str, SessionInfo],
    command: AnswerCommand,
    *,
    more: str = "",
) -> str:
    """Return a line for each request: the command that answers it, and what it asks for.

    ``more`` are the words that follow the request's id; by default, for ``answer``, a
    placeholder of the answer.
    """
    lines = []
    for each in requests:
        after = more or (answer_words(each) if command == "answer" else "")
        words = " ".join(filter(None, ["rookery", command, each.id, after]))
        options = numbered_options(each) if command == "answer" else ""
        asked = f"{each.message} ({options})" if options else each.message
        about = in_one_line(asked, MAX_LISTED_CHARACTERS)
        lines.append(f"\n  {words}   {name_of(each.session, sessions)}: {about}")
    return "".join(lines)


def quoted(words: Sequence[str]) -> str:
    """Return words as they are typed in a shell."""
    return shlex.join(words)
