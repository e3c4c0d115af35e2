"""Listeners: sessions that wait for another session, and the texts that notify them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rookery.model.envelopes import cited
from rookery.model.facts import SessionId
from rookery.model.messages import MessageId
from rookery.model.reason_texts import first_line
from rookery.model.sessions import Session

_SESSION = "Session {id} on {computer}"
_READ = "Use rookery__get_session_data(computer='{computer}', session_id='{id}')"
_ANSWER = (
    "Use rookery__send_message(computer='{computer}', session_id='{id}',"
    " answer_to='{request}', ...)"
)
_DECIDE = "Use rookery__answer_permission(computer='{computer}', permission='{request}', ...)"


@dataclass(frozen=True, slots=True)
class NewsTemplate:
    """A text with placeholders, and the hint which tool to use next, if any."""

    text: str
    hint: str = ""

    def without_hint(self) -> NewsTemplate:
        """Return the template for a session that may not use the tool."""
        return NewsTemplate(self.text)


FINISHED = NewsTemplate(_SESSION + ' "{title}" finished its turn.{background}', _READ)
_NEEDS_INPUT = _SESSION + " needs input: {message}"
NEEDS_ANSWER = NewsTemplate(_NEEDS_INPUT, _ANSWER)
NEEDS_DECISION = NewsTemplate(_NEEDS_INPUT, _DECIDE)
NEEDS_PERSON = NewsTemplate(_NEEDS_INPUT, "A person must allow or deny it.")
NEEDS_PERSON_TO_ANSWER = NewsTemplate(_NEEDS_INPUT, "A person must answer it.")
INTERRUPTED = NewsTemplate(_SESSION + ' "{title}" was interrupted.', _READ)
INTERRUPTED_BY = NewsTemplate(_SESSION + ' "{title}" was interrupted by {message}.', _READ)
TURN_FAILED = NewsTemplate(_SESSION + ' "{title}" failed in its turn: {message}', _READ)
ENDED = NewsTemplate(_SESSION + ' "{title}" {status}: {message}.', _READ)
OBEYED = NewsTemplate(_SESSION + ' "{title}" has taken your command.', _READ)
UNHEARD = NewsTemplate(_SESSION + ' "{title}" may not have got your words.', _READ)
WITHDRAWN = NewsTemplate(_SESSION + ' "{title}" will not get your words: {message}.')
OUT_OF_REACH = NewsTemplate(
    _SESSION + ' "{title}" is not your relay peer any more: you are told of it no longer.'
)
WAITED_IN_VAIN = "{still} did not get there in time. Use rookery__list_sessions()"
RING = (
    "These sessions wait for each other, so that none of them will ever be told: {ring}."
    " One has to go on by itself: Use rookery__stop_notifications(computer='{computer}',"
    " session_id='{id}')"
)

#: Characters of foreign text that are quoted in a notification.
MAX_QUOTED_CHARACTERS = 500


class Until(StrEnum):
    """The event that a listener waits for. An end is always reported: nothing can follow it."""

    STOP = "stop"  #: its turn is over, or (reported without ending the wait) it needs input
    INPUT = "input"  #: it needs input
    END = "end"  #: it is over
    ANY = "any"  #: the first of these


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    caller: SessionId
    target: SessionId
    until: Until = Until.STOP
    is_lasting: bool = False  #: notified each time, not once
    message: MessageId | None = None  #: only the turn that received this message counts
    wait: int | None = None  #: the wait that joins its news with the news of other listeners
    since: datetime | None = None  #: when it was added; set only for listings


def news(
    template: NewsTemplate, target: Session, message: str = "", *, request: str = ""
) -> str:
    """Return one line that reports what happened to a session."""
    text = " ".join(message.split())
    shown = (
        text if len(text) <= MAX_QUOTED_CHARACTERS else text[: MAX_QUOTED_CHARACTERS - 1] + "…"
    )
    whole = " ".join(filter(None, (template.text, template.hint)))
    return whole.format(
        id=target.id,
        computer=target.computer,
        title=" ".join(target.title.replace('"', "'").split()),
        status=target.status,
        message=cited(shown),
        background=f" {still_run(target.background)}" if target.background else "",
        request=request,
    )


def still_run(commands: int) -> str:
    """Return how many commands an agent has left running after its turn, as a sentence."""
    many = f"{commands} commands still run" if commands != 1 else "1 command still runs"
    return f"{many} in the background."


def why_ended(target: Session) -> str:
    return first_line(target.reason).rstrip(".") or target.status


def ended(target: Session) -> str:
    """Return the notification that a session is over, with the reason."""
    return news(ENDED, target, why_ended(target))
